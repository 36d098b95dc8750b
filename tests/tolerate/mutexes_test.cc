// Tolerant mutexes of all kinds, and the ways in and out of their sections.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <thread>

#include "redflag/tolerate.hpp"
#include "tests/tolerate/found.h"

namespace redflag {
namespace {

using TolerantMutexTest = TolerateTest;

TEST_F(TolerantMutexTest, ARecursiveSectionEndsAtItsOutermostUnlock) {
  int word = 1;
  tolerant_recursive_mutex m;
  tolerated<int&> v(m, word);
  {
    std::lock_guard outer(m);
    v = 2;
    {
      std::lock_guard inner(m);
      EXPECT_EQ(v, 2);
      auto s = v.lock();
      *s = 3;
    }
    EXPECT_EQ(word, 1);
    v = v + 1;
  }
  EXPECT_EQ(word, 4);
  EXPECT_EQ(m.counted().sections, 1u);
}

TEST_F(TolerantMutexTest, TryLockAndItsTimedKinds) {
  int word = 1;
  tolerant_recursive_timed_mutex m;
  tolerated<int&> v(m, word);
  ASSERT_TRUE(m.try_lock());
  v = 2;
  ASSERT_TRUE(m.try_lock_for(std::chrono::milliseconds(1)));
  ASSERT_TRUE(m.try_lock_until(std::chrono::steady_clock::now()));
  std::thread other([&] {
    EXPECT_FALSE(m.try_lock());
    EXPECT_FALSE(m.try_lock_for(std::chrono::milliseconds(1)));
    EXPECT_EQ(v, 1);  // from outside
  });
  other.join();
  m.unlock();
  m.unlock();
  m.unlock();
  EXPECT_EQ(word, 2);
}

TEST_F(TolerantMutexTest, ReadersHaveCopiesOfTheirOwn) {
  int word = 1;
  tolerant_shared_timed_mutex m;
  tolerated<int&> v(m, word);
  tolerated<long> other(m, 5L);
  m.lock_shared();
  EXPECT_EQ(v, 1);
  Intrude(word, 2);
  EXPECT_EQ(v, 1);
  std::thread reader([&] {
    ASSERT_TRUE(m.try_lock_shared_for(std::chrono::seconds(10)));
    EXPECT_EQ(v, 2);
    EXPECT_EQ(other, 5);
    m.unlock_shared();
    const auto s = v.lock_shared();
    EXPECT_EQ(*s, 2);
  });
  reader.join();
  EXPECT_EQ(v, 1);
  EXPECT_EQ(other, 5);
  m.unlock_shared();
  EXPECT_EQ(v, 2);
  m.lock();
  v = 7;
  EXPECT_EQ(word, 2);
  m.unlock();
  EXPECT_EQ(word, 7);
}

TEST_F(TolerantMutexTest, AWriteUnderAReadLockIsOneFromOutside) {
  tolerate::configure("testing");
  int word = 1;
  tolerant_shared_mutex m;
  tolerated<int&> v(m, word);
  std::shared_lock lock(m);
  v = 3;
  EXPECT_EQ(word, 3);
  EXPECT_EQ(v, 3);
  EXPECT_EQ(m.counted().outside_writes, 1u);
}

TEST_F(TolerantMutexTest, AnExistingPthreadMutexOfAnyKind) {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    int word = 1;
    {
      tolerant_pthread_mutex m(mutex);
      tolerated<int&> v(m, word);
      m.lock();
      v = 2;
      if (type == PTHREAD_MUTEX_RECURSIVE) {
        EXPECT_TRUE(m.try_lock());
        m.unlock();
      }
      if (type == PTHREAD_MUTEX_ERRORCHECK) {
        EXPECT_THROW(m.lock(), std::system_error);
      }
      EXPECT_EQ(word, 1);
      m.unlock();
      EXPECT_EQ(word, 2);
      // Code that knows the mutex only is excluded as ever, and works on the variable itself.
      pthread_mutex_lock(&mutex);
      std::thread other([&] { EXPECT_FALSE(m.try_lock()); });
      other.join();
      v = 3;
      EXPECT_EQ(word, 3);
      pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_destroy(&mutex);
    pthread_mutexattr_destroy(&attributes);
  }
}

TEST_F(TolerantMutexTest, ASectionWhoseThreadDiedIsForgotten) {
  void* list = nullptr;
  size_t size = 0;
  if (syscall(SYS_get_robust_list, 0, &list, &size) != 0) GTEST_SKIP() << "this system has no robust mutexes";
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &attributes);
  int word = 1;
  {
    tolerant_pthread_mutex m(mutex);
    tolerated<int&> v(m, word);
    std::thread dies([&] {
      m.lock();
      v = 2;
    });
    dies.join();
    m.lock();
    pthread_mutex_consistent(&mutex);
    EXPECT_EQ(v, 1);
    v = 5;
    m.unlock();
    EXPECT_EQ(word, 5);
  }
  pthread_mutex_destroy(&mutex);
  pthread_mutexattr_destroy(&attributes);
}

TEST_F(TolerantMutexTest, SeveralLocksAndNestedSections) {
  tolerant_mutex a, b;
  tolerated<int> x(a, 1), y(b, 1);
  {
    std::scoped_lock both(a, b);
    x = 2;
    y = x + 1;
  }
  {
    std::unique_lock first(a);
    x = x + 1;
    std::unique_lock second(b);
    y = y + x;
    first.unlock();  // not in the order of nesting
    y = y + 1;
  }
  EXPECT_EQ(x, 3);
  EXPECT_EQ(y, 7);
}

TEST_F(TolerantMutexTest, EarlyReturnsAndExceptionsEndSections) {
  tolerant_mutex m;
  tolerated<int> v(m, 1);
  const auto leave = [&](bool throws) {
    std::lock_guard lock(m);
    v = v + 1;
    if (throws) throw 1;
    return 0;
  };
  leave(false);
  EXPECT_THROW(leave(true), int);
  EXPECT_EQ(v, 3);
  EXPECT_TRUE(m.try_lock());
  m.unlock();
}

// ---- Conditions ----

// Waits until another thread has seen the value that was written before, and has changed it.
template <class Wait, class Notify>
void ExpectWaitEndsAndBeginsASection(auto& m, const Wait& wait, const Notify& notify) {
  tolerated<int> v(m, 0);
  std::thread other;
  {
    std::unique_lock lock(m);
    v = 1;
    other = std::thread([&] {
      std::unique_lock theirs(m);
      EXPECT_EQ(v, 1);
      v = 2;
      notify();
    });
    while (v != 2) wait(lock);
    v = v + 1;
  }
  other.join();
  EXPECT_EQ(v, 3);
  EXPECT_TRUE(found.empty());
}

TEST_F(TolerantMutexTest, WaitingEndsASectionAndBeginsAnother) {
  {
    tolerant_mutex m;
    std::condition_variable condition;
    ExpectWaitEndsAndBeginsASection(m, [&](auto&) { m.wait(condition); }, [&] { condition.notify_all(); });
  }
  {
    tolerant_timed_mutex m;
    std::condition_variable_any condition;
    ExpectWaitEndsAndBeginsASection(m, [&](auto& lock) { condition.wait(lock); }, [&] { condition.notify_all(); });
  }
  {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    tolerant_pthread_mutex m(mutex);
    ExpectWaitEndsAndBeginsASection(
        m, [&](auto&) { EXPECT_EQ(m.wait(condition), 0); }, [&] { pthread_cond_broadcast(&condition); });
  }
}

TEST_F(TolerantMutexTest, WaitingForATimeAndWithAPredicate) {
  tolerant_mutex m;
  std::condition_variable condition;
  tolerated<int> v(m, 1);
  std::lock_guard lock(m);
  v = 2;
  EXPECT_EQ(m.wait_until(condition, std::chrono::steady_clock::now()), std::cv_status::timeout);
  EXPECT_EQ(v, 2);
  m.wait(condition, [&] { return v == 2; });
}

TEST_F(TolerantMutexTest, AConflictFoundBeforeAWaitThrowsWithTheLockHeld) {
  int word = 1;
  tolerant_mutex m;
  std::condition_variable condition;
  tolerated<int&> v(m, word, on_conflict::throw_error);
  {
    std::unique_lock lock(m);
    v = 5;
    Intrude(word, 2);
    EXPECT_THROW(m.wait(condition), data_race_error);
    EXPECT_EQ(v, 2);
    v = 3;
  }
  EXPECT_EQ(word, 3);
}

}  // namespace
}  // namespace redflag
