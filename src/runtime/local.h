// What a thread keeps at hand: the words that the access path reads on every call, in initial-exec thread-local storage, so that
// each is one instruction away. Everything else of a thread is behind `thread`.
//
// A thread that the runtime does not know yet has a tag that nothing equals, shadow that is one empty cell, and no room for
// frames: whatever it does first takes the slow path, which makes its acquaintance.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "clocks/packed_cell.h"

namespace redflag::rt {

// A call that is on the stack: where it returns to, and its node of the calling-context tree once somebody needed it.
struct Frame {
  uint64_t pc;
  ContextId node;  // kNoContext: not known yet
  uint32_t reserved;
};

class Thread;

struct Local {
  uint64_t tag;  // a plain write of 8 bytes now, above its context (PackedAccess): what the filter compares with
  char* cells;   // the cell of address a is at cells + 2 * (a & fold)
  uint64_t fold;
  Frame* top;      // one past the innermost frame
  Frame* limit;    // there is no room from here on
  Thread* thread;  // null: not known yet
  uint64_t home;   // of the thread's slot in records (PackedCell::HomeOffset)
};

extern __attribute__((tls_model("initial-exec"), visibility("hidden"))) thread_local constinit Local local;

inline uint64_t TagOf(Epoch epoch) {
  return PackedAccess(epoch, AccessKind::kWrite, kAllBytes, kNoContext).word() >> PackedAccess::kBytesShift;
}

}  // namespace redflag::rt
