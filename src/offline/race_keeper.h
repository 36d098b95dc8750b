// RaceKeeper: what of the races of a recording is kept, and what reports will need to know of the program at that moment. A recording may have
// millions of races in one place of the code; of those that look the same the first is kept, and how many there were.
//
// One thread, host side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "events/event.h"
#include "events/race_record.h"
#include "offline/analysis.h"

namespace redflag {

class RaceKeeper {
 public:
  // Different races beyond this many are counted, and not kept.
  static constexpr size_t kMaxKept = size_t{1} << 16;

  // Of every event but plain accesses, after the races that it completes.
  void Note(const Event& event);

  // A race that this event completes.
  void Keep(const RaceRecord& race, const Event& event);

  // Fills what is of recordings in the analysis, and its races. `locks`: what a LocksetId stands for.
  using LocksOf = std::function<std::vector<HeldLock>(LocksetId)>;
  void Finish(const std::vector<RecordedContext>& contexts, const LocksOf& locks, Analysis& analysis);

 private:
  struct Held {
    SyncId name{};
    RecordedRace::Lock lock;
    uint32_t depth = 0;
  };
  struct LockFacts {
    Addr addr{};
    std::vector<ContextId> taken_at;  // where it was ever taken
  };

  void NoteLock(const Event& event);
  void NoteUnlock(const Event& event);
  void NoteGone(Addr addr, uint64_t size);
  std::optional<RecordedRace::Block> BlockOf(Addr addr) const;
  std::vector<RecordedRace::Lock> LocksAt(const std::vector<HeldLock>& held, ContextId context,
                                          const std::vector<RecordedContext>& contexts) const;

  std::unordered_map<Tid, std::vector<Held>> held_;  // in the order in which they were taken
  std::unordered_map<SyncId, LockFacts> locks_;
  std::map<Addr, RecordedRace::Block> blocks_;  // alive
  std::map<Tid, RecordedFork> forks_;
  std::unordered_map<std::string, size_t> kept_;  // index into races_
  std::vector<RaceRecord> races_;
  std::vector<RecordedRace> recorded_;
  uint64_t found_ = 0;
};

// The same for races of which one is kept.
std::string LooksOf(const RaceRecord& race, const RecordedRace& recorded);

// The contexts that the analysis names, with their callers, from a table of all.
void TakeContexts(const std::vector<RecordedContext>& all, Analysis& analysis);

}  // namespace redflag
