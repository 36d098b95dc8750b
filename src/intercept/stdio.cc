// Streams: which memory of the program the calls read and write. A stream has a lock of its own, inside libc, which orders nothing that a
// program may rely on, and what goes through its buffer reaches the file at a time of its choosing: no order is told.
#include <stdio.h>

#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

size_t Length(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

void TellText(hooks::Pc pc, const char* text) {
  if (text != nullptr && hooks::Active()) hooks::Read(pc, text, Length(text) + 1);
}

}  // namespace

#define REDFLAG_OPEN(name)                                             \
  REDFLAG_INTERCEPT(FILE*, name, const char* path, const char* mode) { \
    TellText(REDFLAG_CALLER, path);                                    \
    TellText(REDFLAG_CALLER, mode);                                    \
    return real::name(path, mode);                                     \
  }
REDFLAG_OPEN(fopen)
REDFLAG_OPEN(fopen64)
#undef REDFLAG_OPEN

REDFLAG_INTERCEPT(int, puts, const char* text) {
  TellText(REDFLAG_CALLER, text);
  return real::puts(text);
}

REDFLAG_INTERCEPT(int, fputs, const char* text, FILE* stream) {
  TellText(REDFLAG_CALLER, text);
  return real::fputs(text, stream);
}

REDFLAG_INTERCEPT(size_t, fwrite, const void* from, size_t size, size_t count, FILE* stream) {
  if (size * count != 0 && hooks::Active()) hooks::Read(REDFLAG_CALLER, from, size * count);
  return real::fwrite(from, size, count, stream);
}

REDFLAG_INTERCEPT(size_t, fread, void* to, size_t size, size_t count, FILE* stream) {
  const size_t came = real::fread(to, size, count, stream);
  if (came * size != 0 && hooks::Active()) hooks::Write(REDFLAG_CALLER, to, came * size);
  return came;
}

REDFLAG_INTERCEPT(char*, fgets, char* to, int room, FILE* stream) {
  char* line = real::fgets(to, room, stream);
  if (line != nullptr && hooks::Active()) hooks::Write(REDFLAG_CALLER, line, Length(line) + 1);
  return line;
}

// The GNU one, which need not use the buffer.
REDFLAG_INTERCEPT(char*, strerror_r, int error, char* buffer, size_t bytes) {
  char* text = real::strerror_r(error, buffer, bytes);
  if (text == buffer && bytes != 0 && hooks::Active()) hooks::Write(REDFLAG_CALLER, buffer, Length(text) + 1);
  return text;
}

}  // namespace redflag
