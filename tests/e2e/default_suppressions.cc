// The program knows races that it does not want to hear of; nothing is reported and the exit status is its own.
// NORACE
#include <pthread.h>

#include "invisible.h"

int by_function;
int by_variable;

extern "C" const char* __tsan_default_suppressions() {
  return "# known\nrace:^LegacyRead$\nrace:by_vari*ble\ndeadlock:Anything\n";
}

NOINLINE void LegacyRead() { USE(by_function); }

void* Worker(void*) {
  by_function = 1;
  by_variable = 1;
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  LegacyRead();
  USE(by_variable);
  pthread_join(thread, nullptr);
}
