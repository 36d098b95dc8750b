// One rule of a suppression file, and how it is read. The grammar, in docs/suppressions.md for users:
//
//   TYPE:PATTERN [until=YYYY-MM-DD]
//
// A pattern is found anywhere in a name; `*` stands for anything, `^` at the beginning and `$` at the end tie it there. `race` and
// `race_top` take several, for frames that follow each other, the innermost first: `race:Put <- Fill <- ... <- main`, where `...` is any
// number of frames.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace redflag {

using Date = std::chrono::year_month_day;

std::optional<Date> ParseDate(std::string_view text);
std::string FormatDate(Date date);
Date Today();

struct SuppressionRule {
  enum class Type : uint8_t {
    kRace,           // frames of a stack of the race; with one pattern also the variable
    kRaceTop,        // the same, beginning at the innermost frame
    kFingerprint,    // of the report, whole
    kVariable,       // RaceTrack 3.7: a field ...
    kFunction,       // ... a method: the innermost of the user's own functions ...
    kType,           // ... a class: of which that is a member
    kFunctionTree,   // a function, and what it calls
    kSource,         // the file of the innermost of the user's own functions
    kObject,         // the module of the innermost frame
    kCalledFromLib,  // the same
    kSpecial,        // a variable whose races are expected: demoted, not hidden
    kLock,           // a function that takes a lock of the program's own making ...
    kReadLock,       // ... together with readers
    kTryLock,        // ... or fails to
    kTryReadLock,
    kUnlock,    // ... gives it back
    kMutex,     // not of races, but of misuse: a frame of its stack
    kThread,    // likewise: of the creation of a thread that nobody waits for
    kSignal,    // likewise: of a handler
    kDeadlock,  // likewise: of a thread that takes locks in another order than others
  };

  Type type{};
  std::vector<std::string> patterns;  // several: frames, the innermost first
  std::optional<Date> until;          // the last day on which it holds
  std::string text;                   // as it was written
  uint64_t matches = 0;
};

// Are rules of this type about code, rather than about races: can they be applied in the program (collect/marked_code.h)?
bool IsAboutCode(SuppressionRule::Type type);
// Of those: is it no more than a suppression that saves work? Otherwise it hides no race.
bool IsAboutLocks(SuppressionRule::Type type);

// Of a line that is neither empty nor a comment. The error is in words.
std::variant<SuppressionRule, std::string> ParseSuppression(std::string_view line);

// Without spaces and carriage returns at both ends.
std::string_view Trimmed(std::string_view text);

// Does the pattern occur in the text?
bool MatchesPattern(std::string_view pattern, std::string_view text);

}  // namespace redflag
