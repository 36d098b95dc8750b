// From a race as the program tells it (numbers and addresses) to one in names and words. Remembers what the messages before it
// said of modules and threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/modules.h"
#include "collect/symbolizer.h"
#include "collect/wire_reader.h"
#include "report/evidence.h"
#include "report/misuse_report.h"
#include "report/race_report.h"
#include "report/source.h"

namespace redflag {

class ReportBuilder {
 public:
  explicit ReportBuilder(std::string detector, Claim claim = Claim::kUnordered)
      : detector_(std::move(detector)), claim_(claim) {}

  void OnProcess(ProcessMessage process) { process_ = std::move(process); }
  void OnModule(const ModuleMessage& module) { modules_.Add(module); }
  void OnThread(ThreadMessage thread) { threads_.insert_or_assign(thread.id, std::move(thread)); }

  void OnTag(TagMessage tag) { tags_.insert_or_assign(tag.number, std::move(tag)); }

  // Of the race that comes next.
  void OnTolerated(ToleratedMessage tolerated) { tolerated_ = std::move(tolerated); }

  // From now on reports have the ancestors of threads, too.
  void NameAncestors() { names_ancestors_ = true; }

  RaceReport Build(const RaceMessage& race);
  MisuseReport Build(const MisuseMessage& misuse);

  // What was seen of its variable since.
  void AddWatched(const WatchedMessage& watched, RaceReport& report);

  // The same for races that a reader would take for the same: the same accesses by the same ways to the same variable, no matter
  // which thread was first, and where in memory the variable was.
  std::string KeyOf(const RaceMessage& race);

  // The files that hold the code of its accesses: for each access, the innermost frame first. Reads none of them.
  std::vector<std::vector<std::string>> ModulesOf(const RaceMessage& race) const;

  const ProcessMessage& process() const { return process_; }

 private:
  // A byte of the data of a module, and the variable that it belongs to.
  struct Datum {
    std::string module;
    uint64_t offset = 0;  // in the module
    std::optional<SymbolFile::Variable> variable;
  };

  std::optional<Datum> FindDatum(uint64_t address);
  std::vector<Frame> StackOf(const RawStack& stack);
  std::vector<Frame> FrameOf(uint64_t place);
  std::vector<Frame> OwnFrameOf(const RawStack& stack);
  void AddTolerated(const RaceMessage& race, RaceReport& report) const;
  void AddEvidence(const RaceMessage& race, RaceReport& report);
  OwnersByName NamesOf(const RawOwners& owners, const RaceReport& report);
  static void AddObserved(const RawObserved& observed, RaceReport& report);
  static void JudgeObserved(const RawObserved& observed, RaceReport& report);
  AccessSite SiteOf(const RawAccess& access);
  std::string LockName(uint64_t address);
  void FillPlace(const RaceMessage& race, RaceReport& report);
  std::optional<uint64_t> FrameBelow(const RawCalls& calls, const RawCalls::Return& call);
  void NameLocal(const RaceMessage& race, RaceReport& report);
  static void NameDescriptor(const RaceMessage& race, RaceReport& report);
  void NameMember(const RaceMessage& race, RaceReport& report);
  void NameThreadLocal(const RaceMessage& race, RaceReport& report);
  ThreadInfo InfoOf(uint32_t thread);
  // Behind these, those that created them, and so on, but for the first one, which nobody created.
  void AddAncestors(std::vector<uint32_t>& threads) const;

  std::string detector_;
  Claim claim_;
  bool names_ancestors_ = false;
  ProcessMessage process_;
  std::map<uint32_t, ThreadMessage> threads_;
  std::map<uint32_t, TagMessage> tags_;
  std::optional<ToleratedMessage> tolerated_;
  Modules modules_;
  Symbolizer symbolizer_;
  SourceFiles sources_;
};

// "main", "T1", ...: in order of creation.
std::string ThreadName(uint32_t thread);

}  // namespace redflag
