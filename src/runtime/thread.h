// Thread: what the runtime keeps of a thread beyond the few words of Local: the detector's state, the stack of calls, the locks
// held with where they were taken. Touched by its own thread only, except while it cannot run.
#pragma once

#include <cstdint>

#include "base/vector.h"
#include "clocks/commit_clocks.h"
#include "runtime/context_tree.h"
#include "runtime/detector.h"
#include "runtime/gathered.h"
#include "runtime/known_contexts.h"
#include "runtime/local.h"
#include "runtime/lock_log.h"
#include "runtime/marked_code.h"
#include "runtime/own_locks.h"
#include "runtime/refusal.h"
#include "runtime/told_in_transaction.h"
#include "runtime/told_races.h"

namespace redflag::rt {

// Taking a lock reads it: who destroys it has to come later. To tell of each time would cost a third of what a lock costs; a thread tells of its
// first use of a lock, as far as it remembers, and of every kEach-th.
class LockUses {
 public:
  bool IsToBeTold(uint64_t lock) {
    Use& use = uses_[HashKey(lock) % kRemembered];
    if (use.lock == lock && ++use.count % kEach != 0) return false;
    if (use.lock != lock) use = {.lock = lock, .count = 0};
    return true;
  }

 private:
  static constexpr uint32_t kRemembered = 32, kEach = 64;
  struct Use {
    uint64_t lock = 0;
    uint32_t count = 0;
  };
  Use uses_[kRemembered];
};

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
  static constexpr uint32_t kKnownSyncs = 64;
  static constexpr uint32_t kKnownOrders = 4096;
  // By what contexts are known (known_contexts.h).
  static KnownContexts::Key ChildKey(ContextId caller, uint64_t place) {
    return KnownContexts::Of(TrailOf(0x94d049bb133111ebu * (uint64_t{Raw(caller)} + 1), place));
  }
  static KnownContexts::Key MixKey(const Gathered::Entry& entry) {
    uint64_t key = 0x2545f4914f6cdd1du ^ entry.sizes;
    entry.ForEach([&](uint32_t first, uint32_t, ContextId context) {
      key = (key ^ (uint64_t{Raw(context)} << 8 | first)) * 0x9fb21c651e98df25u;
      key ^= key >> 29;
    });
    return KnownContexts::Of(key);
  }
  KnownContexts::Key AccessKey(uint64_t place) const {
    return KnownContexts::OfAccess(local.top[-1].trail ^ chain_key_, place);
  }
  ContextId Remember(KnownContexts::Key key, ContextId node) {
    contexts_.Add(key, node);
    return node;
  }

  // What is large, and zero at first.
  struct Pages {
    uint64_t seen[kSeenWords];
    alignas(64) char contexts[KnownContexts::kBytes];
    KnownSync known[kKnownSyncs];
    uint64_t orders[kKnownOrders];
    PlaneOf planes[Planes::kRemembered];
    Frame frames[1 + kFrames];  // the first is of no call, and has no node
  };

 public:
  Thread(Detector& detector, Tid tid, Arena<AtomicMem>& arena)
      : state(detector, tid), locks(arena), transaction(arena), footprint(arena) {
    Planes::Prepare(pages_->planes);
  }
  ~Thread() {
    if (refusal.race != nullptr) UnmapPages(refusal.race, sizeof *refusal.race);
    UnmapPages(pages_, sizeof(Pages));
  }

  // The node of the calls that are on the stack now.
  ContextId StackNode(ContextTree& tree) {
    const ContextId node = local.top[-1].node;
    return node != kNoContext || local.top == frames() ? node : NameCalls(tree);
  }

  // The node of `place` in the current function.
  ContextId CallsAt(ContextTree& tree, uint64_t place) { return Child(tree, StackNode(tree), place); }

  // The same with the locks that are held now. kIgnoredContext: the user does not want to hear of accesses there.
  [[gnu::always_inline]] ContextId ContextOf(ContextTree& tree, uint64_t place) {
    const ContextId remembered = RememberedContextOf(place);
    return remembered != kNoContext ? remembered : FindContext(tree, place);
  }
  // The same if it was asked for before and not forgotten since.
  [[gnu::always_inline]] ContextId RememberedContextOf(uint64_t place) const {
    return contexts_.Find(AccessKey(place));
  }

  // A child of a node. Remembers its latest answers.
  ContextId Child(ContextTree& tree, ContextId caller, uint64_t place) {
    const ContextId node = contexts_.Find(ChildKey(caller, place));
    return node != kNoContext ? node : LookUpChild(tree, caller, place);
  }

  // What stands for the contexts of all that was gathered of a granule. The second: if it was asked for before and not forgotten since.
  ContextId ContextOf(ContextTree& tree, const Gathered::Entry& entry) {
    const ContextId remembered = RememberedContextOf(entry);
    return remembered != kNoContext ? remembered : Remember(MixKey(entry), Mix(tree, entry));
  }
  [[gnu::always_inline]] ContextId RememberedContextOf(const Gathered::Entry& entry) const {
    const ContextId first = entry.contexts[__builtin_ctz(entry.firsts)];
    bool is_one = true;
    entry.ForEach([&](uint32_t, uint32_t, ContextId context) { is_one &= context == first; });
    return is_one ? first : contexts_.Find(MixKey(entry));
  }

