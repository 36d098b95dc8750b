// Which races become reports: not those that the user does not want to hear of, and of those that a reader would take for one only the
// first. The others are counted. A race is taken for one that has a report if
//
//   it is between the same accesses by the same ways (ReportBuilder::KeyOf), on another object perhaps; this needs no names
//   or a reader would take it for that one (report/same_race.h), by other ways
//
// Not safe for several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collect/report_builder.h"
#include "collect/suppressions.h"
#include "collect/wire_reader.h"
#include "report/race_report.h"

namespace redflag {

class Triage {
 public:
  // What is remembered of a report.
  struct Group {
    std::string fingerprint;
    std::string target;  // what the race is on, in words
    std::string pattern;
    Judgement::Rank rank{};
    uint64_t repeated = 0;
  };

  explicit Triage(ReportBuilder& builder) : builder_(builder) {}

  // What is wrong with them, in words.
  std::vector<std::string> OnSuppressions(const SuppressionsMessage& message);

  // A report, if the race is new and wanted. `count`: how often it happened.
  std::optional<RaceReport> Take(const RaceMessage& race, uint64_t count = 1);

  // Does the user not want to hear of it?
  bool Suppresses(const MisuseReport& report) { return suppressions_.Match(report); }

  // The race with this number (RaceMessage::sequence) was found again.
  void Repeat(uint64_t sequence, uint64_t count);

  // One for each report, in their order.
  const std::vector<Group>& groups() const { return groups_; }
  uint64_t repeated() const { return repeated_; }
  // Repetitions included.
  uint64_t suppressed() const { return suppressed_; }

  // By fingerprint: how often its races were found again. Those that were not are left out.
  std::map<std::string, uint64_t> RepeatedByFingerprint() const;

  const Suppressions& suppressions() const { return suppressions_; }
  bool wants_usage() const { return wants_usage_; }

 private:
  static constexpr size_t kUnwanted = SIZE_MAX;

  void Count(size_t group, uint64_t count);

  ReportBuilder& builder_;
  Suppressions suppressions_;
  bool wants_usage_ = false;
  std::vector<Group> groups_;
  std::map<std::string, size_t> by_key_;    // the group, or kUnwanted
  std::map<std::string, size_t> by_place_;  // the group
  std::map<uint64_t, size_t> by_sequence_;
  uint64_t repeated_ = 0;
  uint64_t suppressed_ = 0;
};

// The groups in words, the highest rank first; no more than `most` lines.
std::vector<std::string> DescribeGroups(const std::vector<Triage::Group>& groups, size_t most);

// Which rules hid how much, and which nothing.
std::vector<std::string> DescribeUsage(const Suppressions& suppressions);
// The first of these as ThreadSanitizer has it; empty if there is none.
std::string TsanUsage(const Suppressions& suppressions, uint32_t pid);

}  // namespace redflag
