// Two threads one after the other get the same stack: their locals are at the same addresses and do not race.
// NORACE
#include <pthread.h>

#include "invisible.h"

NOINLINE void Fill(volatile char* bytes) {
  for (int i = 0; i < 512; ++i) bytes[i] = static_cast<char>(i);
}

void* Worker(void*) {
  volatile char local[512];
  Fill(local);
  return nullptr;
}

int main() {
  for (int i = 0; i < 8; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, Worker, nullptr);
    pthread_join(thread, nullptr);
  }
}
