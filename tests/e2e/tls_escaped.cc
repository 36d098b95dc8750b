// A thread-local variable whose address escaped is shared like any other.
// PLACE: thread-local T1
// VARIABLE(mine): mine
#include <pthread.h>

#include "invisible.h"

thread_local int mine;
int* volatile escaped;

INVISIBLE void Publish(int* address) { escaped = address; }
INVISIBLE int* Published() { return escaped; }

void* Owner(void*) {
  mine = 1;  // RACE(mine) CHAIN(mine): Owner
  Publish(&mine);
  Arrive();
  Await(2);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Owner, nullptr);
  Await(1);
  *Published() = 2;  // RACE(mine) CHAIN(mine): main
  Arrive();
  pthread_join(thread, nullptr);
}
