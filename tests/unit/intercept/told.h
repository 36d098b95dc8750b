// For the tests of src/intercept/: what a piece of code makes the interceptors tell.
//
//   EXPECT_EQ(Told({{&mutex, "m"}}, [&] { pthread_mutex_lock(&mutex); }), "Locked m exclusive 1");
//
// Events are separated by "; ". An object without a name is "?", no object is nothing. What libraries make the
// interceptors tell (libc allocates for a new thread, the unwinder compares strings) is left out; so an interceptor
// that does not say the place in the test program that called it is missed in its test.
#pragma once

#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <string>

#include "tests/unit/intercept/fake_hooks.h"

extern "C" char __executable_start[];
extern "C" char etext[];

namespace redflag {

using Names = std::map<const void*, std::string>;

inline constexpr int kEveryThread = -1;

inline bool IsInTheProgram(uintptr_t pc) {
  return pc - reinterpret_cast<uintptr_t>(__executable_start) < static_cast<uintptr_t>(etext - __executable_start);
}

// What the last recording holds, of one thread (numbered in order of creation, the others are 0).
inline std::string Recorded(const Names& names, int thread = kEveryThread) {
  std::string text;
  for (size_t i = 0; i < fake::Count(); ++i) {
    const fake::Record& record = fake::At(i);
    if (thread != kEveryThread && record.thread != thread) continue;
    if (record.pc != 0 && !IsInTheProgram(record.pc)) continue;
    if (!text.empty()) text += "; ";
    text += record.verb;
    if (record.object != nullptr) {
      auto name = names.find(record.object);
      text += name == names.end() ? " ?" : " " + name->second;
    }
    text += record.detail;
  }
  return text;
}

// `names` is looked at after the code has run, so the code can add to it.
template <class Code>
std::string ToldBy(int thread, const Names& names, Code code) {
  fake::Start();
  code();
  fake::Stop();
  return Recorded(names, thread);
}

template <class Code>
std::string Told(const Names& names, Code code) {
  return ToldBy(kEveryThread, names, code);
}

// Last in a function that a library calls: what it called before was no tail call, so it was called from the program.
inline void NoTailCall() { asm volatile(""); }

inline timespec Past() { return {.tv_sec = 1, .tv_nsec = 0}; }

inline timespec Soon(clockid_t clock = CLOCK_REALTIME) {
  timespec now;
  clock_gettime(clock, &now);
  now.tv_sec += 20;
  return now;
}

inline const void* Handle(unsigned long thread) { return reinterpret_cast<const void*>(thread); }

}  // namespace redflag
