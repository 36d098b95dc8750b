// Mutexes of every kind, and every way of waiting with a clock: all of them order.
// NORACE
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <time.h>

#include "invisible.h"

#define CHECK(condition) \
  if (!(condition)) abort()

struct Shared {
  pthread_mutex_t recursive_inheriting;
  pthread_mutex_t robust_shared;
  pthread_mutex_t checked_protected;
  pthread_rwlock_t rwlock;
  pthread_cond_t condition;
  sem_t semaphore;
  int values[6];
  bool done;
};
Shared* shared;

timespec Soon(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  now.tv_sec += 100;
  return now;
}

void MakeMutex(pthread_mutex_t* mutex, int type, int robust, int protocol) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  CHECK(pthread_mutexattr_settype(&attributes, type) == 0);
  CHECK(pthread_mutexattr_setrobust(&attributes, robust) == 0);
  CHECK(pthread_mutexattr_setprotocol(&attributes, protocol) == 0);
  CHECK(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  CHECK(pthread_mutex_init(mutex, &attributes) == 0);
  pthread_mutexattr_destroy(&attributes);
}

void Work() {
  const timespec real = Soon(CLOCK_REALTIME);
  const timespec steady = Soon(CLOCK_MONOTONIC);
  for (int i = 0; i < 200; ++i) {
    CHECK(pthread_mutex_lock(&shared->recursive_inheriting) == 0);
    CHECK(pthread_mutex_trylock(&shared->recursive_inheriting) == 0);
    ++shared->values[0];
    CHECK(pthread_mutex_unlock(&shared->recursive_inheriting) == 0);
    ++shared->values[0];
    CHECK(pthread_mutex_unlock(&shared->recursive_inheriting) == 0);

    CHECK(pthread_mutex_clocklock(&shared->robust_shared, CLOCK_MONOTONIC, &steady) == 0);
    ++shared->values[1];
    CHECK(pthread_mutex_unlock(&shared->robust_shared) == 0);

    CHECK(pthread_mutex_timedlock(&shared->checked_protected, &real) == 0);
    ++shared->values[2];
    CHECK(pthread_mutex_unlock(&shared->checked_protected) == 0);

    CHECK(pthread_rwlock_clockrdlock(&shared->rwlock, CLOCK_MONOTONIC, &steady) == 0);
    USE(shared->values[3]);
    CHECK(pthread_rwlock_unlock(&shared->rwlock) == 0);
    CHECK(pthread_rwlock_clockwrlock(&shared->rwlock, CLOCK_REALTIME, &real) == 0);
    ++shared->values[3];
    CHECK(pthread_rwlock_unlock(&shared->rwlock) == 0);

    CHECK(sem_clockwait(&shared->semaphore, CLOCK_MONOTONIC, &steady) == 0);
    ++shared->values[4];
    CHECK(sem_post(&shared->semaphore) == 0);
  }
}

void* Worker(void*) {
  Work();
  pthread_mutex_lock(&shared->robust_shared);
  shared->done = true;
  shared->values[5] = 1;
  pthread_cond_signal(&shared->condition);
  pthread_mutex_unlock(&shared->robust_shared);
  return nullptr;
}

int main() {
  shared =
      static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(shared != MAP_FAILED);
  MakeMutex(&shared->recursive_inheriting, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
  MakeMutex(&shared->robust_shared, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
  MakeMutex(&shared->checked_protected, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
  pthread_rwlock_init(&shared->rwlock, nullptr);
  pthread_cond_init(&shared->condition, nullptr);
  sem_init(&shared->semaphore, 1, 1);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Work();
  const timespec steady = Soon(CLOCK_MONOTONIC);
  pthread_mutex_lock(&shared->robust_shared);
  while (!shared->done) {
    CHECK(pthread_cond_clockwait(&shared->condition, &shared->robust_shared, CLOCK_MONOTONIC, &steady) == 0);
  }
  USE(shared->values[5]);
  pthread_mutex_unlock(&shared->robust_shared);
  pthread_join(thread, nullptr);
}
