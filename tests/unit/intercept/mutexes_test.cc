#include <pthread.h>
#include <threads.h>

#include <cerrno>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

class Mutex {
 public:
  explicit Mutex(int kind = PTHREAD_MUTEX_NORMAL, int robust = PTHREAD_MUTEX_STALLED, int protocol = PTHREAD_PRIO_NONE,
                 int shared = PTHREAD_PROCESS_PRIVATE) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setpshared(&attributes, shared);
    EXPECT_EQ(pthread_mutex_init(&mutex_, &attributes), 0);
  }
  ~Mutex() { pthread_mutex_destroy(&mutex_); }
  pthread_mutex_t* get() { return &mutex_; }
  Names names() { return {{&mutex_, "m"}}; }

 private:
  pthread_mutex_t mutex_;
};

void* LockAndDie(void* mutex) {
  pthread_mutex_lock(static_cast<pthread_mutex_t*>(mutex));
  return nullptr;
}

template <class Code>
void InAnotherThread(Code code) {
  pthread_t thread;
  ASSERT_EQ(
      pthread_create(
          &thread, nullptr, [](void* argument) -> void* { return (*static_cast<Code*>(argument))(), nullptr; }, &code),
      0);
  pthread_join(thread, nullptr);
}

TEST(MutexesTest, InitAndDestroyAreTold) {
  pthread_mutex_t mutex;
  EXPECT_EQ(Told({{&mutex, "m"}},
                 [&] {
                   pthread_mutex_init(&mutex, nullptr);
                   pthread_mutex_destroy(&mutex);
                 }),
            "LockCreated m; LockDestroyed m");
}

TEST(MutexesTest, DestroyingAHeldMutexIsMisuse) {
  Mutex m;
  EXPECT_EQ(Told(m.names(),
                 [&] {
                   pthread_mutex_lock(m.get());
                   EXPECT_EQ(pthread_mutex_destroy(m.get()), EBUSY);
                   pthread_mutex_unlock(m.get());
                 }),
            "Locked m exclusive 1; LockMisused m 1; Unlocking m exclusive 1");
}

TEST(MutexesTest, WaitingForOneWhileAnotherIsHeldIsToldBefore) {
  Mutex m;
  Mutex n;
  timespec past = {};
  EXPECT_EQ(Told({{m.get(), "m"}, {n.get(), "n"}},
                 [&] {
                   pthread_mutex_lock(m.get());
                   pthread_mutex_lock(n.get());
                   pthread_mutex_unlock(n.get());
                   pthread_mutex_trylock(n.get());
                   pthread_mutex_unlock(n.get());
                   pthread_mutex_timedlock(n.get(), &past);
                   pthread_mutex_unlock(n.get());
                   pthread_mutex_unlock(m.get());
                 }),
            "Locked m exclusive 1; Wanting n exclusive; Locked n exclusive 1; Unlocking n exclusive 1; "
            "Locked n exclusive 1; Unlocking n exclusive 1; Locked n exclusive 1; Unlocking n exclusive 1; "
            "Unlocking m exclusive 1");
}

