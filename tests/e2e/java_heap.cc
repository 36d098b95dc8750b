// The interface for managed heaps: an object that moves takes its lock along, one that was collected has no past, finalizers come last.
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

extern "C" {
void __tsan_java_init(unsigned long heap, unsigned long bytes);
int __tsan_java_fini();
void __tsan_java_alloc(unsigned long object, unsigned long bytes);
void __tsan_java_free(unsigned long object, unsigned long bytes);
unsigned long __tsan_java_find(unsigned long* from, unsigned long to);
void __tsan_java_move(unsigned long from, unsigned long to, unsigned long bytes);
void __tsan_java_finalize();
void __tsan_java_mutex_lock(unsigned long lock);
void __tsan_java_mutex_unlock(unsigned long lock);
}

alignas(16) char heap[4096];
int locked, unlocked, finalized;

unsigned long At(int offset) { return reinterpret_cast<unsigned long>(heap) + static_cast<unsigned long>(offset); }

void* Worker(void*) {
  Await(1);
  __tsan_java_mutex_lock(At(1024 + 8));
  locked = 2;
  __tsan_java_mutex_unlock(At(1024 + 8));
  unlocked = 2;  // RACE(unlocked) CHAIN(unlocked): Worker
  heap[16] = 2;
  Arrive();
  Await(3);
  __tsan_java_finalize();
  finalized = 2;
  return nullptr;
}

int main() {
  __tsan_java_init(At(0), sizeof heap);
  __tsan_java_alloc(At(16), 32);
  unsigned long found = At(0);
  if (__tsan_java_find(&found, At(4096)) != 32 || found != At(16)) abort();
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  __tsan_java_mutex_lock(At(24));
  locked = 1;
  __tsan_java_mutex_unlock(At(24));
  unlocked = 1;  // RACE(unlocked) CHAIN(unlocked): main
  heap[16] = 1;
  __tsan_java_move(At(16), At(1024), 32);
  found = At(0);
  if (__tsan_java_find(&found, At(4096)) != 32 || found != At(1024)) abort();
  Arrive();
  Await(2);
  finalized = 1;
  Arrive();
  pthread_join(thread, nullptr);
  __tsan_java_free(At(1024), 32);
  found = At(0);
  if (__tsan_java_find(&found, At(4096)) != 0) abort();
}
