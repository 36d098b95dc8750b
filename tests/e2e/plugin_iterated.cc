// One thread loads a library, another one walks through all that are loaded and reads their names, which the dynamic linker keeps on the heap and
// protects by a lock of its own.
// PLUGIN: lib/plain_plugin.cc
// FLAGS: -ldl
// NORACE
#include <dlfcn.h>
#include <link.h>

#include <thread>

#include "invisible.h"

int main(int, char** argv) {
  std::thread walker([] {
    Await(1);
    int named = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* count) {
          if (info->dlpi_name[0] != '\0') ++*static_cast<int*>(count);
          return 0;
        },
        &named);
    if (named < 2) abort();
    Arrive();
  });
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) abort();
  Arrive();
  Await(2);
  dlclose(library);
  walker.join();
}
