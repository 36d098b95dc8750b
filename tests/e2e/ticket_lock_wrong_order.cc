// A ticket lock that waits with relaxed loads: the taking of the ticket acquires nothing of what the owner before did.
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<unsigned> next_ticket;
std::atomic<unsigned> serving;
int counter;

NOINLINE unsigned Lock() {
  const unsigned ticket = next_ticket.fetch_add(1, std::memory_order_acq_rel);
  while (serving.load(std::memory_order_relaxed) != ticket) usleep(50);
  return ticket;
}

void* Worker(void*) {
  const unsigned ticket = Lock();
  ++counter;  // RACE(counter) CHAIN(counter): Worker
  serving.store(ticket + 1, std::memory_order_release);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  const unsigned ticket = Lock();
  ++counter;  // RACE(counter) CHAIN(counter): main
  serving.store(ticket + 1, std::memory_order_release);
  pthread_join(thread, nullptr);
}
