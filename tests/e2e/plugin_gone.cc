// A function of a library wrote, and the library is gone when the race is found: its names are not.
// PLUGIN: lib/writing_plugin.cc
#include <dlfcn.h>
#include <pthread.h>

#include "invisible.h"

int value;

void* Worker(void* path) {
  void* plugin = dlopen(static_cast<char*>(path), RTLD_NOW);
  if (plugin == nullptr) abort();
  reinterpret_cast<void (*)(int*)>(dlsym(plugin, "WriteTo"))(&value);
  if (dlclose(plugin) != 0) abort();
  Arrive();
  return nullptr;
}

int main(int, char** argv) {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, argv[1]);
  Await(1);
  value = 2;  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
