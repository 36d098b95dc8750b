// Rules of all kinds, from two files: what they name is silent, and what has expired or fits only almost is reported.
// OPTIONS: suppressions={here}/suppressions_more_1.txt;{here}/suppressions_more_2.txt
#include <pthread.h>

#include "invisible.h"

int by_variable;
int by_frames;
int by_frames_almost;
int by_function;
int by_type;
int by_calls;
int expired;

NOINLINE void Store(int* where) {
  *where = 1;  // RACE(almost) CHAIN(almost): Store < Straight < Worker
}
NOINLINE void Inner() {
  Store(&by_frames);
  USE(1);
}
NOINLINE void Outer() {
  Inner();
  USE(2);
}
NOINLINE void Straight() {
  Store(&by_frames_almost);
  USE(3);
}
NOINLINE void Legacy() { by_function = 1; }
NOINLINE void Leaf() { by_calls = 1; }
NOINLINE void Tree() {
  Leaf();
  USE(4);
}
struct Registry {
  NOINLINE void Add() {
    by_type = 1;
    USE(this);
  }
} registry;

void* Worker(void*) {
  by_variable = 1;
  Outer();
  Straight();
  Legacy();
  Tree();
  registry.Add();
  expired = 1;  // RACE(expired) CHAIN(expired): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(by_variable);
  USE(by_frames);
  USE(by_frames_almost);  // RACE(almost) CHAIN(almost): main
  USE(by_function);
  USE(by_type);
  USE(by_calls);
  USE(expired);  // RACE(expired) CHAIN(expired): main
  pthread_join(thread, nullptr);
}
