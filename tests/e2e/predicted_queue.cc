// What goes through a queue with a mutex is handed over by it: only the mutex orders the consumer's use after the producer's. A detector
// that takes no order from locks reports it (ThreadSanitizer 6.4) ...
// DETECTORS: hb hybrid
// BY(handed): hybrid
#include <deque>
#include <mutex>
#include <thread>

#include "invisible.h"

std::mutex mutex;
std::deque<int*> queue;
int element;

void Put(int* item) {
  *item = 1;  // RACE(handed) CHAIN(handed): Put < lambda
  const std::lock_guard<std::mutex> guard(mutex);
  queue.push_back(item);
}

int* Get() {
  const std::lock_guard<std::mutex> guard(mutex);
  int* item = queue.front();
  queue.pop_front();
  return item;
}

int main() {
  std::thread producer([] {
    Put(&element);
    Arrive();
  });
  Await(1);
  *Get() += 1;  // RACE(handed) CHAIN(handed): main
  producer.join();
}
