#include <pthread.h>
#include <threads.h>

#include <atomic>
#include <cerrno>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

struct ConditionsTest : testing::Test {
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  Names names{{&mutex, "m"}, {&condition, "c"}};
  bool ready = false;
  std::atomic<bool> waiting = false;

  pthread_t Start(void* (*routine)(void*)) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, nullptr, routine, this), 0);
    return thread;
  }
};

void* WaitUntilReady(void* argument) {
  auto& test = *static_cast<ConditionsTest*>(argument);
  pthread_mutex_lock(&test.mutex);
  test.waiting = true;
  while (!test.ready) pthread_cond_wait(&test.condition, &test.mutex);
  pthread_mutex_unlock(&test.mutex);
  return nullptr;
}

TEST_F(ConditionsTest, AWaitGivesTheMutexUpAndTakesItBack) {
  const std::string told = ToldBy(1, names, [&] {
    const pthread_t thread = Start(WaitUntilReady);
    while (!waiting) sched_yield();  // and the mutex is free only once it waits
    pthread_mutex_lock(&mutex);
    ready = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, nullptr);
  });
  EXPECT_EQ(told,
            "ThreadBegins ?; Locked m exclusive 1; Unlocking m exclusive 1; Locked m exclusive 1; Notified c; "
            "Unlocking m exclusive 1; ThreadEnds");
}

TEST_F(ConditionsTest, SignalsAreToldOf) {
  EXPECT_EQ(Told(names,
                 [&] {
                   pthread_cond_init(&condition, nullptr);
                   pthread_cond_signal(&condition);
                   pthread_cond_broadcast(&condition);
                   pthread_cond_destroy(&condition);
                 }),
            "Notifying c; Notifying c; Forget c");
}

TEST_F(ConditionsTest, AWaitThatTimesOutHasTheMutexBack) {
  const timespec past = Past();
  const std::string wait =
      "Locked m exclusive 1; Unlocking m exclusive 1; Locked m exclusive 1; Unlocking m exclusive 1";
  EXPECT_EQ(Told(names,
                 [&] {
                   pthread_mutex_lock(&mutex);
                   EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &past), ETIMEDOUT);
                   pthread_mutex_unlock(&mutex);
                 }),
            wait);
  EXPECT_EQ(Told(names,
                 [&] {
                   pthread_mutex_lock(&mutex);
                   EXPECT_EQ(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past), ETIMEDOUT);
                   pthread_mutex_unlock(&mutex);
                 }),
            wait);
}

TEST_F(ConditionsTest, AWaitWithoutTheMutexDoesNotGetIt) {
  mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  const timespec past = Past();
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &past), EPERM); }),
            "Unlocking m exclusive 0");
}

// libc gives up one level only when a wait begins, so a deeper wait does not let others in; what it says must be right
// all the same.
TEST_F(ConditionsTest, AllLevelsAreGivenUpAndTakenBack) {
  const timespec past = Past();
  EXPECT_EQ(Told(names,
                 [&] {
                   pthread_mutex_lock(&mutex);
                   pthread_mutex_lock(&mutex);
                   EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &past), ETIMEDOUT);
                   pthread_mutex_unlock(&mutex);
                   pthread_mutex_unlock(&mutex);
                 }),
            "Locked m exclusive 1; Locked m exclusive 1; Unlocking m exclusive 2; Locked m exclusive 2; "
            "Unlocking m exclusive 1; Unlocking m exclusive 1");
}

void* WaitForEver(void* argument) {
  auto& test = *static_cast<ConditionsTest*>(argument);
  pthread_mutex_lock(&test.mutex);
  pthread_cleanup_push([](void* mutex) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex)); }, &test.mutex);
  test.waiting = true;
  for (;;) pthread_cond_wait(&test.condition, &test.mutex);
  pthread_cleanup_pop(1);
}

TEST_F(ConditionsTest, ACancelledWaitHasTheMutexBackBeforeCleanup) {
  void* result = nullptr;
  const std::string told = ToldBy(1, names, [&] {
    const pthread_t thread = Start(WaitForEver);
    while (!waiting) sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, &result);
  });
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(
      told,
      "ThreadBegins ?; Locked m exclusive 1; Unlocking m exclusive 1; Locked m exclusive 1; Unlocking m exclusive 1; "
      "ThreadEnds");
}

TEST_F(ConditionsTest, C11ConditionsAreToldAlike) {
  mtx_t c11_mutex;
  cnd_t c11_condition;
  mtx_init(&c11_mutex, mtx_plain);
  cnd_init(&c11_condition);
  const timespec past = Past();
  EXPECT_EQ(Told({{&c11_mutex, "m"}},
                 [&] {
                   mtx_lock(&c11_mutex);
                   EXPECT_EQ(cnd_timedwait(&c11_condition, &c11_mutex, &past), thrd_timedout);
                   mtx_unlock(&c11_mutex);
                 }),
            "Locked m exclusive 1; Unlocking m exclusive 1; Locked m exclusive 1; Unlocking m exclusive 1");
  cnd_destroy(&c11_condition);
  mtx_destroy(&c11_mutex);
}

struct C11Pair {
  mtx_t mutex;
  cnd_t condition;
  std::atomic<bool> waiting = false;
  bool ready = false;
};

TEST_F(ConditionsTest, AC11WaitGivesTheMutexUpAndTakesItBack) {
  C11Pair pair;
  mtx_init(&pair.mutex, mtx_plain);
  cnd_init(&pair.condition);
  const auto wait = [](void* argument) {
    auto& mine = *static_cast<C11Pair*>(argument);
    mtx_lock(&mine.mutex);
    mine.waiting = true;
    while (!mine.ready) cnd_wait(&mine.condition, &mine.mutex);
    mtx_unlock(&mine.mutex);
    return 0;
  };
  const std::string told = ToldBy(1, {{&pair.mutex, "m"}}, [&] {
    thrd_t thread;
    thrd_create(&thread, wait, &pair);
    while (!pair.waiting) thrd_yield();
    mtx_lock(&pair.mutex);
    pair.ready = true;
    cnd_broadcast(&pair.condition);
    mtx_unlock(&pair.mutex);
    thrd_join(thread, nullptr);
  });
  EXPECT_EQ(told,
            "ThreadBegins ?; Locked m exclusive 1; Unlocking m exclusive 1; Locked m exclusive 1; Notified ?; "
            "Unlocking m exclusive 1; ThreadEnds");
  cnd_destroy(&pair.condition);
  mtx_destroy(&pair.mutex);
}

}  // namespace
}  // namespace redflag
