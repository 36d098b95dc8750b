// sem_post happens before the sem_wait that it lets through.
// NORACE
#include <pthread.h>
#include <semaphore.h>

#include "invisible.h"

sem_t full;
sem_t empty;
int slot;

void* Producer(void*) {
  for (int i = 0; i < 20; ++i) {
    while (sem_wait(&empty) != 0) {
    }
    slot = i;
    sem_post(&full);
  }
  return nullptr;
}

int main() {
  sem_init(&full, 0, 0);
  sem_init(&empty, 0, 1);
  pthread_t thread;
  pthread_create(&thread, nullptr, Producer, nullptr);
  for (int i = 0; i < 20; ++i) {
    while (sem_wait(&full) != 0) {
    }
    if (slot != i) abort();
    sem_post(&empty);
  }
  pthread_join(thread, nullptr);
}
