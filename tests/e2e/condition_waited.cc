// A wait that a signal ended: the signal orders for those who take no order from locks.
// DETECTORS: hb goldilocks hybrid fast racetrack
// NORACE
#include <pthread.h>
#include <unistd.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
bool waiting;
bool ready;
int payload[64];

bool IsWaiting() {
  pthread_mutex_lock(&mutex);
  const bool result = waiting;
  pthread_mutex_unlock(&mutex);
  return result;
}

void* Produce(void*) {
  while (!IsWaiting()) usleep(1000);
  for (int& part : payload) ++part;
  pthread_mutex_lock(&mutex);
  ready = true;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Produce, nullptr);
  pthread_mutex_lock(&mutex);
  waiting = true;
  while (!ready) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  for (int& part : payload) ++part;
  pthread_join(thread, nullptr);
}
