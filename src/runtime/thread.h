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

struct SyncObject;

class Thread {
 public:
  static constexpr uint32_t kFrames = 1u << 16;

  // Synchronization objects that this thread has loaded from: all that they carried at that version it knows already.
  struct KnownSync {
    const SyncObject* object;
    uint32_t version;
    bool acquired;  // it knows; otherwise its next acquire fence will
  };

 private:
  static constexpr uint32_t kRemembered = 512;
  static constexpr uint32_t kKnownSyncs = 64;
  struct Remembered {
    uint64_t place;
    ContextId caller;
    ContextId chain;
    ContextId node;
  };
  static uint64_t Hash(ContextId caller, uint64_t place) { return place ^ place >> 7 ^ Raw(caller) * uint64_t{5}; }

  // What is large, and zero at first.
  struct Pages {
    uint64_t seen[kSeenWords];
    Remembered remembered[kRemembered];
    KnownSync known[kKnownSyncs];
    Frame frames[kFrames];
  };

 public:
  Thread(Detector& detector, Tid tid, Arena<AtomicMem>& arena) : state(detector, tid), locks(arena) {}
  ~Thread() { UnmapPages(pages_, sizeof(Pages)); }

  // The node of the calls that are on the stack now. Frames below the innermost known one are unchanged since it was named.
  ContextId StackNode(ContextTree& tree) {
    Frame* frame = local.top;
    while (frame > frames() && frame[-1].node == kNoContext) --frame;
    ContextId node = frame > frames() ? frame[-1].node : kNoContext;
    for (; frame < local.top; ++frame) frame->node = node = Child(tree, node, frame->pc);
    return node;
  }

  // The node of `place` in the current function.
  ContextId CallsAt(ContextTree& tree, uint64_t place) { return Child(tree, StackNode(tree), place); }

  // The same with the locks that are held now.
  [[gnu::always_inline]] ContextId ContextOf(ContextTree& tree, uint64_t place) {
    const Frame* top = local.top;
    if (top != frames()) [[likely]] {
      const ContextId stack = top[-1].node;
      const Remembered& entry = pages_->remembered[Hash(stack, place) % kRemembered];
      if (entry.place == place && entry.caller == stack && entry.chain == chain && stack != kNoContext) [[likely]]
        return entry.node;
    }
    return FindContext(tree, place);
  }

  // A child of a node. Remembers its latest answers.
  ContextId Child(ContextTree& tree, ContextId caller, uint64_t place) {
    Remembered& entry = pages_->remembered[Hash(caller, place) % kRemembered];
    if (entry.place != place || entry.caller != caller || entry.chain != kNoContext) {
      entry = {.place = place, .caller = caller, .chain = kNoContext, .node = tree.Child(caller, place)};
    }
    return entry.node;
  }

  uint64_t (&seen())[kSeenWords] { return pages_->seen; }

  KnownSync& KnownOf(const SyncObject* object) {
    return pages_->known[reinterpret_cast<uint64_t>(object) / 64 % kKnownSyncs];
  }

  Frame* frames() const { return pages_->frames; }
  Frame* frames_end() const { return pages_->frames + kFrames; }

  bool Ignores(AccessKind kind) const { return ignore != 0 || (IsWrite(kind) ? ignore_writes : ignore_reads) != 0; }

  Detector::Thread state;
  uint64_t now = 0;                            // slot and time, where PackedAccess has them
  Vector<HeldAt, AtomicMem> locks;             // in order of acquisition
  ContextId chain = kNoContext;                // of all of them
  uint32_t lost_frames = 0;                    // calls below the limit of `frames`
  int inside = 0;                              // in the runtime: signal handlers that come now are not watched
  int ignore = 0;                              // accesses are not watched
  int ignore_reads = 0;                        // the same of reads
  int ignore_writes = 0;                       // and of writes
  int ignore_sync = 0;                         // nothing that the thread does orders anything
  bool locks_logged = true;                    // are those that are held now in the slot's log?
  uint64_t until_memory_check = kMemoryCheck;  // accesses to go
  RaceRecord record;
  struct Fiber* fiber = nullptr;  // its handle, once somebody asked for it (abi_fiber.cc)
  bool is_fiber = false;
  bool registered = false;  // fork_gate.h
  Thread* next_registered = nullptr;
  static constexpr uint64_t kMemoryCheck = 1u << 14;
  // Entries of the table of blocks that are free, at hand.
  static constexpr uint32_t kSpareBlocks = 64;
  uint32_t spare_blocks[kSpareBlocks];
  uint32_t spare_block_count = 0;

 private:
  [[gnu::noinline]] ContextId FindContext(ContextTree& tree, uint64_t place) {
    const ContextId stack = StackNode(tree);
    Remembered& entry = pages_->remembered[Hash(stack, place) % kRemembered];
    if (entry.place != place || entry.caller != stack || entry.chain != chain) {
      ContextId node = tree.Child(stack, place);
      if (chain != kNoContext) node = tree.Child(node, ContextTree::Under(chain));
      entry = {.place = place, .caller = stack, .chain = chain, .node = node};
    }
    return entry.node;
  }

  Pages* const pages_ = static_cast<Pages*>(MapPages(sizeof(Pages)));
};

}  // namespace redflag::rt
