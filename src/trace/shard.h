// Shard: a part of memory. Engines that look at one trace as its shards each do all of the synchronization, and see the accesses to their own
// part of memory only; what they find, put together in the order of RaceRecord::part, is what one engine finds alone.
//
// That is so because a detector decides about an access from its cell and from what synchronization has made of its threads and objects.
// What else detectors keep, in the order of src/detectors/list.def:
//   hb, hybrid  nothing. The tables of sets of locks grow by what is asked of them: a LocksetId is a shard's own, the set behind it is not.
//               Offline, times, slots and entries of a cell are not limited; hybrid's limit is one of each byte.
//   goldilocks  the list of events and who owns what so far, shared by all addresses. Evaluating it sooner or later gives the same answer; how
//               much work the answer was depends on who asked before. So races are the same, and the rules that count work
//               (D::IsEffort()) are not: shards together may have more or less of it than one engine.
//   fast        who touched a line of 64 bytes first: no unit of memory is smaller than that.
//   racetrack   cells of objects. All shards keep the same objects, each looks at those that begin in its part. Sets of threads are interned,
//               never limited.
//   lockset     nothing.
//   null        nothing.
// Limits of the engine: stamps of freed memory (CellMap::kMaxFreedRanges) are the same in all shards; ObjectMap::kMaxFreedGranules is one of
// each free.
#pragma once

#include <cstdint>

#include "base/hash_map.h"
#include "base/ids.h"
#include "events/event.h"

namespace redflag {

// The unit in which memory is dealt out, for detectors that keep a cell for each granule.
inline constexpr uint64_t kShardBytes = 64;

struct Shard {
  uint32_t index = 0;
  uint32_t count = 1;

  // It counts what all of them do.
  bool IsFirst() const { return index == 0; }

  bool Owns(Addr addr) const { return OwnsUnit(Raw(addr) / kShardBytes); }
  bool OwnsObject(Addr begin) const { return OwnsUnit(Raw(begin)); }
  bool OwnsUnit(uint64_t unit) const { return count == 1 || OwnerOf(unit, count) == index; }
  // The index, of so many.
  static uint32_t OwnerOf(uint64_t unit, uint32_t count) {
    return static_cast<uint32_t>((HashKey(unit) >> 32) * count >> 32);
  }
};

// Which events of a trace an engine needs to see that looks at one shard: all but plain accesses to memory of others.
class ShardFilter {
 public:
  explicit ShardFilter(Shard shard) : shard_(shard) {}

  // To be asked of each, in order. Whose an access is cannot be foreseen, so nothing jumps here.
  [[gnu::always_inline]] bool Concerns(const Event& event) {
    const uint64_t first = Raw(event.addr) / kShardBytes;
    const uint64_t last = (Raw(event.addr) + event.size - 1) / kShardBytes;
    const int is_access = event.kind <= EventKind::kWrite ? 1 : 0;
    const int is_of_one = first == last ? 1 : 0;
    const int is_others = Shard::OwnerOf(first, shard_.count) != shard_.index ? 1 : 0;
    if (event.kind == EventKind::kPublish) [[unlikely]]
      all_ = 1;  // who accesses it synchronizes
    return (all_ | ((is_access & is_of_one & is_others) ^ 1)) != 0;
  }

 private:
  Shard shard_;
  int all_ = 0;
};

}  // namespace redflag
