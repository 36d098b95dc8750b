// ... unless it is told that this mutex orders, or that this is a queue (ThreadSanitizer 5).
// DETECTORS: hb hybrid fast racetrack
// NORACE
// FLAGS: -I{here}/../../include
#include <redflag/annotations.h>

#include <deque>
#include <mutex>
#include <thread>

#include "invisible.h"

std::mutex mutex;
std::mutex other_mutex;
std::deque<int*> queue;
std::deque<int*> other_queue;
int elements[2];

void Put(int* item, int* other) {
  *item = *other = 1;
  {
    const std::lock_guard<std::mutex> guard(mutex);
    queue.push_back(item);
  }
  const std::lock_guard<std::mutex> guard(other_mutex);
  ANNOTATE_PCQ_PUT(&other_queue);
  other_queue.push_back(other);
}

int* Get() {
  const std::lock_guard<std::mutex> guard(mutex);
  int* item = queue.front();
  queue.pop_front();
  return item;
}

int* GetOther() {
  const std::lock_guard<std::mutex> guard(other_mutex);
  int* item = other_queue.front();
  ANNOTATE_PCQ_GET(&other_queue);
  other_queue.pop_front();
  return item;
}

int main() {
  ANNOTATE_PURE_HAPPENS_BEFORE_MUTEX(&mutex);
  ANNOTATE_PCQ_CREATE(&other_queue);
  std::thread producer([] {
    Put(&elements[0], &elements[1]);
    Arrive();
  });
  Await(1);
  *Get() += 1;
  *GetOther() += 1;
  producer.join();
}
