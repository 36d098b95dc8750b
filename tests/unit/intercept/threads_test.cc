#include <pthread.h>
#include <signal.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <thread>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

const std::string kLife = "ThreadBegins t; ThreadEnds";

void* Nothing(void*) { return nullptr; }

// Creates a thread, lets `then` do something with it, and says what each side told.
struct Lives {
  std::string creator;
  std::string child;
};
template <class Then>
Lives Live(void* (*routine)(void*), Then then, void* argument = nullptr) {
  fake::Start();
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, nullptr, routine, argument), 0);
  then(thread);
  fake::Stop();
  const Names names{{Handle(thread), "t"}};
  return {.creator = Recorded(names, 0), .child = Recorded(names, 1)};
}

void Join(pthread_t thread) { EXPECT_EQ(pthread_join(thread, nullptr), 0); }

TEST(ThreadsTest, AThreadBeginsEndsAndIsJoined) {
  const Lives lives = Live(Nothing, Join);
  EXPECT_EQ(lives.creator, "ThreadCreating joinable; ThreadCreated t 1; ThreadJoined t");
  EXPECT_EQ(lives.child, kLife);
}

TEST(ThreadsTest, TheHandleIsKnownBeforeTheChildBeginsAndThatBeforeCreateReturns) {
  Names names;
  EXPECT_EQ(Told(names,
                 [&] {
                   pthread_t thread;
                   pthread_create(
                       &thread, nullptr,
                       [](void*) -> void* {
                         usleep(100000000);
                         return nullptr;
                       },
                       nullptr);
                   fake::Stop();
                   names[Handle(thread)] = "t";
                   pthread_cancel(thread);
                   pthread_join(thread, nullptr);
                 }),
            "ThreadCreating joinable; ThreadCreated t 1; ThreadBegins t");
}

TEST(ThreadsTest, TheResultAndTheArgumentPass) {
  int argument = 0;
  void* result = nullptr;
  pthread_t thread;
  pthread_create(&thread, nullptr, [](void* given) { return given; }, &argument);
  pthread_join(thread, &result);
  EXPECT_EQ(result, &argument);
}

TEST(ThreadsTest, AThreadEndsByPthreadExit) {
  EXPECT_EQ(Live([](void*) -> void* { pthread_exit(nullptr); }, Join).child, kLife);
}

TEST(ThreadsTest, AThreadEndsByCancellation) {
  const auto sleep = [](void*) -> void* {
    for (;;) usleep(100000000);
  };
  const auto cancel = [](pthread_t thread) {
    pthread_cancel(thread);
    Join(thread);
  };
  EXPECT_EQ(Live(sleep, cancel).child, kLife);
}

pthread_key_t key;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void Use(void*) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  NoTailCall();
}

// Comes back until the last round but one.
void UseAgain(void* rounds) {
  Use(nullptr);
  const auto left = reinterpret_cast<uintptr_t>(rounds) - 1;
  if (left > 0) pthread_setspecific(key, reinterpret_cast<void*>(left));
}

TEST(ThreadsTest, DestructorsOfThreadSpecificDataComeBeforeTheEnd) {
  ASSERT_EQ(pthread_key_create(&key, UseAgain), 0);
  const auto set = [](void*) -> void* {
    pthread_setspecific(key, reinterpret_cast<void*>(uintptr_t{PTHREAD_DESTRUCTOR_ITERATIONS - 1}));
    return nullptr;
  };
  std::string uses;
  for (int i = 1; i < PTHREAD_DESTRUCTOR_ITERATIONS; ++i) uses += "Locked ? exclusive 1; Unlocking ? exclusive 1; ";
  EXPECT_EQ(Live(set, Join).child, "ThreadBegins t; " + uses + "ThreadEnds");
  pthread_key_delete(key);
}

struct Local {
  ~Local() { Use(nullptr); }
  void Touch() {}
};
thread_local Local local;

TEST(ThreadsTest, DestructorsOfThreadLocalsComeBeforeTheEnd) {
  const auto touch = [](void*) -> void* {
    local.Touch();
    return nullptr;
  };
  EXPECT_EQ(Live(touch, Join).child, "ThreadBegins t; Locked ? exclusive 1; Unlocking ? exclusive 1; ThreadEnds");
}

void* AwaitFlag(void* flag) {
  while (!*static_cast<std::atomic<bool>*>(flag)) sched_yield();
  return nullptr;
}

TEST(ThreadsTest, AJoinThatFailsTellsNothing) {
  std::atomic<bool> flag = false;
  const timespec past = Past();
  const auto join = [&](pthread_t thread) {
    EXPECT_EQ(pthread_tryjoin_np(thread, nullptr), EBUSY);
    EXPECT_EQ(pthread_timedjoin_np(thread, nullptr, &past), ETIMEDOUT);
    EXPECT_EQ(pthread_clockjoin_np(thread, nullptr, CLOCK_MONOTONIC, &past), ETIMEDOUT);
    EXPECT_EQ(pthread_join(pthread_self(), nullptr), EDEADLK);
    flag = true;
    Join(thread);
  };
  EXPECT_EQ(Live(AwaitFlag, join, &flag).creator, "ThreadCreating joinable; ThreadCreated t 1; ThreadJoined t");
}