  // Of all locks that are held.
  ContextId chain() const { return chain_; }
  void SetChain(ContextId chain) {
    chain_ = chain;
    chain_key_ = Raw(chain) * 0xd6e8feb86659fd93u;
  }

  uint64_t (&seen())[kSeenWords] { return pages_->seen; }
  void ForgetSeen() { ForgetPages(pages_->seen, sizeof pages_->seen); }
  // The number of a stay at one of the thread's times, for what it sees meanwhile; before they begin anew, all that was seen is forgotten.
  Time NextVisit() {
    if (++visits_ == PackedAccess::kMaxTime) {
      ForgetSeen();
      visits_ = 1;
    }
    return Time{visits_};
  }

  PlaneOf* planes() { return pages_->planes; }
  void ForgetPlanes() { Planes::ForgetAll(pages_->planes); }

  KnownSync& KnownOf(const SyncObject* object) {
    return pages_->known[reinterpret_cast<uint64_t>(object) / 64 % kKnownSyncs];
  }

  // Of locks that are taken while others are held, by a number that stands for all of them: was that told before?
  bool KnowsOrder(uint64_t key) {
    uint64_t& known = pages_->orders[key % kKnownOrders];
    if (known == key) return true;
    known = key;
    return false;
  }

  Frame* frames() const { return pages_->frames + 1; }
  Frame* frames_end() const { return pages_->frames + 1 + kFrames; }
  Frame* bottom() const { return lost_frames_ == 0 ? frames() : frames_end(); }  // Local::bottom
  // Calls for which there was no room. By the thread itself.
  uint32_t lost_frames() const { return lost_frames_; }
  void LoseFrames(uint32_t count) {
    lost_frames_ = count;
    local.bottom = bottom();
  }

  bool Ignores(AccessKind kind) const {
    return mode.ignore != 0 || (IsWrite(kind) ? mode.ignore_writes : mode.ignore_reads) != 0;
  }

  Detector::Thread state;
  uint64_t now = 0;                 // slot and time, where PackedAccess has them
  Vector<HeldAt, AtomicMem> locks;  // in order of acquisition
  // What keeps an access from being recorded at once: together, so that one look tells that there is none of it.
  struct alignas(8) Mode {
    uint8_t inside = 0;             // in the runtime: signal handlers that come now are not watched
    bool locks_to_log : 1 = false;  // are those that are held now not yet in the slot's log?
    bool takes_lock : 1 = false;    // one of the program's own making (own_locks.h)
    bool records : 1 = false;       // all that it does is written down (recorder.h)
    uint16_t ignore = 0;            // accesses are not watched
    uint16_t ignore_reads = 0;      // the same of reads
    uint16_t ignore_writes = 0;     // and of writes
  } mode;
  // Of `inside`. In a window of regions.h, and holds no lock; or whatever else.
  static constexpr uint8_t kInside = 1, kInWindow = 2;
  // A signal handler that came while the thread was in a window will not return there.
  void LeaveWindow() {
    if (mode.inside != kInWindow) return;
    __atomic_store_n(local.window, 0, __ATOMIC_RELEASE);
    mode.inside = 0;
  }
  // All of it as one word, so that whoever reads it all finds what was stored last where it still is, in the processor's store buffer.
  [[gnu::always_inline]] uint64_t ModeWord() const {
    uint64_t word;
    __builtin_memcpy(&word, &mode, sizeof word);
    return word;
  }
  [[gnu::always_inline]] void SetModeWord(uint64_t word) {
    __builtin_memcpy(static_cast<void*>(&mode), &word, sizeof word);
  }
  // Of the word: what concerns an access that has come into the runtime.
  [[gnu::always_inline]] static uint64_t UnusualModes() {
    Mode unusual;
    unusual.takes_lock = true;
    unusual.ignore = unusual.ignore_reads = unusual.ignore_writes = UINT16_MAX;
    uint64_t word;
    __builtin_memcpy(&word, &unusual, sizeof word);
    return word;
  }
  // The same: that the locks that are held now are not in the log yet.
  [[gnu::always_inline]] static uint64_t LocksToLog() {
    Mode unlogged;
    unlogged.locks_to_log = true;
    uint64_t word;
    __builtin_memcpy(&word, &unlogged, sizeof word);
    return word;
  }
  // Is there nothing but what concerns the other kind of access?
  [[gnu::always_inline]] static bool IsOrdinary(uint64_t mode_word, AccessKind kind) {
    return (IsWrite(kind) ? mode_word & ~(uint64_t{0xffff} << 32) : mode_word << 16) == 0;
  }
  Gathered gathered;
  TakenLock taken;
  uint64_t annotated_phase = 0;  // of the barrier of the program's own making that it waits at
  int ignore_sync = 0;           // nothing that the thread does orders anything
  LockUses lock_uses;
  uint32_t step = 0;             // how many threads it has created and joined
  uint64_t handler_depth = 0;    // calls below the handler of an asynchronous signal that it is in; 0: it is in none
  ContextId ignores_at[2] = {};  // where it began to ignore accesses, and where it did so again meanwhile
  int64_t until_memory_check = kMemoryCheck;  // accesses to go
  bool races_again = false;                   // the access that was looked at last was of a race that was found again
  uint64_t tried_in_vain = 0;  // the granule for which no shortcut was found just now; a hint: need not be tried again
  RaceRecord record;
  Policy policy{};  // its own, or of the scope that it is in; all-zero: none
  Refusal refusal;
  // What its transaction has read and written so far (transactions.cc).
  struct TransactionAccess {
    Footprint what;
    uint64_t place;
  };
  Vector<TransactionAccess, AtomicMem> transaction;
  ToldInTransaction told_in_transaction;
  Vector<Footprint, AtomicMem> footprint;  // of the commit that is told now
  bool is_committing = false;
  struct Recording* recording = nullptr;  // recorder.h
  struct Fiber* fiber = nullptr;          // its handle, once somebody asked for it (abi_fiber.cc)
  bool is_fiber = false;
  bool registered = false;  // gate.h
  uint32_t era = 0;         // that its clock is of (era.cc)
  bool is_stale = false;    // its Local says what was true in another era
  Thread* next_registered = nullptr;
  static constexpr int64_t kMemoryCheck = 1u << 14;
  ToldLately told_lately;
  // Entries of the table of blocks that are free, at hand.
  static constexpr uint32_t kSpareBlocks = 64;
  uint32_t spare_blocks[kSpareBlocks];
  uint32_t spare_block_count = 0;