TEST(MutexesTest, EveryKindIsLockedAndUnlocked) {
  for (int kind :
       {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    for (int robust : {PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST}) {
      for (int protocol : {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT}) {
        for (int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
          Mutex m(kind, robust, protocol, shared);
          EXPECT_EQ(Told(m.names(),
                         [&] {
                           pthread_mutex_lock(m.get());
                           pthread_mutex_unlock(m.get());
                         }),
                    "Locked m exclusive 1; Unlocking m exclusive 1");
        }
      }
    }
  }
}

TEST(MutexesTest, ALockOfEachShapeIsTold) {
  Mutex m;
  const timespec soon = Soon();
  const timespec steady = Soon(CLOCK_MONOTONIC);
  const std::string pair = "Locked m exclusive 1; Unlocking m exclusive 1";
  const auto told = [&](auto lock) {
    return Told(m.names(), [&] {
      EXPECT_EQ(lock(), 0);
      pthread_mutex_unlock(m.get());
    });
  };
  EXPECT_EQ(told([&] { return pthread_mutex_trylock(m.get()); }), pair);
  EXPECT_EQ(told([&] { return pthread_mutex_timedlock(m.get(), &soon); }), pair);
  EXPECT_EQ(told([&] { return pthread_mutex_clocklock(m.get(), CLOCK_MONOTONIC, &steady); }), pair);
}

TEST(MutexesTest, ALockThatFailsTellsNothing) {
  Mutex m;
  const timespec past = Past();
  pthread_mutex_lock(m.get());
  InAnotherThread([&] {
    EXPECT_EQ(Told(m.names(),
                   [&] {
                     EXPECT_EQ(pthread_mutex_trylock(m.get()), EBUSY);
                     EXPECT_EQ(pthread_mutex_timedlock(m.get(), &past), ETIMEDOUT);
                     EXPECT_EQ(pthread_mutex_clocklock(m.get(), CLOCK_MONOTONIC, &past), ETIMEDOUT);
                   }),
              "");
  });
  pthread_mutex_unlock(m.get());
}

TEST(MutexesTest, UnlockingWhatNobodyHoldsIsMisuse) {
  Mutex m;
  EXPECT_EQ(Told(m.names(), [&] { pthread_mutex_unlock(m.get()); }), "Unlocking m exclusive 0; LockMisused m 0");
}

TEST(MutexesTest, ADeadlockThatAnErrorCheckingMutexRefusesTellsNothing) {
  Mutex m(PTHREAD_MUTEX_ERRORCHECK);
  EXPECT_EQ(Told(m.names(),
                 [&] {
                   pthread_mutex_lock(m.get());
                   EXPECT_EQ(pthread_mutex_lock(m.get()), EDEADLK);
                   pthread_mutex_unlock(m.get());
                   EXPECT_EQ(pthread_mutex_unlock(m.get()), EPERM);
                 }),
            "Locked m exclusive 1; Unlocking m exclusive 1; Unlocking m exclusive 0");
}

TEST(MutexesTest, EachLevelOfARecursiveMutexIsTold) {
  Mutex m(PTHREAD_MUTEX_RECURSIVE);
  EXPECT_EQ(Told(m.names(),
                 [&] {
                   pthread_mutex_lock(m.get());
                   pthread_mutex_trylock(m.get());
                   pthread_mutex_unlock(m.get());
                   pthread_mutex_unlock(m.get());
                 }),
            "Locked m exclusive 1; Locked m exclusive 1; Unlocking m exclusive 1; Unlocking m exclusive 1");
}

TEST(MutexesTest, TheMutexOfADeadOwnerIsTaken) {
  Mutex m(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  pthread_t thread;
  pthread_create(&thread, nullptr, LockAndDie, m.get());
  pthread_join(thread, nullptr);
  EXPECT_EQ(Told(m.names(),
                 [&] {
                   EXPECT_EQ(pthread_mutex_lock(m.get()), EOWNERDEAD);
                   EXPECT_EQ(pthread_mutex_consistent(m.get()), 0);
                   EXPECT_EQ(pthread_mutex_unlock(m.get()), 0);
                 }),
            "Locked m exclusive 1; Unlocking m exclusive 1");
}

TEST(MutexesTest, AMutexThatIsLostForGoodTellsNothing) {
  Mutex m(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  pthread_t thread;
  pthread_create(&thread, nullptr, LockAndDie, m.get());
  pthread_join(thread, nullptr);
  pthread_mutex_lock(m.get());
  pthread_mutex_unlock(m.get());
  EXPECT_EQ(Told(m.names(), [&] { EXPECT_EQ(pthread_mutex_lock(m.get()), ENOTRECOVERABLE); }), "");
}

TEST(MutexesTest, NothingIsToldWhileTheRuntimeIsNotActive) {
  pthread_mutex_t mutex;
  fake::SetActive(false);
  EXPECT_EQ(Told({},
                 [&] {
                   pthread_mutex_init(&mutex, nullptr);
                   pthread_mutex_lock(&mutex);
                   pthread_mutex_unlock(&mutex);
                   pthread_mutex_destroy(&mutex);
                 }),
            "");
  fake::SetActive(true);
}

TEST(MutexesTest, C11MutexesAreToldAlike) {
  mtx_t mutex;
  const timespec soon = Soon();
  EXPECT_EQ(Told({{&mutex, "m"}},
                 [&] {
                   EXPECT_EQ(mtx_init(&mutex, mtx_timed | mtx_recursive), thrd_success);
                   EXPECT_EQ(mtx_lock(&mutex), thrd_success);
                   EXPECT_EQ(mtx_trylock(&mutex), thrd_success);
                   EXPECT_EQ(mtx_timedlock(&mutex, &soon), thrd_success);
                   for (int i = 0; i < 3; ++i) EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
                   mtx_destroy(&mutex);
                 }),
            "LockCreated m; Locked m exclusive 1; Locked m exclusive 1; Locked m exclusive 1; Unlocking m exclusive 1; "
            "Unlocking m exclusive 1; Unlocking m exclusive 1; LockDestroyed m");
}

TEST(MutexesTest, AC11LockThatFailsTellsNothing) {
  mtx_t mutex;
  mtx_init(&mutex, mtx_timed);
  const timespec past = Past();
  mtx_lock(&mutex);
  InAnotherThread([&] {
    EXPECT_EQ(Told({},
                   [&] {
                     EXPECT_EQ(mtx_trylock(&mutex), thrd_busy);
                     EXPECT_EQ(mtx_timedlock(&mutex, &past), thrd_timedout);
                   }),
              "");
  });
  mtx_unlock(&mutex);
  mtx_destroy(&mutex);
}

}  // namespace
}  // namespace redflag
