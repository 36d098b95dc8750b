// RaceRecord: what a detector found, as plain bytes, on its way to the host side. No text and no pointers:
// ids and addresses only; the host side turns them into names.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "events/access.h"

namespace redflag {

// What a detector says of the accesses that it reports.
enum class Claim : uint8_t {
  kUnordered,            // nothing in this run orders them
  kUnorderedButByLocks,  // nothing but locks orders them, and those may be taken the other way in the next run
  kUnprotected,          // no lock protects them, whatever orders them
  kSimultaneous,         // they were seen to happen at the same time
};

// One of the accesses of a race.
struct AccessRecord {
  Tid thread = kNoThread;
  ContextId context = kNoContext;
  LocksetId locks = kEmptyLockset;  // held at the access, as elements of HeldLock (clocks/lockset.h)
  ByteMask bytes{};                 // of RaceRecord::granule
  AccessKind kind{};
  AccessOrigin origin = AccessOrigin::kProgram;
  uint8_t reserved = 0;
  uint64_t label = 0;  // when it happened, as the detector labels accesses (hb: the epoch); 0: it does not
};
static_assert(sizeof(AccessRecord) == 24);

// A race: the access that completed it, and earlier accesses that conflict with it, the most recent knowledge
// of each thread first-hand. `bytes` are those on which this is the first race.
struct RaceRecord {
  static constexpr uint32_t kMaxEarlier = 16;

  Addr granule{};
  uint64_t granules = 1;  // how many consecutive granules this holds for alike (a free of untouched memory)
  uint64_t event = 0;     // which event of the stream completed the race (offline; a sequence number online)
  AccessRecord access;
  ByteMask bytes{};
  uint8_t reserved[3] = {};
  uint32_t earlier_count = 0;  // how many are stored
  uint32_t earlier_total = 0;  // how many were found; more than stored only beyond kMaxEarlier
  uint32_t part = 0;  // of the event, if it has several: a transaction's, say. For the order of records (offline)
  AccessRecord earlier[kMaxEarlier];

  // Starts a record of a race that this access completes; `mine` is the access as it will be shown.
  void Begin(const Access& completing, const AccessRecord& mine) {
    granule = completing.granule;
    granules = completing.granules;
    access = mine;
    bytes = kNoBytes;
    earlier_count = earlier_total = 0;
  }

  void AddEarlier(const AccessRecord& record) {
    ++earlier_total;
    if (earlier_count < kMaxEarlier) earlier[earlier_count++] = record;
    bytes = bytes | record.bytes;
  }
};

}  // namespace redflag
