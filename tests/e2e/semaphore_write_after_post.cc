// What a thread does after its post is not ordered before the wait.
#include <pthread.h>
#include <semaphore.h>

#include "invisible.h"

sem_t semaphore;
int value;

void* Poster(void*) {
  sem_post(&semaphore);
  value = 1;  // RACE(value) CHAIN(value): Poster
  Arrive();
  return nullptr;
}

int main() {
  sem_init(&semaphore, 0, 0);
  pthread_t thread;
  pthread_create(&thread, nullptr, Poster, nullptr);
  Await(1);
  while (sem_wait(&semaphore) != 0) {
  }
  value = 2;  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
