// What is called at the exit comes after who had it called, in whatever thread that was. Functions of atexit and on_exit, destructors of static objects.
// NORACE
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

int calls, by_atexit, by_on_exit;

struct Object {
  explicit Object(int value) : value(value) {}
  ~Object() {
    if (value != 3) abort();
    if (++calls != 1) abort();
  }
  int value;
};

void AtExit() {
  if (by_atexit != 1) abort();
  if (++calls != 3) abort();
}

void OnExit(int status, void* value) {
  if (status != 0 || *static_cast<int*>(value) != 2) abort();
  if (++calls != 2) abort();
}

void* Worker(void*) {
  by_atexit = 1;
  atexit(AtExit);
  by_on_exit = 2;
  on_exit(OnExit, &by_on_exit);
  static const Object object(3);
  Arrive();
  Await(2);  // it is there to the end
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  pthread_detach(thread);
  Await(1);
}
