// strict_called_from_lib=1: a program is ended if such a rule is about two libraries, or about one that is unloaded.
// OPTIONS: strict_called_from_lib=1:suppressions={here}/gives_up_library.txt
// PLUGIN: lib/plain_plugin.cc
// NORACE
#include <dlfcn.h>
#include <stdio.h>

#include "child.h"

// The rule names both.
INVISIBLE static void Copy(const char* from, const char* to) {
  FILE* in = fopen(from, "rb");
  FILE* out = fopen(to, "wb");
  if (in == nullptr || out == nullptr) abort();
  for (int c; (c = getc(in)) != EOF;) putc(c, out);
  fclose(in);
  if (fclose(out) != 0) abort();
}

void Load(const char* path) {
  if (dlopen(path, RTLD_NOW) == nullptr) abort();
}

int main(int, char** argv) {
  const char* path = argv[1];
  char folder[] = "/tmp/redflag-plugin-XXXXXX";
  if (mkdtemp(folder) == nullptr) abort();
  char second[128];
  snprintf(second, sizeof second, "%s/second_plain_plugin.so", folder);
  Copy(path, second);

  const Ended one = InChild([&] {
    Load(path);
    Load(path);  // again
    dlopen("/no/such_plain_plugin.so", RTLD_NOW);
  });
  if (one.status != 0 || one.Says("called_from_lib")) abort();

  const Ended two = InChild([&] {
    Load(path);
    Load(second);
  });
  if (two.status != 66 || !two.Says("called_from_lib suppression 'plain_plugin' is matched against 2 libraries: ") ||
      !two.Says(second)) {
    abort();
  }

  const Ended gone = InChild([&] {
    void* plugin = dlopen(path, RTLD_NOW);
    if (plugin == nullptr) abort();
    dlclose(plugin);
  });
  if (gone.status != 66 ||
      !gone.Says("that was matched against called_from_lib suppression 'plain_plugin' is unloaded"))
    abort();

  unlink(second);
  rmdir(folder);
}
