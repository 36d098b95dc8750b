// Functions on bytes and strings: which bytes each reads and writes, told before it does.
//
// A comparison or a search reads up to where the standard lets it stop, memcmp all it was given. Bytes past that are
// not read as far as the language knows, and another thread may write them.
//
// The compiler may put calls of memcpy and its kin anywhere, here as well: no function of this file may do by a loop of
// its own what its name says.
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {

REDFLAG_REAL(size_t, strlen, const char* text)
REDFLAG_REAL(size_t, strnlen, const char* text, size_t most)

namespace {

size_t Least(size_t a, size_t b) { return a < b ? a : b; }

// With the NUL; up to `most` bytes if there is none among them.
size_t SizeOf(const char* text) { return real::strlen(text) + 1; }
size_t SizeOf(const char* text, size_t most) { return Least(real::strnlen(text, most) + 1, most); }

void TellRead(hooks::Pc pc, const void* from, size_t bytes) {
  if (bytes != 0) hooks::Read(pc, from, bytes);
}

void TellWrite(hooks::Pc pc, void* to, size_t bytes) {
  if (bytes != 0) hooks::Write(pc, to, bytes);
}

void TellCopy(hooks::Pc pc, void* to, const void* from, size_t bytes) {
  if (bytes == 0 || !hooks::Active()) return;
  hooks::Read(pc, from, bytes);
  hooks::Write(pc, to, bytes);
}

void TellFill(hooks::Pc pc, void* to, size_t bytes) {
  if (bytes != 0 && hooks::Active()) hooks::Write(pc, to, bytes);
}

// Both up to and with the first difference, or the end.
void TellCompare(hooks::Pc pc, const char* a, const char* b, size_t most) {
  if (!hooks::Active()) return;
  size_t read = 0;
  while (read < most) {
    const char ours = a[read];
    const char theirs = b[read];
    ++read;
    if (ours != theirs || ours == '\0') break;
  }
  TellRead(pc, a, read);
  TellRead(pc, b, read);
}

// From `text` up to and with the byte that `found` points to, or `all` if there is none.
void TellSearch(hooks::Pc pc, const void* text, const void* found, size_t all) {
  TellRead(pc, text, found == nullptr ? all : static_cast<const char*>(found) - static_cast<const char*>(text) + 1);
}

void TellAppend(hooks::Pc pc, char* to, const char* from, size_t length, size_t read) {
  const size_t before = real::strlen(to);
  TellRead(pc, to, before);
  TellRead(pc, from, read);
  TellWrite(pc, to + before, length + 1);
}

}  // namespace

// ---- Copying and filling ----

REDFLAG_INTERCEPT(void*, memcpy, void* to, const void* from, size_t bytes) {
  TellCopy(REDFLAG_CALLER, to, from, bytes);
  return real::memcpy(to, from, bytes);
}

REDFLAG_INTERCEPT(void*, mempcpy, void* to, const void* from, size_t bytes) {
  TellCopy(REDFLAG_CALLER, to, from, bytes);
  return real::mempcpy(to, from, bytes);
}

REDFLAG_INTERCEPT(void*, memmove, void* to, const void* from, size_t bytes) {
  TellCopy(REDFLAG_CALLER, to, from, bytes);
  return real::memmove(to, from, bytes);
}

REDFLAG_EXPORT(void, bcopy, const void* from, void* to, size_t bytes) {
  TellCopy(REDFLAG_CALLER, to, from, bytes);
  real::memmove(to, from, bytes);
}

REDFLAG_INTERCEPT(void*, memset, void* to, int byte, size_t bytes) {
  TellFill(REDFLAG_CALLER, to, bytes);
  return real::memset(to, byte, bytes);
}

REDFLAG_EXPORT(void, bzero, void* to, size_t bytes) {
  TellFill(REDFLAG_CALLER, to, bytes);
  real::memset(to, 0, bytes);
}

// The names under which clang calls them from code compiled with -fsanitize=thread.
REDFLAG_EXPORT(void*, __tsan_memcpy, void* to, const void* from, size_t bytes) {
  TellCopy(REDFLAG_CALLER, to, from, bytes);
  return real::memcpy(to, from, bytes);
}

REDFLAG_EXPORT(void*, __tsan_memmove, void* to, const void* from, size_t bytes) {
  TellCopy(REDFLAG_CALLER, to, from, bytes);
  return real::memmove(to, from, bytes);
}

REDFLAG_EXPORT(void*, __tsan_memset, void* to, int byte, size_t bytes) {
  TellFill(REDFLAG_CALLER, to, bytes);
  return real::memset(to, byte, bytes);
}

// ---- Comparing and searching ----

REDFLAG_INTERCEPT(int, memcmp, const void* a, const void* b, size_t bytes) {
  if (bytes != 0 && hooks::Active()) {
    hooks::Read(REDFLAG_CALLER, a, bytes);
    hooks::Read(REDFLAG_CALLER, b, bytes);
  }
  return real::memcmp(a, b, bytes);
}

REDFLAG_INTERCEPT(void*, memchr, const void* text, int byte, size_t bytes) {
  void* found = real::memchr(text, byte, bytes);
  if (hooks::Active()) TellSearch(REDFLAG_CALLER, text, found, bytes);
  return found;
}

REDFLAG_EXPORT(size_t, strlen, const char* text) {
  const size_t length = real::strlen(text);
  if (hooks::Active()) hooks::Read(REDFLAG_CALLER, text, length + 1);
  return length;
}

REDFLAG_EXPORT(size_t, strnlen, const char* text, size_t most) {
  const size_t length = real::strnlen(text, most);
  if (hooks::Active()) TellRead(REDFLAG_CALLER, text, Least(length + 1, most));
  return length;
}

REDFLAG_INTERCEPT(int, strcmp, const char* a, const char* b) {
  TellCompare(REDFLAG_CALLER, a, b, SIZE_MAX);
  return real::strcmp(a, b);
}

REDFLAG_INTERCEPT(int, strncmp, const char* a, const char* b, size_t most) {
  TellCompare(REDFLAG_CALLER, a, b, most);
  return real::strncmp(a, b, most);
}

REDFLAG_INTERCEPT(char*, strchr, const char* text, int byte) {
  char* found = real::strchr(text, byte);
  if (hooks::Active()) TellSearch(REDFLAG_CALLER, text, found, found == nullptr ? SizeOf(text) : 0);
  return found;
}

REDFLAG_INTERCEPT(char*, strrchr, const char* text, int byte) {
  if (hooks::Active()) hooks::Read(REDFLAG_CALLER, text, SizeOf(text));
  return real::strrchr(text, byte);
}

// ---- Copying strings ----

REDFLAG_INTERCEPT(char*, strcpy, char* to, const char* from) {
  if (hooks::Active()) TellCopy(REDFLAG_CALLER, to, from, SizeOf(from));
  return real::strcpy(to, from);
}

REDFLAG_INTERCEPT(char*, stpcpy, char* to, const char* from) {
  if (hooks::Active()) TellCopy(REDFLAG_CALLER, to, from, SizeOf(from));
  return real::stpcpy(to, from);
}

REDFLAG_INTERCEPT(char*, strncpy, char* to, const char* from, size_t bytes) {
  if (hooks::Active()) {
    TellRead(REDFLAG_CALLER, from, SizeOf(from, bytes));
    TellWrite(REDFLAG_CALLER, to, bytes);  // what is left over is filled with zeros
  }
  return real::strncpy(to, from, bytes);
}

REDFLAG_INTERCEPT(char*, strcat, char* to, const char* from) {
  if (hooks::Active()) TellAppend(REDFLAG_CALLER, to, from, SizeOf(from) - 1, SizeOf(from));
  return real::strcat(to, from);
}

REDFLAG_INTERCEPT(char*, strncat, char* to, const char* from, size_t most) {
  if (hooks::Active()) TellAppend(REDFLAG_CALLER, to, from, real::strnlen(from, most), SizeOf(from, most));
  return real::strncat(to, from, most);
}

// The block, and that it was written, come through malloc.
REDFLAG_INTERCEPT(char*, strdup, const char* text) {
  if (hooks::Active()) hooks::Read(REDFLAG_CALLER, text, SizeOf(text));
  return real::strdup(text);
}

REDFLAG_INTERCEPT(char*, strndup, const char* text, size_t most) {
  if (hooks::Active()) TellRead(REDFLAG_CALLER, text, SizeOf(text, most));
  return real::strndup(text, most);
}

// ---- The same as the compiler calls them with _FORTIFY_SOURCE: `room` is the size of the object that `to` is in. If it is too small the
// program ends, so telling first does no harm. ----

#define REDFLAG_CHECKED_COPY(name)                                                        \
  REDFLAG_INTERCEPT(void*, name, void* to, const void* from, size_t bytes, size_t room) { \
    if (bytes <= room) TellCopy(REDFLAG_CALLER, to, from, bytes);                         \
    return real::name(to, from, bytes, room);                                             \
  }
REDFLAG_CHECKED_COPY(__memcpy_chk)
REDFLAG_CHECKED_COPY(__memmove_chk)
REDFLAG_CHECKED_COPY(__mempcpy_chk)
#undef REDFLAG_CHECKED_COPY

REDFLAG_INTERCEPT(void*, __memset_chk, void* to, int byte, size_t bytes, size_t room) {
  if (bytes <= room) TellFill(REDFLAG_CALLER, to, bytes);
  return real::__memset_chk(to, byte, bytes, room);
}

REDFLAG_INTERCEPT(void, __explicit_bzero_chk, void* to, size_t bytes, size_t room) {
  if (bytes <= room) TellFill(REDFLAG_CALLER, to, bytes);
  real::__explicit_bzero_chk(to, bytes, room);
}

#define REDFLAG_CHECKED_STRCPY(name)                                                               \
  REDFLAG_INTERCEPT(char*, name, char* to, const char* from, size_t room) {                        \
    if (hooks::Active() && SizeOf(from) <= room) TellCopy(REDFLAG_CALLER, to, from, SizeOf(from)); \
    return real::name(to, from, room);                                                             \
  }
REDFLAG_CHECKED_STRCPY(__strcpy_chk)
REDFLAG_CHECKED_STRCPY(__stpcpy_chk)
#undef REDFLAG_CHECKED_STRCPY

#define REDFLAG_CHECKED_STRNCPY(name)                                                     \
  REDFLAG_INTERCEPT(char*, name, char* to, const char* from, size_t bytes, size_t room) { \
    if (hooks::Active() && bytes <= room) {                                               \
      TellRead(REDFLAG_CALLER, from, SizeOf(from, bytes));                                \
      TellWrite(REDFLAG_CALLER, to, bytes);                                               \
    }                                                                                     \
    return real::name(to, from, bytes, room);                                             \
  }
REDFLAG_CHECKED_STRNCPY(__strncpy_chk)
REDFLAG_CHECKED_STRNCPY(__stpncpy_chk)
#undef REDFLAG_CHECKED_STRNCPY

REDFLAG_INTERCEPT(char*, __strcat_chk, char* to, const char* from, size_t room) {
  if (hooks::Active()) TellAppend(REDFLAG_CALLER, to, from, SizeOf(from) - 1, SizeOf(from));
  return real::__strcat_chk(to, from, room);
}

REDFLAG_INTERCEPT(char*, __strncat_chk, char* to, const char* from, size_t most, size_t room) {
  if (hooks::Active()) TellAppend(REDFLAG_CALLER, to, from, real::strnlen(from, most), SizeOf(from, most));
  return real::__strncat_chk(to, from, most, room);
}

// ---- Kin of those above ----

REDFLAG_INTERCEPT(char*, stpncpy, char* to, const char* from, size_t bytes) {
  if (hooks::Active()) {
    TellRead(REDFLAG_CALLER, from, SizeOf(from, bytes));
    TellWrite(REDFLAG_CALLER, to, bytes);
  }
  return real::stpncpy(to, from, bytes);
}

REDFLAG_INTERCEPT(void, explicit_bzero, void* to, size_t bytes) {
  TellFill(REDFLAG_CALLER, to, bytes);
  real::explicit_bzero(to, bytes);
}

REDFLAG_INTERCEPT(void*, memrchr, const void* text, int byte, size_t bytes) {
  if (hooks::Active()) TellRead(REDFLAG_CALLER, text, bytes);
  return real::memrchr(text, byte, bytes);
}

// A search may look at all of both.
REDFLAG_INTERCEPT(char*, strstr, const char* text, const char* part) {
  char* found = real::strstr(text, part);
  if (hooks::Active()) {
    const size_t size = SizeOf(part);
    TellRead(REDFLAG_CALLER, part, size);
    TellRead(REDFLAG_CALLER, text, found == nullptr ? SizeOf(text) : static_cast<size_t>(found - text) + size - 1);
  }
  return found;
}

}  // namespace redflag
