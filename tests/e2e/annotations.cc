// Annotations that explain why nothing here is a race.
// NORACE
#include <pthread.h>
#include <stdlib.h>

#include "annotations.h"
#include "invisible.h"

int before;
int guarded;
int benign[4];
int reads;
int writes;
int recycled[16];
char edge;
char lock;

void LockIt() { ANNOTATE(RWLockAcquired, &lock, 1); }
void UnlockIt() { ANNOTATE(RWLockReleased, &lock, 1); }

void* Worker(void*) {
  ANNOTATE(ThreadName, "worker");
  ANNOTATE(IgnoreWritesBegin);
  writes = 1;
  ANNOTATE(IgnoreWritesEnd);
  reads = 1;
  benign[2] = 1;
  for (int& word : recycled) word = 1;
  LockIt();
  ++guarded;
  UnlockIt();
  before = 1;
  ANNOTATE(HappensBefore, &edge);
  benign[3] = 1;
  Arrive();
  return nullptr;
}

int main() {
  ANNOTATE(RWLockCreate, &lock);
  ANNOTATE(BenignRaceSized, benign, sizeof benign, "statistics");
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  LockIt();
  ++guarded;
  UnlockIt();
  ANNOTATE(RWLockDestroy, &lock);
  USE(benign[2]);
  USE(benign[3]);
  ANNOTATE(IgnoreReadsBegin);
  USE(reads);
  ANNOTATE(IgnoreReadsEnd);
  USE(writes);
  ANNOTATE(NewMemory, recycled, sizeof recycled);
  recycled[3] = 2;
  ANNOTATE(HappensAfter, &edge);
  USE(before);
  pthread_join(thread, nullptr);
}
