// A library that is loaded while threads run, and races with itself.
// PLUGIN: lib/plugin.cc
// FLAGS: -ldl
#include <dlfcn.h>
#include <pthread.h>

#include "invisible.h"

void* Worker(void* function) {
  reinterpret_cast<void (*)(int)>(function)(1);
  Arrive();
  return nullptr;
}

int main(int, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW);
  if (plugin == nullptr) abort();
  void* function = dlsym(plugin, "PluginWrite");
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, function);
  Await(1);
  reinterpret_cast<void (*)(int)>(function)(2);
  pthread_join(thread, nullptr);
  dlclose(plugin);
}
