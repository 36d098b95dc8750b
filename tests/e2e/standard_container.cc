// A race inside std::vector: the innermost line of the program is the call.
// PATTERN(numbers): container mutated
// RANK(numbers): high
// VARIABLE(numbers): numbers
#include <pthread.h>

#include <vector>

#include "invisible.h"

std::vector<int> numbers;

NOINLINE void Append(int number) {
  numbers.push_back(number);  // RACE(numbers) CHAIN(numbers): Append < Worker
}

void* Worker(void*) {
  Append(1);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(numbers.size());  // RACE(numbers) CHAIN(numbers): main
  pthread_join(thread, nullptr);
}
