// The program chooses its exit status after a report, beside an option of another tool.
// STATUS: 3
#include <pthread.h>

#include "invisible.h"

int value;

extern "C" const char* __tsan_default_options() { return "history_size=7:exitcode=3"; }

void* Worker(void*) {
  value = 1;  // RACE(value) CHAIN(value): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
