// What the rules about code name is not watched in the program: no race of it comes as far as to be suppressed. What is called from there
// is watched, unless the rule says otherwise, and what synchronizes there synchronizes.
// LIBRARY: lib/ignored_library.cc
// OPTIONS: suppressions={here}/ignored_code.txt
// DETECTORS: hb hybrid racetrack
// SUPPRESSED: 0
// BY(watched): hb hybrid
// BY(called): hb hybrid
// BY(one_side): hb hybrid
#include "ignored_code.h"

#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "invisible.h"

void InLibrary();

int ignored, small, by_tree, by_class, watched, called, one_side, published;
char copied[16];
int swapped[2];
std::atomic<bool> is_published;

NOINLINE void Called() {
  ++called;  // RACE(called) CHAIN(called): Called < Ignored < Worker
  USE(1);
}
NOINLINE void Ignored() {
  ++ignored;
  ++one_side;
  Called();
  USE(2);
}
inline void IgnoredSmall() { ++small; }
NOINLINE void ByLibraries() {
  memset(copied, 1, sizeof copied);
  std::swap(swapped[0], swapped[1]);
  USE(3);
}
NOINLINE void Leaf() {
  ++by_tree;
  USE(4);
}
NOINLINE void IgnoredTree() {
  Leaf();
  USE(5);
}
struct IgnoredClass {
  NOINLINE void Add() {
    ++by_class;
    USE(this);
  }
} of_class;
NOINLINE void Publish() {
  is_published.store(true, std::memory_order_release);
  USE(6);
}
NOINLINE void Control() {
  ++watched;   // RACE(watched) CHAIN(watched): Control < Worker
  ++one_side;  // RACE(one_side) CHAIN(one_side): Control < Worker
  USE(7);
}

void* Worker(void* number) {
  Await(number == nullptr ? 0 : 1);
  Ignored();
  IgnoredSmall();
  ByLibraries();
  IgnoredTree();
  of_class.Add();
  InHeader();
  InLibrary();
  Control();
  if (number == nullptr) {
    published = 1;
    Publish();
  } else {
    while (!is_published.load(std::memory_order_acquire)) usleep(100);
    published = 2;
  }
  Arrive();
  return nullptr;
}

int main() {
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], nullptr, Worker, reinterpret_cast<void*>(i));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
