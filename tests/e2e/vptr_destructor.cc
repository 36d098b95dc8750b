// The destructor of the base sets the vptr back while another thread has just called through it.
// PATTERN(vptr): vptr in destructor
// RANK(vptr): high
#include <pthread.h>

#include <new>

#include "invisible.h"

struct Base {
  virtual ~Base() {  // RACE(vptr) CHAIN(vptr): ~Base < ~Derived < main
    Await(1);
    USE(this);
  }
  virtual void Run() { USE(1); }
};

struct Derived : Base {
  ~Derived() override { USE(2); }
  void Run() override { USE(3); }
};

void* Caller(void* object) {
  static_cast<Base*>(object)->Run();  // RACE(vptr) CHAIN(vptr): Caller
  Arrive();
  return nullptr;
}

int main() {
  alignas(Derived) static char place[sizeof(Derived)];
  Derived* object = new (place) Derived;
  pthread_t thread;
  pthread_create(&thread, nullptr, Caller, object);
  Await(1);
  object->~Derived();
  pthread_join(thread, nullptr);
}
