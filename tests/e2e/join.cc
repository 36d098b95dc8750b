// Everything in a thread happens before join returns ([thread.thread.member]/4).
// NORACE
#include <pthread.h>

#include "invisible.h"

int result;

void* Worker(void*) {
  result = 1;
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  pthread_join(thread, nullptr);
  ++result;
}
