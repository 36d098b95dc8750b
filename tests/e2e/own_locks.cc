// Data under locks of the program's own making, whose functions a file names: detectors that go by locks know that they are held.
// NORACE
// DETECTORS: hb lockset racetrack hybrid fast goldilocks
// OPTIONS: suppressions={here}/own_locks.txt
#include "own_locks.h"

#include <pthread.h>

FlagLock flag_lock;
FlagLock several[3];
TicketLock ticket_lock;
SharedLock shared_lock;
TwoWordLock two_words;
QueueLock queue_lock;
int by_flag, by_trying, by_several, by_ticket, by_shared, by_two_words, by_queue;

void* Worker(void*) {
  int sum = 0;
  for (int i = 0; i < 12; ++i) {
    flag_lock.Lock();
    ++by_flag;
    flag_lock.Unlock();
    if (flag_lock.TryLock()) {
      ++by_trying;
      flag_lock.Unlock();
    }
    for (FlagLock& each : several) each.Lock();
    ++by_several;
    for (FlagLock& each : several) each.Unlock();
    ticket_lock.Lock();
    ++by_ticket;
    ticket_lock.Unlock();
    shared_lock.ReadLock();
    sum += by_shared;
    shared_lock.ReadUnlock();
    shared_lock.Lock();
    ++by_shared;
    shared_lock.Unlock();
    two_words.ReadLock();
    sum += by_two_words;
    two_words.ReadUnlock();
    two_words.Lock();
    ++by_two_words;
    two_words.Unlock();
    QueueLock::Node node;
    queue_lock.Lock(node);
    ++by_queue;
    queue_lock.Unlock(node);
  }
  USE(sum);
  return nullptr;
}

int main() {
  pthread_t threads[3];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
