// A library that is not instrumented says what its calls do to its objects: changes race, reads do not.
#include <pthread.h>
#include <sanitizer/tsan_interface.h>

#include "invisible.h"

#if defined(__clang__)
#define UNINSTRUMENTED __attribute__((disable_sanitizer_instrumentation, noinline))
#else
#define UNINSTRUMENTED __attribute__((no_sanitize("thread"), noinline))
#endif

struct Object {
  int inside[16];
};
void* tag;
Object object;
Object other;

UNINSTRUMENTED void Change(Object* which) {
  __tsan_external_write(which, __builtin_return_address(0), tag);  // RACE(object) CHAIN(object): Change < Worker
  USE(1);
}
UNINSTRUMENTED int Size(Object* which) {
  __tsan_external_read(which, __builtin_return_address(0), tag);  // RACE(object) CHAIN(object): Size < main
  return which->inside[0];
}

void* Worker(void*) {
  Size(&other);
  Change(&object);
  Arrive();
  return nullptr;
}

int main() {
  tag = __tsan_external_register_tag("Object");
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(Size(&other));
  USE(Size(&object));
  pthread_join(thread, nullptr);
}
