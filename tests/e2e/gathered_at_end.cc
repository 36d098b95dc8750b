// Two threads that write once, by less than a word, and end: nothing else comes between.
// DETECTORS: hb hybrid
#include <pthread.h>

short value;

void* Write(void* number) {
  value = static_cast<short>(reinterpret_cast<long>(number));  // RACE(value) CHAIN(value): Write
  return nullptr;
}

int main() {
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], nullptr, Write, reinterpret_cast<void*>(i));
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}
