// REDFLAG_CHECK: an invariant of our own code that must hold in release builds too. A failed check prints one
// line to standard error by a raw system call and traps: no allocation, no stdio, callable in-process from
// any thread. It never judges user input: bad input is an error message of the host side.
#pragma once

namespace redflag {

[[noreturn, gnu::cold, gnu::noinline]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace redflag

#define REDFLAG_CHECK(condition)                                                                   \
  do {                                                                                             \
    if (__builtin_expect(!(condition), 0)) ::redflag::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (0)
