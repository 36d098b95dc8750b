// What a thread acquired by joining another is handed on by its own end.
// NORACE
#include <pthread.h>

#include "invisible.h"

int result;

void* Inner(void*) {
  result = 1;
  return nullptr;
}

void* Outer(void*) {
  pthread_t inner;
  pthread_create(&inner, nullptr, Inner, nullptr);
  pthread_join(inner, nullptr);
  return nullptr;
}

int main() {
  pthread_t outer;
  pthread_create(&outer, nullptr, Outer, nullptr);
  pthread_join(outer, nullptr);
  ++result;
}
