// Races that the user does not want to hear of, in the format of ThreadSanitizer's suppression files:
//
//   # a comment
//   race:Pattern        a function, file or module of any frame of the accesses' stacks, or the variable
//   race_top:Pattern    the same of the innermost frames alone
//
// A pattern is found anywhere in a name; `*` stands for anything, `^` at the beginning and `$` at the end tie it there. Types of
// suppressions that are not about races (deadlock, mutex, thread, signal) are read and have no effect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/race_report.h"

namespace redflag {

class Suppressions {
 public:
  // What can't be read is answered in words, a line each.
  std::vector<std::string> Add(std::string_view text);

  bool Match(const RaceReport& report) const;

 private:
  struct Entry {
    std::string pattern;
    bool top_only;
  };

  static bool MatchesFrame(const Entry& entry, const Frame& frame);
  static bool MatchesStack(const Entry& entry, const AccessSite& site);

  std::vector<Entry> entries_;
};

// Does the pattern occur in the text?
bool MatchesPattern(std::string_view pattern, std::string_view text);

}  // namespace redflag
