// Waiting for a condition, told as such (ThreadSanitizer 5): whether the loop is entered makes no difference.
// DETECTORS: hb hybrid fast racetrack
// NORACE
// FLAGS: -I{here}/../../include
#include <redflag/annotations.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "invisible.h"

std::mutex mutex;
std::condition_variable condition;
bool ready;
int payload;

void Produce() {
  payload = 1;
  {
    const std::lock_guard<std::mutex> guard(mutex);
    ready = true;
    ANNOTATE_CONDVAR_SIGNAL(&condition);
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
    ANNOTATE_CONDVAR_LOCK_WAIT(&condition, &mutex);
  }
  ++payload;
  producer.join();
}
