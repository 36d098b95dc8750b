// ThreadSanitizer 4.2 (HANDLE-READ-OR-WRITE-EVENT, IS-RACE) and 4.4.2 (fast mode), transcribed: sets of segments for
// each byte, every pair compared. Slow and obvious; tests only. The order of segments is the oracle's, with locks
// ordering nothing unless annotated.
//
// Where the paper is silent, and what src/detectors/hybrid.h does too:
// - Atomic accesses: two of them do not race, and an atomic write does not replace a plain read.
// - A segment ends where its thread hands something on, or changes its locks.
// - A segment that is in the set with an access that covers the new one changes nothing.
// - The limit of 6.1 is applied after the check; the segment that came first goes.
// - A lock that is created or destroyed is another lock from then on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "events/event.h"
#include "tests/differential/oracle.h"
#include "trace/trace.h"

namespace redflag {

class HybridReference {
 public:
  using Report = std::pair<uint64_t, uint64_t>;  // event, byte
  // What a read takes the place of: of all that is ordered before it, or of what its thread has read.
  enum class Reads : uint8_t { kReplaceOrdered, kReplaceOwn };

  HybridReference(const Trace& trace, bool fast, size_t limit, Reads reads = Reads::kReplaceOrdered)
      : trace_(trace), order_(trace, oracle::LockArcs::kAnnotated), fast_(fast), limit_(limit), reads_(reads) {
    WalkThreads();
  }

  std::set<Report> Run() {
    const std::vector<oracle::ByteAccess> accesses = oracle::AccessesOf(trace_);
    size_t next = 0;
    for (uint64_t index = 0; index < trace_.events.size(); ++index) {
      const size_t first = next;
      while (next < accesses.size() && accesses[next].event == index) ++next;
      // A free first touches, then begins a lifetime.
      for (size_t i = first; i < next; ++i) {
        if (!accesses[i].birth) Touch(accesses[i]);
      }
      if (IsBirth(trace_.events[index])) ForgetLines(trace_.events[index]);
      for (size_t i = first; i < next; ++i) {
        if (accesses[i].birth && !fast_) Touch(accesses[i]);
      }
    }
    return reports_;
  }

 private:
  struct Segment {
    uint64_t event = 0;  // one access of it
    bool writes = false;
    bool atomic = false;
  };
  // Of one piece of memory in one lifetime.
  struct State {
    std::vector<Segment> writers;
    std::vector<Segment> readers;
    bool reported = false;
  };
  struct Line {
    Tid first{};
    bool shared = false;
  };
  using LockName = std::pair<uint32_t, int>;  // object, generation
  struct Moment {
    std::set<LockName> write_held;
    std::set<LockName> read_held;  // 4.1: includes what is write-held
    uint64_t handed_on = 0;        // how often the thread has released something
  };

  static bool IsBirth(const Event& event) {
    return event.kind == EventKind::kAlloc || event.kind == EventKind::kFree || event.kind == EventKind::kNewMemory ||
           event.kind == EventKind::kUnpublish || event.kind == EventKind::kForget;
  }

  // The locks and the segment number of each thread at each of its events.
  void WalkThreads() {
    struct Thread {
      std::map<LockName, int> exclusive;
      std::map<LockName, int> shared;
      uint64_t handed_on = 0;
    };
    std::map<Tid, Thread> threads;
    std::set<uint32_t> annotated;
    std::map<uint32_t, int> generation;
    for (const Event& event : trace_.events) {
      Thread& thread = threads[event.thread];
      if (event.kind == EventKind::kPureHbMutex) annotated.insert(event.object);
      if (event.kind == EventKind::kLockCreate || event.kind == EventKind::kLockDestroy) {
        annotated.erase(event.object);
        ++generation[event.object];
      }
      if (event.kind == EventKind::kLock || event.kind == EventKind::kUnlock) {
        auto& held = event.mode == LockMode::kExclusive ? thread.exclusive : thread.shared;
        const LockName name{event.object, generation[event.object]};
        held[name] += event.kind == EventKind::kLock ? 1 : -1;
        if (held[name] == 0) held.erase(name);
      }
      Moment moment;
      for (const auto& [lock, times] : thread.exclusive) {
        moment.write_held.insert(lock);
        moment.read_held.insert(lock);
      }
      for (const auto& [lock, times] : thread.shared) moment.read_held.insert(lock);
      moment.handed_on = thread.handed_on;
      moments_.push_back(moment);
      thread.handed_on += HandsOn(event, annotated.contains(event.object));
    }
  }

