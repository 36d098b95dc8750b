// Thread: what the runtime keeps of a thread beyond the few words of Local: the detector's state, the stack of calls, the locks
// held with where they were taken. Touched by its own thread only, except while it cannot run.
#pragma once

#include <cstdint>

#include "base/vector.h"
#include "clocks/packed_cell.h"
#include "detectors/hb.h"
#include "runtime/context_tree.h"
#include "runtime/local.h"
#include "runtime/lock_log.h"

namespace redflag::rt {

using Detector = Hb<AtomicMem, PackedCell>;

class Thread {
 public:
  static constexpr uint32_t kFrames = 1u << 16;

  Thread(Detector& detector, Tid tid, Arena<AtomicMem>& arena)
      : state(detector, tid), locks(arena), frames(static_cast<Frame*>(MapPages(kFrames * sizeof(Frame)))) {}
  ~Thread() { UnmapPages(frames, kFrames * sizeof(Frame)); }

  // The node of the calls that are on the stack now. Frames below the innermost known one are unchanged since it was named.
  ContextId StackNode(ContextTree& tree) {
    Frame* frame = local.top;
    while (frame > frames && frame[-1].node == kNoContext) --frame;
    ContextId node = frame > frames ? frame[-1].node : kNoContext;
    for (; frame < local.top; ++frame) frame->node = node = tree.Child(node, frame->pc);
    return node;
  }

  // The node of `place` in the current function. Remembers its latest answers.
  ContextId ContextOf(ContextTree& tree, uint64_t place) {
    const ContextId stack = StackNode(tree);
    Remembered& entry = remembered_[(place ^ place >> 7 ^ Raw(stack)) % kRemembered];
    if (entry.place != place || entry.stack != stack) entry = {place, stack, tree.Child(stack, place)};
    return entry.node;
  }

  bool Ignores(AccessKind kind) const { return ignore != 0 || (IsWrite(kind) ? ignore_writes : ignore_reads) != 0; }

  Detector::Thread state;
  Vector<HeldAt, AtomicMem> locks;  // in order of acquisition
  Frame* const frames;
  uint32_t lost_frames = 0;    // calls below the limit of `frames`
  int inside = 0;              // in the runtime: signal handlers that come now are not watched
  int ignore = 0;              // accesses are not watched
  int ignore_reads = 0;        // the same of reads
  int ignore_writes = 0;       // and of writes
  int ignore_sync = 0;         // nothing that the thread does orders anything
  bool recorded = false;       // something was recorded at the current time
  bool locks_changed = false;  // since the latest entry of the slot's log
  RaceRecord record;
  struct Fiber* fiber = nullptr;  // its handle, once somebody asked for it (abi_fiber.cc)
  bool is_fiber = false;
  bool registered = false;  // fork_gate.h
  Thread* next_registered = nullptr;

 private:
  static constexpr uint32_t kRemembered = 256;
  struct Remembered {
    uint64_t place;
    ContextId stack;
    ContextId node;
  };
  Remembered remembered_[kRemembered] = {};
};

}  // namespace redflag::rt
