// LastAccesses: the last access to something, and the last one by another thread than that. So whoever comes next finds the
// last access of a thread other than itself, if there was one. For detectors whose papers keep no accesses, only sets of
// locks and threads: a report needs another side to show.
//
// Plain data; all zeroes is "nothing seen". The owner locks.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "events/access.h"
#include "events/race_record.h"

namespace redflag {

struct SeenAccess {
  Tid thread{};
  ContextId context{};
  LocksetId locks{};
  AccessKind kind{};
  AccessOrigin origin{};
  bool seen = false;

  bool operator==(const SeenAccess&) const = default;

  AccessRecord Record(ByteMask bytes) const {
    return AccessRecord{
        .thread = thread, .context = context, .locks = locks, .bytes = bytes, .kind = kind, .origin = origin};
  }
};
static_assert(sizeof(SeenAccess) == 16);

// Entry is SeenAccess, or derives from it.
template <class Entry>
struct LastAccesses {
  Entry latest;
  Entry other;  // by another thread than `latest`

  bool operator==(const LastAccesses&) const = default;

  void Note(const Entry& mine) {
    if (latest.seen && latest.thread != mine.thread) other = latest;
    latest = mine;
  }

  // The last access by another thread than `thread`; null: there was none.
  const Entry* NotBy(Tid thread) const {
    if (latest.seen && latest.thread != thread) return &latest;
    return other.seen && other.thread != thread ? &other : nullptr;
  }
};

}  // namespace redflag
