// What libc does for a program is the program's: g++ at -O2 makes a jump of the call by which a module says that it was compiled for race detection.
// Both of the program and of a library that it loads.
// SKIP: clang++-14 clang++-19 (their constructors call)
// PLUGIN: lib/copies.cc
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "invisible.h"

char from[64], to[64], other[64];
volatile size_t size = 32;
void (*copy)(char*, const char*);

void* Worker(void*) {
  Await(1);
  to[3] = 1;     // RACE(own) CHAIN(own): Worker
  other[3] = 1;  // RACE(library) CHAIN(library): Worker
  return nullptr;
}

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (library == nullptr) return 1;
  copy = reinterpret_cast<void (*)(char*, const char*)>(dlsym(library, "Copy"));
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  memcpy(to, from, size);  // RACE(own) CHAIN(own): main
  copy(other, from);
  Arrive();
  pthread_join(thread, nullptr);
}
