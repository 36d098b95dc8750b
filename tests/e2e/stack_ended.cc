// A local variable of a thread that has ended, and was not joined: its stack is still there, its calls are not.
// PLACE: stack T1
// VARIABLE(local):
#include <pthread.h>
#include <sys/stat.h>

#include "invisible.h"

int* leaked;

NOINLINE void Leak(int* local) { __atomic_store_n(&leaked, local, __ATOMIC_RELAXED); }
NOINLINE void Set(int* local) { *local = 1; }  // RACE(local) CHAIN(local): Set < Work CHAIN(local): Set < main

void* Work(void*) {
  int local;
  Leak(&local);
  Set(&local);
  USE(local);
  return nullptr;
}

INVISIBLE int ThreadsAlive() {
  struct stat folder;
  if (stat("/proc/self/task", &folder) != 0) abort();
  return static_cast<int>(folder.st_nlink) - 2;
}

int main() {
  const int before = ThreadsAlive();
  pthread_t thread;
  pthread_create(&thread, nullptr, Work, nullptr);
  while (ThreadsAlive() > before || __atomic_load_n(&leaked, __ATOMIC_RELAXED) == nullptr) usleep(100);
  Set(__atomic_load_n(&leaked, __ATOMIC_RELAXED));
  pthread_join(thread, nullptr);
}
