// Memory that was freed by one thread is allocated by another one while its writes are ignored: it has no past for all that.
// NORACE
#include <pthread.h>
#include <stdlib.h>

#include "annotations.h"
#include "invisible.h"

void* Worker(void*) {
  for (int i = 0; i < 64; ++i) {
    auto* block = static_cast<int*>(malloc(64));
    *block = 1;
    free(block);
  }
  void* last = malloc(64);
  Arrive();
  return last;
}

int main() {
  int* blocks[64];
  for (int*& block : blocks) block = static_cast<int*>(malloc(64));
  for (int* block : blocks) free(block);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  ANNOTATE(IgnoreWritesBegin);
  for (int*& block : blocks) block = static_cast<int*>(malloc(64));
  ANNOTATE(IgnoreWritesEnd);
  for (int* block : blocks) {
    *block = 2;
    free(block);
  }
  void* last = nullptr;
  pthread_join(thread, &last);
  free(last);
}
