// A ticket lock: tickets are relaxed, `serving` carries the order.
// NORACE
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<unsigned> next_ticket;
std::atomic<unsigned> serving;
int counter;

void* Worker(void*) {
  for (int i = 0; i < 10; ++i) {
    const unsigned ticket = next_ticket.fetch_add(1, std::memory_order_relaxed);
    while (serving.load(std::memory_order_acquire) != ticket) usleep(50);
    ++counter;
    serving.store(ticket + 1, std::memory_order_release);
  }
  return nullptr;
}

int main() {
  pthread_t threads[3];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
