// Races that the user does not want to hear of: rules from files and from the program (collect/suppression_rule.h), what they match, and
// which of them were of use. For users: docs/suppressions.md.
//
// Not safe for several threads at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collect/suppression_rule.h"
#include "report/misuse_report.h"
#include "report/race_report.h"

namespace redflag {

// Does a rule that is about code name this function, its class, its file or its module? `frame` by itself, whoever calls it.
bool MatchesCode(const SuppressionRule& rule, const Frame& frame);

class Suppressions {
 public:
  explicit Suppressions(Date today = Today()) : today_(today) {}

  // What can't be read, has expired or has no effect is answered in words, a line each. `source`: the name of the file, for those.
  std::vector<std::string> Add(std::string_view text, const std::string& source = "");
  // The same for files, their names with semicolons in between.
  std::vector<std::string> AddFiles(std::string_view names);

  bool Match(const RaceReport& report);
  bool Match(const MisuseReport& report);

  // Is the race unwanted for the modules alone that its code is in? Needs no names. For each access: the modules of its frames, the
  // innermost first.
  bool MatchModules(const std::vector<std::vector<std::string>>& modules);

  // The rule that says that races on this variable are expected; null: none.
  const SuppressionRule* MatchSpecial(const RaceReport& report);

  // In the order of the files. Expired rules are not among them.
  const std::vector<SuppressionRule>& rules() const { return rules_; }

 private:
  Date today_;
  std::vector<SuppressionRule> rules_;
};

}  // namespace redflag