 private:
  // Frames below the innermost known one are unchanged since it was named.
  [[gnu::noinline]] ContextId NameCalls(ContextTree& tree) {
    Frame* frame = local.top;
    while (frame > frames() && frame[-1].node == kNoContext) --frame;
    ContextId node = frame > frames() ? frame[-1].node : kNoContext;
    for (; frame < local.top; ++frame) {
      frame->node = node = Child(tree, node, frame->pc);
      frame->is_ignored = frame[-1].is_ignored || Has(MarkedCode::MarksAt(frame->pc), CodeMark::kIgnoredTree);
    }
    return node;
  }

  // Out of line: what is remembered is found without it.
  [[gnu::noinline]] ContextId LookUpChild(ContextTree& tree, ContextId caller, uint64_t place) {
    return Remember(ChildKey(caller, place), tree.Child(caller, place));
  }

  // By the rules about code. What begins and ends lifetimes is never ignored. All calls on the stack have nodes.
  bool IsIgnored(uint64_t place) const {
    if (FlagOf(place) == PlaceFlag::kAlloc || FlagOf(place) == PlaceFlag::kFree) return false;
    if (local.top[-1].is_ignored) return true;
    uint32_t marks = MarkedCode::MarksAt(place);
    if (Has(marks, CodeMark::kIgnoredTree)) return true;
    // A library does what it does for whoever called it.
    for (const Frame* frame = local.top; Has(marks, CodeMark::kLibrary) && !Has(marks, CodeMark::kIgnored);) {
      if (frame-- == frames()) return false;
      marks = MarkedCode::MarksAt(frame->pc);
    }
    return Has(marks, CodeMark::kIgnored);
  }

  [[gnu::noinline]] ContextId Mix(ContextTree& tree, const Gathered::Entry& entry) {
    ContextId node = kNoContext;
    entry.ForEach([&](uint32_t first, uint32_t size, ContextId context) {
      const auto bytes = ByteMask(static_cast<uint8_t>(((1u << size) - 1) << first));
      if (node == kNoContext) {
        node = context;
      } else if (node != context) {
        node = Child(tree, node, ContextTree::Mixed(context, bytes));
      }
    });
    return node;
  }

  [[gnu::noinline]] ContextId FindContext(ContextTree& tree, uint64_t place) {
    const ContextId calls = StackNode(tree);
    if (MarkedCode::is_on() && IsIgnored(place)) {
      return Remember(AccessKey(place), kIgnoredContext);
    }
    ContextId node = tree.Child(calls, place);
    if (chain_ != kNoContext) node = tree.Child(node, ContextTree::Under(chain_));
    return Remember(AccessKey(place), node);
  }

  uint32_t lost_frames_ = 0;
  ContextId chain_ = kNoContext;
  uint64_t chain_key_ = 0;
  uint64_t visits_ = 0;
  Pages* const pages_ = static_cast<Pages*>(MapPages(sizeof(Pages)));
  KnownContexts contexts_{pages_->contexts};
};

}  // namespace redflag::rt
