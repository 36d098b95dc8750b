// Verifier: do the races that the analysis finds agree with those that were told while the program ran (EventKind::kTold)? A race is told by
// the thread that completed it, before it does anything else.
//
// One thread, host side.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "events/event.h"
#include "events/race_record.h"
#include "offline/analysis.h"

namespace redflag {

// In order of events, and no more than are shown.
void SortExamples(Verification& verification);

class Verifier {
 public:
  explicit Verifier(Shard shard) : shard_(shard) {}

  // Every event, before it is looked at.
  void OnEvent(const Event& event, uint64_t index);
  // A race that the current event completes.
  void OnRace(const RaceRecord& race);
  // There are no more.
  Verification Finish();

 private:
  struct Found {
    Addr granule{};
    ByteMask bytes{};
  };
  struct Acting {
    uint64_t event = 0;
    ContextId context = kNoContext;
    std::vector<Found> untold;  // of its latest event
  };

  void OnTold(const Event& told);
  void Miss(const Acting& thread, Tid tid, Addr granule, ByteMask bytes, bool online);
  void Flush(Acting& thread, Tid tid);

  Shard shard_;
  std::unordered_map<Tid, Acting> threads_;
  Verification result_;
};

}  // namespace redflag
