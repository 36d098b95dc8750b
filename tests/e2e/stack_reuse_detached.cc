// As stack_reuse, but the threads are detached: libc hands the stack on without any synchronization that it shows.
// NORACE
#include <pthread.h>
#include <sys/stat.h>

#include "invisible.h"

NOINLINE void Fill(volatile char* bytes) {
  for (int i = 0; i < 512; ++i) bytes[i] = static_cast<char>(i);
}

void* Worker(void*) {
  volatile char local[512];
  Fill(local);
  Arrive();
  return nullptr;
}

INVISIBLE int ThreadsAlive() {
  struct stat folder;
  if (stat("/proc/self/task", &folder) != 0) abort();
  return static_cast<int>(folder.st_nlink) - 2;
}

int main() {
  const int before = ThreadsAlive();
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 8; ++i) {
    pthread_t thread;
    pthread_create(&thread, &detached, Worker, nullptr);
    Await(i + 1);
    while (ThreadsAlive() > before) usleep(100);  // its stack goes to the next
  }
}
