// What the user's rules say of code (docs/suppressions.md): which of it is not watched, and which takes and gives back locks that the program
// makes for itself. The host side finds the addresses (collect/marked_code.h) and writes them into a file; the program maps that.
//
//   [ MarkedCodeHeader ][ MarkedRange ]... of code, then of modules; each in order, without overlaps
//
// Plain data, in-process rules.
#pragma once

#include <cstdint>

namespace redflag {

enum class CodeMark : uint32_t {
  kIgnored = 1,         // accesses here are not watched
  kIgnoredTree = 2,     // nor those of anything that is called from here
  kLibrary = 4,         // not the user's own code: what it does, its caller does
  kTakesLock = 8,       // in a function that returns when the thread has a lock ...
  kForReading = 16,     // ... together with readers
  kMayFail = 32,        // ... or has not
  kGivesBackLock = 64,  // in a function that gives one back
};

constexpr uint32_t Raw(CodeMark mark) { return static_cast<uint32_t>(mark); }
constexpr CodeMark operator|(CodeMark a, CodeMark b) { return CodeMark{Raw(a) | Raw(b)}; }
constexpr bool Has(uint32_t marks, CodeMark mark) { return (marks & Raw(mark)) != 0; }

inline constexpr CodeMark kAnyLockMark =
    CodeMark::kTakesLock | CodeMark::kForReading | CodeMark::kMayFail | CodeMark::kGivesBackLock;

struct MarkedRange {
  uint64_t begin, end;
  uint32_t marks;     // a set of CodeMark
  uint32_t instance;  // of a function of locks: which one, inlined somewhere or by itself; from 1
};

struct MarkedCodeHeader {
  static constexpr uint64_t kMagic = 0x316b72616d646572;  // "redmark1"

  uint64_t magic;
  uint64_t ranges;
  uint64_t modules;    // that were looked at: their code has these marks and no others
  uint64_t all_marks;  // of all ranges together
};

}  // namespace redflag
