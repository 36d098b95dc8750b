// HistoryEntry: one access, as the histories of cells remember it.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "clocks/epoch.h"
#include "events/access.h"
#include "events/race_record.h"

namespace redflag {

// One remembered access. `bytes` are those for which it still counts; none: the entry is empty.
struct HistoryEntry {
  Epoch epoch = kNoEpoch;
  ContextId context = kNoContext;
  LocksetId locks = kEmptyLockset;
  ByteMask bytes = kNoBytes;
  AccessKind kind{};
  AccessOrigin origin{};

  bool SameAccess(const HistoryEntry& other) const {
    return epoch == other.epoch && kind == other.kind && context == other.context && locks == other.locks &&
           origin == other.origin;
  }
};
static_assert(sizeof(HistoryEntry) == 24);

// As it goes into a race record: the part of it that lies in `bytes`.
inline AccessRecord RecordOf(Tid thread, const HistoryEntry& entry, ByteMask bytes) {
  return AccessRecord{.thread = thread,
                      .context = entry.context,
                      .locks = entry.locks,
                      .bytes = entry.bytes & bytes,
                      .kind = entry.kind,
                      .origin = entry.origin,
                      .label = Raw(entry.epoch)};
}

}  // namespace redflag
