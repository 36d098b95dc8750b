// std::condition_variable::wait_for goes through pthread_cond_clockwait, which must be known.
// NORACE
#include <condition_variable>
#include <mutex>
#include <thread>

#include "invisible.h"

std::mutex mutex;
std::condition_variable condition;
bool ready;
int payload;

int main() {
  std::thread producer([] {
    payload = 1;
    std::lock_guard<std::mutex> lock(mutex);
    ready = true;
    condition.notify_one();
  });
  {
    std::unique_lock<std::mutex> lock(mutex);
    while (!condition.wait_for(lock, std::chrono::milliseconds(5), [] { return ready; })) {
    }
  }
  ++payload;
  producer.join();
}
