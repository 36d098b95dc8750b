// A library is unloaded, and loaded again by another thread after a join: its data starts anew.
// PLUGIN: lib/plain_plugin.cc
// NORACE
#include <dlfcn.h>
#include <pthread.h>

#include "invisible.h"

void* Worker(void* path) {
  void* plugin = dlopen(static_cast<char*>(path), RTLD_NOW);
  if (plugin == nullptr) abort();
  reinterpret_cast<void (*)(int)>(dlsym(plugin, "PlainWrite"))(1);
  dlclose(plugin);
  Arrive();
  return nullptr;
}

int main(int, char** argv) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    pthread_create(&threads[i], nullptr, Worker, argv[1]);
    Await(i + 1);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
