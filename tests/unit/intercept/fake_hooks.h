// A runtime that detects nothing and remembers everything: what the interceptors told, as a list. It is linked with
// src/intercept/ into a shared library, as the real one is; the tests are programs that use it.
//
// In-process rules, but for the size of its tables.
#pragma once

#include <cstddef>
#include <cstdint>

#define REDFLAG_FAKE_API [[gnu::visibility("default")]]

namespace redflag::fake {

struct Record {
  int thread;  // 0: not created since Start; 1..: in order of creation since Start
  const char* verb;
  const void* object;
  char detail[48];
  uintptr_t pc;
};

// Remembers from here on; forgets what was before.
REDFLAG_FAKE_API void Start();
REDFLAG_FAKE_API void Stop();
REDFLAG_FAKE_API size_t Count();
REDFLAG_FAKE_API const Record& At(size_t index);

// What hooks::Active answers; true from the beginning.
REDFLAG_FAKE_API void SetActive(bool active);
// What hooks::WatchesLibraries answers; false from the beginning.
REDFLAG_FAKE_API void SetWatchesLibraries(bool watches);
// What hooks::Exiting answers; if never called, the status that it is given.
REDFLAG_FAKE_API void ExitWith(int status);

}  // namespace redflag::fake
