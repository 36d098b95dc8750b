// An object on the stack goes while another thread uses it (ThreadSanitizer 6.3.9).
// PATTERN(task): stack object escaping
// RANK(task): high
#include <pthread.h>

#include "invisible.h"

struct Task {
  volatile int state = 1;
  NOINLINE ~Task() {
    state = 0;  // RACE(task) CHAIN(task): ~Task < Start < main
    USE(this);
  }
};

pthread_t thread;

void* Callback(void* task) {
  static_cast<Task*>(task)->state = 2;  // RACE(task) CHAIN(task): Callback
  Arrive();
  return nullptr;
}

NOINLINE void Start() {
  Task task;
  pthread_create(&thread, nullptr, Callback, &task);
  Await(1);
}

int main() {
  Start();
  pthread_join(thread, nullptr);
}
