// The patterns that races come in, and how one is recognised: from what was observed of the race, and from the source lines of its
// accesses where they can be read. docs/ranking.md lists them with where they come from: ThreadSanitizer 6.3, RaceTrack Table 1,
// DataCollider 3.3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/race_report.h"
#include "report/source.h"

namespace redflag {

enum class Harm : uint8_t {
  kHarmful,  // such races are bugs
  kUnclear,
  kBenign,  // such races are usually meant: demoted, never dropped
};

struct Pattern {
  std::string_view name;
  Harm harm;
  std::string_view reason;      // why it is thought to be harmful or harmless
  std::string_view suggestion;  // in one line
};

// The most telling pattern that fits. Null: none.
const Pattern* FindPattern(const RaceReport& report, SourceText& source);

// By name, for tests and for rules of the user. Null: there is none.
const Pattern* PatternByName(std::string_view name);

}  // namespace redflag
