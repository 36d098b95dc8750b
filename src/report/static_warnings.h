// Warnings of other tools that look at source, such as clang's -Wthread-safety, Infer or CodeQL: a race in a place that one of them warns of
// deserves more attention. Two forms are read, SARIF and the lines that compilers print:
//
//   src/cache.cc:17:5: warning: writing variable 'size_' requires holding mutex 'mutex_' exclusively [-Wthread-safety-analysis]
//
// Only warnings that are about threads count: that say so in the name of their rule or in their text.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/race_report.h"

namespace redflag {

class StaticWarnings {
 public:
  // All of `in`. What is wrong with it, in words; empty: nothing. `name` is for that.
  std::string Read(std::istream& in, const std::string& name);

  // Says so in the report (confirmed_by) if a line of its accesses is warned of.
  void Confirm(RaceReport& report) const;

  size_t size() const { return size_; }

 private:
  struct Warning {
    std::string file;
    std::string rule;
  };

  void ReadLines(std::string_view text);
  bool ReadSarif(const nlohmann::json& sarif);

  void Add(std::string_view file, uint32_t line, std::string rule);

  std::map<uint32_t, std::vector<Warning>> by_line_;
  size_t size_ = 0;
};

}  // namespace redflag
