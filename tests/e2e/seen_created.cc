// The creation of a thread orders what came before it only.
// SEEN(data): main created T1 at seen_created.cc:18, and made the write after that
#include <pthread.h>

#include "invisible.h"

int data;

void* Worker(void*) {
  Await(1);
  USE(data);  // RACE(data) CHAIN(data): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  data = 1;  // RACE(data) CHAIN(data): main
  Arrive();
  Await(2);
  pthread_join(thread, nullptr);
}
