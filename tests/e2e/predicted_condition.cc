// The loop around a condition variable is not entered, because what is waited for has come already: then nothing but the mutex orders what
// follows, and a detector that takes no order from locks reports it (ThreadSanitizer 6.4).
// DETECTORS: hb hybrid
// BY(payload): hybrid
#include <condition_variable>
#include <mutex>
#include <thread>

#include "invisible.h"

std::mutex mutex;
std::condition_variable condition;
bool ready;
int payload;

void Produce() {
  payload = 1;  // RACE(payload) CHAIN(payload): Produce
  {
    const std::lock_guard<std::mutex> guard(mutex);
    ready = true;
    condition.notify_one();
  }
  Arrive();
}

int main() {
  std::thread producer(Produce);
  Await(1);
  {
    std::unique_lock<std::mutex> guard(mutex);
    while (!ready) condition.wait(guard);
  }
  ++payload;  // RACE(payload) CHAIN(payload): main
  producer.join();
}
