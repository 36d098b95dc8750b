#include <string.h>

volatile size_t copied = 32;

extern "C" void Copy(char* to, const char* from) {
  memcpy(to, from, copied);  // RACE(library) CHAIN(library): Copy < main
}
