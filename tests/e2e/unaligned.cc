// An access that crosses an 8-byte boundary touches both words; the other thread writes only the second.
#include <pthread.h>

#include "invisible.h"

struct __attribute__((packed)) Packed {
  char padding[6];
  int crossing;
};
alignas(8) char memory[16];

void* Writer(void*) {
  reinterpret_cast<Packed*>(memory)->crossing = 1;  // RACE(second) CHAIN(second): Writer
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  Await(1);
  memory[5] = 1;   // before it
  memory[10] = 1;  // behind it
  memory[8] = 1;   // RACE(second) CHAIN(second): main
  pthread_join(thread, nullptr);
}
