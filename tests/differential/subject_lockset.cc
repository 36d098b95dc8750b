// lockset reports exactly what a transcription of Eraser's rules reports, names another side that can be meant, and stands
// in the relation to happens-before that docs/algorithms/lockset.md proves.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/mem.h"
#include "detectors/hb.h"
#include "detectors/lockset.h"
#include "tests/differential/race_records.h"
#include "tests/differential/reference_lockset.h"
#include "tests/differential/subject.h"

namespace redflag {
namespace {

// Does the thread of this event hold a lock for writing?
bool HoldsForWriting(const Trace& trace, uint64_t index) {
  std::map<uint32_t, int> held;
  for (uint64_t i = 0; i < index; ++i) {
    const Event& event = trace.events[i];
    if (event.thread != trace.events[index].thread || event.mode != LockMode::kExclusive) continue;
    if (event.kind == EventKind::kLock) ++held[event.object];
    if (event.kind == EventKind::kUnlock && --held[event.object] == 0) held.erase(event.object);
  }
  return !held.empty();
}

// A race that is completed by a plain write without locks, with an access that lockset looks at, is reported.
std::string CheckUnprotectedWrites(const Trace& trace, const FirstReports& lockset) {
  FirstReports expected;
  for (const RaceRecord& race : RecordsOf<Hb<PlainMem>>(trace)) {
    if (trace.events[race.event].kind != EventKind::kWrite || HoldsForWriting(trace, race.event)) continue;
    ForEachByteOf(race, [&](uint64_t byte, ByteMask mask) {
      for (uint32_t i = 0; i < race.earlier_count; ++i) {
        const AccessRecord& earlier = race.earlier[i];
        const bool looked_at =
            !IsAtomic(earlier.kind) && Any(earlier.bytes & mask) &&
            (earlier.origin == AccessOrigin::kProgram || earlier.origin == AccessOrigin::kTransaction);
        if (looked_at) expected.try_emplace({byte, LifetimeAt(trace, race.event, byte)}, race.event);
      }
    });
  }
  return CheckNoLater(expected, lockset, "hb's race by an unprotected write is lockset's");
}

std::optional<std::string> Compare(const Trace& trace) {
  std::string complaint;
  const auto races = RecordsOf<Lockset<PlainMem>>(trace);
  const auto places = PlacesOf(races, complaint);
  complaint += Difference(places, LocksetReference(trace).Run(), "lockset");
  complaint += CheckOtherSides(trace, races);
  complaint += CheckUnprotectedWrites(trace, FirstReportsOf(trace, places));
  return NothingOr(complaint);
}

const RegisterSubject kLockset{"lockset", Compare};

}  // namespace
}  // namespace redflag
