// Readers come and go, each knowing what the one before has read, and none of them knowing its end. What the first has read and the second has not is remembered; so is
// what the second read itself.
#include <pthread.h>

#include "invisible.h"

alignas(4096) long table[512];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void HandOn() {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

void* First(void*) {
  USE(table[0]);  // RACE(first) CHAIN(first): First
  USE(table[32]);
  HandOn();
  Arrive();
  return nullptr;
}

void* Second(void*) {
  USE(table[16]);  // RACE(second) CHAIN(second): Second
  USE(table[32]);
  USE(table[48]);
  HandOn();
  Arrive();
  return nullptr;
}

void* Writer(void*) {
  Await(3);
  table[0] = 1;   // RACE(first) CHAIN(first): Writer
  table[16] = 1;  // RACE(second) CHAIN(second): Writer
  return nullptr;
}

int main() {
  for (int i = 0; i < 512; ++i) table[i] = i;
  pthread_t writer, first, second;
  pthread_create(&writer, nullptr, Writer, nullptr);
  pthread_create(&first, nullptr, First, nullptr);
  Await(1);
  usleep(20000);  // its end is not known to anybody
  HandOn();
  pthread_create(&second, nullptr, Second, nullptr);
  Await(2);
  usleep(20000);
  HandOn();
  table[32] = 1;  // knows of both
  table[48] = 1;
  Arrive();
  pthread_join(writer, nullptr);
  pthread_join(first, nullptr);
  pthread_join(second, nullptr);
}