  static bool HandsOn(const Event& event, bool annotated) {
    switch (event.kind) {
      case EventKind::kSignal:
      case EventKind::kBarrierArrive:
      case EventKind::kThreadFork:
      case EventKind::kTxCommit:
      case EventKind::kPublish:
        return true;
      case EventKind::kAtomicStore:
      case EventKind::kAtomicRmw:
      case EventKind::kFence:
        return event.order == MemoryOrder::kRelease || event.order == MemoryOrder::kAcqRel ||
               event.order == MemoryOrder::kSeqCst;
      case EventKind::kUnlock:
        return annotated;
      default:
        return false;
    }
  }

  Tid ThreadOf(uint64_t event) const { return trace_.events[event].thread; }

  // S <= Seg: the same segment, or happens before it.
  bool Precedes(const Segment& earlier, const Segment& later) const {
    return ThreadOf(earlier.event) == ThreadOf(later.event) || order_.Ordered(earlier.event, later.event);
  }
  bool SameSegment(const Segment& a, const Segment& b) const {
    return ThreadOf(a.event) == ThreadOf(b.event) && moments_[a.event].handed_on == moments_[b.event].handed_on &&
           moments_[a.event].read_held == moments_[b.event].read_held &&
           moments_[a.event].write_held == moments_[b.event].write_held;
  }
  // Whatever conflicts with `weak` conflicts with `strong`.
  static bool Covers(const Segment& strong, const Segment& weak) {
    return (strong.writes || !weak.writes) && (!strong.atomic || weak.atomic);
  }
  bool ShareALock(const Segment& a, const Segment& b) const {
    const auto& x = a.writes ? moments_[a.event].write_held : moments_[a.event].read_held;
    const auto& y = b.writes ? moments_[b.event].write_held : moments_[b.event].read_held;
    return std::any_of(x.begin(), x.end(), [&](const LockName& lock) { return y.contains(lock); });
  }

  void Touch(const oracle::ByteAccess& access) {
    if (access.benign) return;
    const Segment seg{.event = access.event, .writes = access.writes, .atomic = access.atomic};
    // A piece may lie across lines: byte by byte.
    for (uint64_t byte = access.begin; byte < access.end; ++byte) {
      if (fast_ && !IsShared(byte, ThreadOf(access.event))) continue;
      Handle(states_[{byte, access.lifetime}], seg, byte);
    }
  }

  void Handle(State& state, const Segment& seg, uint64_t byte) {
    if (state.reported) return;
    const auto makes_redundant = [&](const Segment& s) { return SameSegment(s, seg) && Covers(s, seg); };
    if (std::any_of(state.writers.begin(), state.writers.end(), makes_redundant) ||
        std::any_of(state.readers.begin(), state.readers.end(), makes_redundant)) {
      return;
    }
    const auto goes = [&](const Segment& s) {
      const bool is_kept = reads_ == Reads::kReplaceOwn && !seg.writes && ThreadOf(s.event) != ThreadOf(seg.event);
      return !is_kept && Precedes(s, seg) && Covers(seg, s);
    };
    std::erase_if(state.readers, goes);
    std::erase_if(state.writers, goes);
    (seg.writes ? state.writers : state.readers).push_back(seg);
    if (IsRace(state)) {
      state.reported = true;
      reports_.insert({seg.event, byte});
      return;
    }
    auto& set = seg.writes ? state.writers : state.readers;
    if (limit_ != 0 && set.size() > limit_) set.erase(set.begin());
  }

  bool IsRace(const State& state) const {
    for (size_t i = 0; i < state.writers.size(); ++i) {
      const Segment& w1 = state.writers[i];
      for (size_t j = i + 1; j < state.writers.size(); ++j) {
        const Segment& w2 = state.writers[j];
        const bool ordered = Precedes(w1, w2) || Precedes(w2, w1);
        if (!ordered && !(w1.atomic && w2.atomic) && !ShareALock(w1, w2)) return true;
      }
      for (const Segment& r : state.readers) {
        const bool ordered = Precedes(w1, r) || Precedes(r, w1);
        if (!ordered && !(w1.atomic && r.atomic) && !ShareALock(w1, r)) return true;
      }
    }
    return false;
  }

  bool IsShared(uint64_t byte, Tid thread) {
    Line& line = lines_.try_emplace(byte / 64, Line{.first = thread}).first->second;
    line.shared |= line.first != thread;
    return line.shared;
  }
  void ForgetLines(const Event& event) {
    std::erase_if(lines_, [&](const auto& line) {
      return line.first * 64 >= Raw(event.addr) && line.first * 64 + 64 <= Raw(event.addr) + event.size;
    });
  }

  const Trace& trace_;
  oracle::HappensBefore order_;
  bool fast_;
  size_t limit_;
  Reads reads_;
  std::vector<Moment> moments_;                            // by event
  std::map<std::pair<uint64_t, uint64_t>, State> states_;  // by byte and lifetime
  std::map<uint64_t, Line> lines_;
  std::set<Report> reports_;
};

}  // namespace redflag
