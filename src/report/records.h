// Saved reports: the lines of JSON that a running program leaves, or the document of `redflag analyze --json` (docs/json.md). Whatever
// is in a file, the good records are kept and the others told.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "report/misuse_report.h"
#include "report/race_report.h"
#include "report/static_warnings.h"

namespace redflag {

class Records {
 public:
  // All of `in`. `name` is for complaints.
  void Read(std::istream& in, const std::string& name);

  // A race that is here already (same_race.h) becomes a repetition of that.
  void Add(RaceReport report);

  // Says of each race whether these warn of it too.
  void Confirm(const StaticWarnings& warnings);

  // What is wrong besides races, each place once, in the order of reading.
  std::vector<MisuseReport> TakeMisuses();

  // What was read: one report for each race, and all that have no fingerprint; the highest rank first, of one rank those that somebody else
  // confirms, then in the order of reading.
  std::vector<RaceReport> TakeRanked();

  // What could not be read, a line each.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  void AddText(const std::string& text, const std::string& where, bool is_cut);
  void AddJson(const nlohmann::json& json, const std::string& where);
  void AddDocument(const nlohmann::json& results, const std::string& where);
  void AddSummary(const nlohmann::json& summary);
  void AddMisuse(const nlohmann::json& json, const std::string& where);
  static void Merge(RaceReport& known, RaceReport report);
  void Complain(const std::string& where, const std::string& what);

  std::vector<RaceReport> reports_;
  std::vector<MisuseReport> misuses_;
  std::set<std::string, std::less<>> misuse_keys_;
  std::map<std::string, size_t, std::less<>> by_key_;
  std::map<std::string, size_t, std::less<>> by_fingerprint_;  // the first that has it
  std::vector<std::string> complaints_;
  uint64_t left_out_ = 0;  // complaints of the file that is being read
};

}  // namespace redflag
