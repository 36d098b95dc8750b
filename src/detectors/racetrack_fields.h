// The fields of a refined object (RT 2.4.2, Figure 5: the chunk). A field is a byte; bytes that have always been touched
// together share a state. Only granules that were touched since the refinement are there, so a large array costs what is
// used of it; an object of one granule costs no table.
//
// Arena memory. Not thread-safe: the cell of the object is locked.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "clocks/byte_groups.h"
#include "clocks/epoch.h"
#include "detectors/last_accesses.h"
#include "detectors/racetrack_machine.h"
#include "detectors/racetrack_state.h"
#include "detectors/racetrack_threadset.h"

namespace redflag {

// An access that a report may show. RT keeps none, and shows a second stack only if the race comes again (3.6).
struct TrackWitness : SeenAccess {
  Epoch label{};  // tells whether it is ordered before somebody
  bool operator==(const TrackWitness&) const = default;
};

struct TrackField {
  TrackState state;
  LastAccesses<TrackWitness> last;
  bool operator==(const TrackField&) const = default;
};

template <class Mem>
class TrackFields {
 public:
  using Groups = ByteGroups<TrackField, Mem>;

  explicit TrackFields(Arena<Mem>& arena) : rest_(arena) {}

  Groups& At(Addr granule) {
    if (!is_used_) first_granule_ = granule;
    is_used_ = true;
    return granule == first_granule_ ? first_ : rest_.Insert(Raw(granule));
  }
  // Null: nothing of it was touched.
  const Groups* Find(Addr granule) {
    if (is_used_ && granule == first_granule_) return &first_;
    return rest_.Find(Raw(granule));
  }
  template <class Visitor>
  void ForEach(Visitor visit) {
    visit(first_);
    rest_.ForEach([&](uint64_t, Groups& groups) { visit(groups); });
  }

  // Fields in Shared-Modify2 are users of their threadsets: for ByteGroups.
  struct Hooks {
    ThreadsetTable<Mem>& threadsets;
    void OnCopy(TrackField& field) {
      if (field.state.phase() == TrackState::Phase::kSharedModify2) threadsets.Keep(ThreadsetOf(field.state));
    }
    void OnDrop(TrackField& field) {
      if (field.state.phase() == TrackState::Phase::kSharedModify2) threadsets.Drop(ThreadsetOf(field.state));
    }
  };

 private:
  bool is_used_ = false;
  Addr first_granule_{};
  Groups first_{};
  HashMap<Groups, Mem> rest_;  // by granule
};

}  // namespace redflag
