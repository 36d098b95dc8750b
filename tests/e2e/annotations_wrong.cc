// Annotations that do not cover the race beside them.
#include <pthread.h>
#include <stdlib.h>

#include <atomic>

#include "annotations.h"
#include "invisible.h"

int written;
int read_by_main;
int benign[4];
int* allocated;
std::atomic<bool> ready;
int unordered;

void* Worker(void*) {
  ANNOTATE(IgnoreReadsBegin);
  written = 1;  // RACE(written) CHAIN(written): Worker
  ANNOTATE(IgnoreReadsEnd);
  read_by_main = 1;  // RACE(read_by_main) CHAIN(read_by_main): Worker
  benign[2] = 1;     // RACE(benign) CHAIN(benign): Worker
  *allocated = 1;    // RACE(allocated) CHAIN(allocated): Worker
  unordered = 1;     // RACE(unordered) CHAIN(unordered): Worker
  ANNOTATE(IgnoreSyncBegin);
  ready = true;
  ANNOTATE(IgnoreSyncEnd);
  Arrive();
  return nullptr;
}

int main() {
  ANNOTATE(BenignRaceSized, benign, 2 * sizeof *benign, "not the third");
  allocated = static_cast<int*>(malloc(64));
  ANNOTATE(BenignRaceSized, allocated, 64, "in its first life");
  free(allocated);
  allocated = static_cast<int*>(malloc(64));
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(written);  // RACE(written) CHAIN(written): main
  ANNOTATE(IgnoreWritesBegin);
  USE(read_by_main);  // RACE(read_by_main) CHAIN(read_by_main): main
  ANNOTATE(IgnoreWritesEnd);
  USE(benign[2]);             // RACE(benign) CHAIN(benign): main
  USE(*allocated);            // RACE(allocated) CHAIN(allocated): main
  if (ready) USE(unordered);  // RACE(unordered) CHAIN(unordered): main
  pthread_join(thread, nullptr);
}
