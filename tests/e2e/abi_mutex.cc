// A lock of the program's own making, with what it says of itself: exclusive, recursive, for readers, and tried.
// NORACE
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <sched.h>

#include "invisible.h"

// The lock is made of operations that the detector does not see: what it orders, it orders by what it says.
class Lock {
 public:
  Lock() { __tsan_mutex_create(this, __tsan_mutex_write_reentrant | __tsan_mutex_read_reentrant); }
  ~Lock() { __tsan_mutex_destroy(this, __tsan_mutex_not_static); }
  void Acquire() {
    __tsan_mutex_pre_lock(this, 0);
    Take();
    __tsan_mutex_post_lock(this, 0, 0);
  }
  bool TryAcquire() {
    __tsan_mutex_pre_lock(this, __tsan_mutex_try_lock);
    const bool taken = Try();
    __tsan_mutex_post_lock(this, __tsan_mutex_try_lock | (taken ? 0 : __tsan_mutex_try_lock_failed), 0);
    return taken;
  }
  void Release() {
    __tsan_mutex_pre_unlock(this, 0);
    Give();
    __tsan_mutex_post_unlock(this, 0);
  }
  // All levels, as a wait for a condition does.
  int ReleaseAll() {
    const int levels = __tsan_mutex_pre_unlock(this, __tsan_mutex_recursive_unlock);
    Give();
    __tsan_mutex_post_unlock(this, __tsan_mutex_recursive_unlock);
    return levels;
  }
  void AcquireAll(int levels) {
    __tsan_mutex_pre_lock(this, __tsan_mutex_recursive_lock);
    Take();
    __tsan_mutex_post_lock(this, __tsan_mutex_recursive_lock, levels);
  }
  // A second level: nothing happens to the word.
  void Again() {
    __tsan_mutex_pre_lock(this, 0);
    __tsan_mutex_post_lock(this, 0, 0);
  }
  void LessOnce() {
    __tsan_mutex_pre_unlock(this, 0);
    __tsan_mutex_post_unlock(this, 0);
  }

 private:
  bool Try() { return __atomic_exchange_n(&word_, 1, __ATOMIC_RELAXED) == 0; }
  void Take() {
    while (!Try()) sched_yield();
    ++owners_;  // the lock's own data: not watched
  }
  void Give() { __atomic_store_n(&word_, 0, __ATOMIC_RELAXED); }

  int word_ = 0;
  int owners_ = 0;
};

Lock lock;
int counter;

void* Worker(void*) {
  for (int i = 0; i < 1000; ++i) {
    if (i % 3 != 0 || !lock.TryAcquire()) lock.Acquire();
    lock.Again();
    ++counter;
    const int levels = lock.ReleaseAll();
    if (levels != 2) abort();
    lock.AcquireAll(levels);
    ++counter;
    lock.LessOnce();
    ++counter;
    lock.Release();
  }
  return nullptr;
}

int main() {
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  if (counter != 6000) abort();
}
