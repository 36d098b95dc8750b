// Where dlopen looks depends on who calls it: $ORIGIN is the folder of the program, in which the plugin is too, and not that of the runtime.
// PLUGIN: lib/plain_plugin.cc
// NORACE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "invisible.h"

int main(int, char** argv) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "$ORIGIN/%s", strrchr(argv[1], '/') + 1);
  if (dlopen(path, RTLD_NOW) == nullptr) abort();
}