TEST(ThreadsTest, AJoinOfEachShapeIsTold) {
  const std::string life = "ThreadCreating joinable; ThreadCreated t 1; ThreadJoined t";
  const timespec soon = Soon();
  const timespec steady = Soon(CLOCK_MONOTONIC);
  EXPECT_EQ(Live(Nothing,
                 [](pthread_t thread) {
                   while (pthread_tryjoin_np(thread, nullptr) == EBUSY) sched_yield();
                 })
                .creator,
            life);
  EXPECT_EQ(Live(Nothing, [&](pthread_t thread) { pthread_timedjoin_np(thread, nullptr, &soon); }).creator, life);
  EXPECT_EQ(
      Live(Nothing, [&](pthread_t thread) { pthread_clockjoin_np(thread, nullptr, CLOCK_MONOTONIC, &steady); }).creator,
      life);
}

TEST(ThreadsTest, DetachingIsTold) {
  std::atomic<bool> flag = false;
  const auto detach = [](pthread_t thread) { EXPECT_EQ(pthread_detach(thread), 0); };
  EXPECT_EQ(Live(AwaitFlag, detach, &flag).creator, "ThreadCreating joinable; ThreadCreated t 1; ThreadDetached t");
  flag = true;
  usleep(10'000);  // the thread reads the flag
}

TEST(ThreadsTest, AThreadCanBeBornDetached) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  EXPECT_EQ(ToldBy(0, {},
                   [&] {
                     pthread_t thread;
                     pthread_create(&thread, &attributes, Nothing, nullptr);
                   }),
            "ThreadCreating detached; ThreadCreated ? 1");
  pthread_attr_destroy(&attributes);
}

TEST(ThreadsTest, AThreadThatCannotBeMadeIsTakenBack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{1} << 60);
  EXPECT_EQ(Told({},
                 [&] {
                   pthread_t thread;
                   EXPECT_EQ(pthread_create(&thread, &attributes, Nothing, nullptr), EAGAIN);
                 }),
            "ThreadCreating joinable; ThreadNotCreated 1");
  pthread_attr_destroy(&attributes);
}

void* MaskHere(void* mask) {
  pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(mask));
  return nullptr;
}

TEST(ThreadsTest, AThreadHasTheMaskOfItsCreatorOrItsOwn) {
  sigset_t blocked, own, before, seen;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigemptyset(&own);
  sigaddset(&own, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  Live(MaskHere, Join, &seen);
  EXPECT_TRUE(sigismember(&seen, SIGUSR1));
  EXPECT_FALSE(sigismember(&seen, SIGUSR2));
  EXPECT_FALSE(sigismember(&seen, SIGTERM));
  MaskHere(&seen);
  EXPECT_TRUE(sigismember(&seen, SIGUSR1));
  EXPECT_FALSE(sigismember(&seen, SIGTERM));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setsigmask_np(&attributes, &own);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, &attributes, MaskHere, &seen), 0);
  Join(thread);
  pthread_attr_destroy(&attributes);
  EXPECT_FALSE(sigismember(&seen, SIGUSR1));
  EXPECT_TRUE(sigismember(&seen, SIGUSR2));
  EXPECT_FALSE(sigismember(&seen, SIGTERM));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(ThreadsTest, NamesAreToldIfTheyFit) {
  const pthread_t self = pthread_self();
  EXPECT_EQ(Told({{Handle(self), "self"}},
                 [&] {
                   EXPECT_EQ(pthread_setname_np(self, "worker"), 0);
                   EXPECT_EQ(pthread_setname_np(self, "a name of more than 15 letters"), ERANGE);
                 }),
            "ThreadNamed self worker");
}

TEST(ThreadsTest, StdThreadComesThroughPthreadCreate) {
  Told({}, [] { std::thread([] {}).join(); });
  const std::string told = Recorded({}, 1);  // between the two it frees what it was given
  EXPECT_TRUE(told.starts_with("ThreadBegins ?; ") && told.ends_with("; ThreadEnds")) << told;
}

TEST(ThreadsTest, ManyThreadsComeAndGo) {
  for (int round = 0; round < 50; ++round) {
    pthread_t threads[8];
    for (pthread_t& thread : threads) ASSERT_EQ(pthread_create(&thread, nullptr, Nothing, nullptr), 0);
    for (pthread_t thread : threads) ASSERT_EQ(pthread_join(thread, nullptr), 0);
  }
}

TEST(ThreadsTest, NothingIsToldWhileTheRuntimeIsNotActive) {
  fake::SetActive(false);
  const Lives lives = Live(Nothing, Join);
  fake::SetActive(true);
  EXPECT_EQ(lives.creator + lives.child, "");
}

// ---- C11 ----

template <class Then>
Lives LiveC11(thrd_start_t routine, Then then) {
  fake::Start();
  thrd_t thread;
  EXPECT_EQ(thrd_create(&thread, routine, nullptr), thrd_success);
  then(thread);
  fake::Stop();
  const Names names{{Handle(thread), "t"}};
  return {.creator = Recorded(names, 0), .child = Recorded(names, 1)};
}

TEST(ThreadsTest, C11ThreadsAreToldAlike) {
  int result = 0;
  Lives lives = LiveC11([](void*) { return 7; }, [&](thrd_t thread) { thrd_join(thread, &result); });
  EXPECT_EQ(lives.creator, "ThreadCreating joinable; ThreadCreated t 1; ThreadJoined t");
  EXPECT_EQ(lives.child, kLife);
  EXPECT_EQ(result, 7);
  lives = LiveC11([](void*) -> int { thrd_exit(8); }, [&](thrd_t thread) { thrd_join(thread, &result); });
  EXPECT_EQ(lives.child, kLife);
  EXPECT_EQ(result, 8);
  lives = LiveC11([](void*) -> int { return usleep(100000000); }, [&](thrd_t thread) { thrd_detach(thread); });
  EXPECT_EQ(lives.creator, "ThreadCreating joinable; ThreadCreated t 1; ThreadDetached t");
}

}  // namespace
}  // namespace redflag
