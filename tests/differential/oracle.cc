// Reading order: Memory (what counts as an access, and lifetimes), the arcs of HappensBefore one rule at a
// time, its closure, FindRaces. Standard paragraphs are those of C++20 (N4861); "TSan" is the ThreadSanitizer
// paper of 2009, "Goldilocks" that of 2007.
#include "tests/differential/oracle.h"

#include <algorithm>
#include <map>
#include <utility>

namespace redflag::oracle {
namespace {

constexpr size_t kNone = SIZE_MAX;

// A byte in one of its lifetimes. Bytes that no event of the trace tells apart are one cell: the rules are
// those of a byte, worked out once for the whole cell.
struct Place {
  size_t cell = kNone;
  size_t lifetime = 0;

  bool operator==(const Place&) const = default;
  auto operator<=>(const Place&) const = default;
};

struct Access {
  Place place;
  size_t event;
  bool writes;
  bool atomic;
  bool benign;  // races with nothing; is ordered like any other
  bool birth = false;
};

struct Mention {
  size_t event;
  Place place;
  bool writes = false;
};

bool IsAtomicOperation(const Event& event) {
  return event.kind == EventKind::kAtomicLoad || event.kind == EventKind::kAtomicStore ||
         event.kind == EventKind::kAtomicRmw;
}
bool ReadsAtomic(const Event& event) {
  return event.kind == EventKind::kAtomicLoad || event.kind == EventKind::kAtomicRmw;
}
bool ModifiesAtomic(const Event& event) {
  return event.kind == EventKind::kAtomicStore || event.kind == EventKind::kAtomicRmw;
}

bool HasRange(const Event& event) {
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kAtomicLoad:
    case EventKind::kAtomicStore:
    case EventKind::kAtomicRmw:
    case EventKind::kTxRead:
    case EventKind::kTxWrite:
    case EventKind::kAlloc:
    case EventKind::kFree:
    case EventKind::kBenignRace:
    case EventKind::kPublish:
    case EventKind::kUnpublish:
    case EventKind::kNewMemory:
    case EventKind::kForget:
      return true;
    default:
      return false;
  }
}

}  // namespace

class Memory {
 public:
  explicit Memory(const Trace& trace);

  std::vector<Access> accesses;    // that are not ignored
  std::vector<Mention> published;  // the bytes of each kPublish
  std::vector<Mention> committed;  // the footprint of each kTxCommit
  std::vector<Place> objects;      // by event: the first byte of an atomic operation, which names the object

  // The bytes of a cell are [bounds[cell], bounds[cell + 1]).
  std::vector<uint64_t> bounds;

 private:
  struct Cells {
    size_t begin;
    size_t end;
  };
  struct Cell {
    size_t lifetime = 0;
    bool benign = false;  // within this lifetime
  };
  struct Ignored {
    int reads = 0;
    int writes = 0;
  };

  Cells CellsOf(const Event& event) const {
    const auto at = [this](uint64_t address) {
      return static_cast<size_t>(std::ranges::lower_bound(bounds, address) - bounds.begin());
    };
    return {at(Raw(event.addr)), at(Raw(event.addr) + event.size)};
  }
  Place Now(size_t cell) const { return {cell, cells_[cell].lifetime}; }

  void AddAccess(size_t index, const Event& range, bool writes, bool atomic);
  void StartLifetime(size_t index, const Event& range);
  void EndLifetime(const Event& range);

  std::vector<Cell> cells_;
};

Memory::Memory(const Trace& trace) : objects(trace.events.size()) {
  const std::vector<Event>& events = trace.events;

  bounds.reserve(2 * events.size());
  size_t threads = 0;
  for (const Event& event : events) {
    threads = std::max<size_t>(threads, Raw(event.thread) + size_t{1});
    if (!HasRange(event)) continue;
    bounds.push_back(Raw(event.addr));
    bounds.push_back(Raw(event.addr) + event.size);
  }
  std::ranges::sort(bounds);
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  cells_.resize(bounds.size());
  accesses.reserve(4 * events.size());
  std::vector<Ignored> ignored(threads);

  for (size_t index = 0; index < events.size(); ++index) {
    const Event& event = events[index];
    Ignored& ignore = ignored[Raw(event.thread)];
    if (IsAtomicOperation(event)) objects[index] = Now(CellsOf(event).begin);

    switch (event.kind) {
      // [intro.races]/2, and TSan 5 for accesses that the program asks to ignore.
      case EventKind::kRead:
        if (ignore.reads == 0) AddAccess(index, event, /*writes=*/false, /*atomic=*/false);
        break;
      case EventKind::kWrite:
        if (ignore.writes == 0) AddAccess(index, event, /*writes=*/true, /*atomic=*/false);
        break;
      case EventKind::kAtomicLoad:
        if (ignore.reads == 0) AddAccess(index, event, /*writes=*/false, /*atomic=*/true);
        break;
      case EventKind::kAtomicStore:
      case EventKind::kAtomicRmw:
        if (ignore.writes == 0) AddAccess(index, event, /*writes=*/true, /*atomic=*/true);
        break;
      case EventKind::kIgnoreReadsBegin:
        ++ignore.reads;
        break;
      case EventKind::kIgnoreReadsEnd:
        --ignore.reads;
        break;
      case EventKind::kIgnoreWritesBegin:
        ++ignore.writes;
        break;
      case EventKind::kIgnoreWritesEnd:
        --ignore.writes;
        break;

      // Goldilocks 3, commit(R, W): the footprint is what stands directly before the commit in its thread,
      // and all of it happens at the commit. Ignored reads and writes are no accesses, but do synchronize.
      case EventKind::kTxCommit:
        for (size_t earlier = index; earlier-- > 0;) {
          const Event& part = events[earlier];
          if (part.thread != event.thread) continue;
          const bool writes = part.kind == EventKind::kTxWrite;
          if (!writes && part.kind != EventKind::kTxRead) break;
          const auto [begin, end] = CellsOf(part);
          for (size_t cell = begin; cell < end; ++cell) committed.push_back({index, Now(cell), writes});
          if ((writes ? ignore.writes : ignore.reads) == 0) AddAccess(index, part, writes, /*atomic=*/false);
        }
        break;

      // [basic.life], [new.delete.dataraces]: an allocation is ordered after the deallocation of the memory
      // that it reuses, so nothing of an earlier lifetime races with the new one. The allocation counts as
      // the first write of the lifetime.
      case EventKind::kAlloc:
      case EventKind::kNewMemory:
      case EventKind::kUnpublish:
        StartLifetime(index, event);
        break;
      // A free is the last write of the old lifetime and the first one of the next.
      case EventKind::kFree:
        AddAccess(index, event, /*writes=*/true, /*atomic=*/false);
        StartLifetime(index, event);
        break;

      // Pages that were mapped anew: nothing was ever done to them.
      case EventKind::kForget:
        EndLifetime(event);
        break;

      // TSan 5, ANNOTATE_BENIGN_RACE: from here on these bytes do not race, until their next lifetime.
      case EventKind::kBenignRace: {
        const auto [begin, end] = CellsOf(event);
        for (size_t cell = begin; cell < end; ++cell) cells_[cell].benign = true;
        break;
      }
      case EventKind::kPublish: {
        const auto [begin, end] = CellsOf(event);
        for (size_t cell = begin; cell < end; ++cell) published.push_back({index, Now(cell)});
        break;
      }
      default:
        break;
    }
  }
}

void Memory::AddAccess(size_t index, const Event& range, bool writes, bool atomic) {
  const auto [begin, end] = CellsOf(range);
  for (size_t cell = begin; cell < end; ++cell) {
    // A transaction that reads and writes a byte makes one access to it, a write.
    auto same = accesses.rbegin();
    while (same != accesses.rend() && same->event == index && same->place != Now(cell)) ++same;
    if (same != accesses.rend() && same->event == index) {
      same->writes |= writes;
    } else {
      accesses.push_back({Now(cell), index, writes, atomic, cells_[cell].benign});
    }
  }
}

void Memory::EndLifetime(const Event& range) {
  const auto [begin, end] = CellsOf(range);
  for (size_t cell = begin; cell < end; ++cell) {
    ++cells_[cell].lifetime;
    cells_[cell].benign = false;
  }
}

void Memory::StartLifetime(size_t index, const Event& range) {
  EndLifetime(range);
  const size_t before = accesses.size();
  AddAccess(index, range, /*writes=*/true, /*atomic=*/false);
  for (size_t access = before; access < accesses.size(); ++access) accesses[access].birth = true;
}

// Program order ([intro.races]/10.1, TSan 4.1), fork and join ([thread.thread.constr],
// [thread.thread.member], Goldilocks 3). The fork stands for the beginning of its child. Threads that nobody
// forks are ordered with none.
void HappensBefore::AddThreads(const Events& events) {
  std::vector<size_t> latest;  // by thread
  const auto latest_of = [&latest](Tid thread) -> size_t& {
    if (Raw(thread) >= latest.size()) latest.resize(Raw(thread) + size_t{1}, kNone);
    return latest[Raw(thread)];
  };
  for (size_t index = 0; index < events.size(); ++index) {
    const Event& event = events[index];
    if (latest_of(event.thread) != kNone) AddArc(latest_of(event.thread), index);
    latest_of(event.thread) = index;
    if (event.kind == EventKind::kThreadFork) latest_of(event.child()) = index;
    if (event.kind == EventKind::kThreadJoin && latest_of(event.child()) != kNone) {
      AddArc(latest_of(event.child()), index);
    }
  }
}

// [thread.mutex.requirements.mutex], [thread.sharedmutex.requirements], TSan 4.4.1: every unlock is ordered
// before every later lock of the same lock, unless both are shared. Of a re-entrant lock only the outermost
// pair counts. The creation or destruction of a lock separates what is before it from what is after it.
void HappensBefore::AddLocks(const Events& events, LockArcs locks) {
  const auto same_lock = [&events](size_t a, size_t b) { return events[a].object == events[b].object; };
  const auto times_held = [&](size_t index) {
    int held = 0;
    for (size_t i = 0; i < index; ++i) {
      if (events[i].thread != events[index].thread || !same_lock(i, index)) continue;
      if (events[i].kind == EventKind::kLock) ++held;
      if (events[i].kind == EventKind::kUnlock) --held;
    }
    return held;
  };

  // The annotation belongs to the lock that was there when it was made.
  const auto counts = [&](size_t index) {
    if (locks == LockArcs::kAll) return events[index].flag != EventFlag::kOwn;  // of those, atomic operations tell
    for (size_t i = index; i-- > 0;) {
      if (events[i].kind == EventKind::kPureHbMutex && same_lock(i, index)) return true;
      const bool separates = events[i].kind == EventKind::kLockCreate || events[i].kind == EventKind::kLockDestroy;
      if (separates && same_lock(i, index)) return false;
    }
    return false;
  };

  std::vector<bool> outermost(events.size());
  for (size_t index = 0; index < events.size(); ++index) {
    if (events[index].kind == EventKind::kLock) outermost[index] = times_held(index) == 0 && counts(index);
    if (events[index].kind == EventKind::kUnlock) outermost[index] = times_held(index) == 1 && counts(index);
  }

  for (size_t lock = 0; lock < events.size(); ++lock) {
    if (events[lock].kind != EventKind::kLock || !outermost[lock]) continue;
    for (size_t earlier = lock; earlier-- > 0;) {
      const EventKind kind = events[earlier].kind;
      if (kind == EventKind::kLockCreate || kind == EventKind::kLockDestroy) {
        if (same_lock(earlier, lock)) break;
      }
      if (kind != EventKind::kUnlock || !outermost[earlier] || !same_lock(earlier, lock)) continue;
      const bool both_shared = events[earlier].mode == LockMode::kShared && events[lock].mode == LockMode::kShared;
      if (!both_shared) AddArc(earlier, lock);
    }
  }
}

// TSan 4.1, happens-before arc: every SIGNAL before every later WAIT on the same object.
// Who takes order from all locks takes none from condition variables. A signal that replaces is the first that counts.
void HappensBefore::AddSignals(const Events& events, LockArcs locks) {
  const auto counts = [&](const Event& event, EventKind kind) {
    return event.kind == kind && (event.flag != EventFlag::kNotify || locks == LockArcs::kAnnotated);
  };
  for (size_t wait = 0; wait < events.size(); ++wait) {
    if (!counts(events[wait], EventKind::kWait)) continue;
    for (size_t signal = wait; signal-- > 0;) {
      if (!counts(events[signal], EventKind::kSignal) || events[signal].object != events[wait].object) continue;
      AddArc(signal, wait);
      if (events[signal].flag == EventFlag::kReplaces) break;
    }
  }
}

// [thread.barrier.class]: an arrival happens before the phase completes, and that before each return from a
// wait for this phase. A phase is as many arrivals as the barrier has parties; a thread leaves the phase in
// which it arrived last.
void HappensBefore::AddBarriers(const Events& events) {
  struct Arrival {
    size_t event;
    uint64_t phase;
  };
  std::map<uint32_t, std::vector<Arrival>> arrivals;  // by barrier
  for (size_t index = 0; index < events.size(); ++index) {
    const Event& event = events[index];
    if (event.kind == EventKind::kBarrierArrive) {
      std::vector<Arrival>& earlier = arrivals[event.object];
      earlier.push_back({index, earlier.size() / std::max<uint64_t>(event.size, 1)});
    }
    if (event.kind == EventKind::kBarrierLeave) {
      const std::vector<Arrival>& earlier = arrivals[event.object];
      const auto own = std::find_if(earlier.rbegin(), earlier.rend(), [&](const Arrival& arrival) {
        return events[arrival.event].thread == event.thread;
      });
      if (own == earlier.rend()) continue;
      for (const Arrival& arrival : earlier) {
        if (arrival.phase == own->phase) AddArc(arrival.event, index);
      }
    }
  }
}

// Let the atomic operation Y read the value of a side effect in the release sequence that X heads, or would
// head if it were a release operation. Then
//   [atomics.order]/2   X synchronizes with Y                   if X releases and Y acquires,
//   [atomics.fences]/3  A synchronizes with Y                   if Y acquires,
//   [atomics.fences]/4  X synchronizes with B                   if X releases,
//   [atomics.fences]/2  A synchronizes with B
// for each release fence A sequenced before X and each acquire fence B sequenced after Y.
void HappensBefore::AddAtomics(const Events& events, const Memory& memory) {
  // [intro.races]/4: the modification order of an object is the order of the trace. An object does not
  // outlive the lifetime of its memory.
  const auto previous_modification = [&](size_t index) {
    for (size_t earlier = index; earlier-- > 0;) {
      if (ModifiesAtomic(events[earlier]) && memory.objects[earlier] == memory.objects[index]) return earlier;
    }
    return kNone;
  };

  std::vector<size_t> fences;
  for (size_t index = 0; index < events.size(); ++index) {
    if (events[index].kind == EventKind::kFence) fences.push_back(index);
  }

  std::vector<size_t> releases;
  std::vector<size_t> acquires;
  for (size_t y = 0; y < events.size(); ++y) {
    if (!ReadsAtomic(events[y])) continue;
    releases.clear();
    acquires.clear();

    // [intro.races]/5: a release sequence is its head and the read-modify-writes that follow it without a gap
    // in the modification order. So the heads are the side effect that was read and, as long as that is a
    // read-modify-write, the one before it.
    for (size_t x = previous_modification(y); x != kNone; x = previous_modification(x)) {
      if (Releases(events[x].order)) releases.push_back(x);
      for (size_t fence : fences) {
        const bool before_x = fence < x && events[fence].thread == events[x].thread;
        if (before_x && Releases(events[fence].order)) releases.push_back(fence);
      }
      if (events[x].kind != EventKind::kAtomicRmw) break;
    }

    if (Acquires(events[y].order)) acquires.push_back(y);
    for (size_t fence : fences) {
      const bool after_y = fence > y && events[fence].thread == events[y].thread;
      if (after_y && Acquires(events[fence].order)) acquires.push_back(fence);
    }

    for (size_t release : releases) {
      for (size_t acquire : acquires) AddArc(release, acquire);
    }
  }
}

// Goldilocks 3, extended synchronizes-with: a commit is ordered before every later one that shares a byte
// with it; or, at the end of that section, before every later one that reads what it has written.
void HappensBefore::AddTransactions(const Memory& memory, CommitArcs commits) {
  for (const Mention& later : memory.committed) {
    for (const Mention& earlier : memory.committed) {
      const bool is_meant = commits == CommitArcs::kCommon || (earlier.writes && !later.writes);
      if (is_meant && earlier.event < later.event && earlier.place == later.place) AddArc(earlier.event, later.event);
    }
  }
}

// TSan 5, ANNOTATE_PUBLISH_MEMORY_RANGE: an arc from the call to every later access to this memory.
void HappensBefore::AddPublications(const Memory& memory) {
  for (const Mention& publish : memory.published) {
    for (const Access& access : memory.accesses) {
      if (publish.event < access.event && publish.place == access.place) AddArc(publish.event, access.event);
    }
  }
}

// [intro.races]/9 and /10, TSan 4.1: the transitive closure. Arcs point forward, so the rows of all
// predecessors are complete when a row's turn comes.
void HappensBefore::Close(size_t events) {
  for (size_t b = 0; b < events; ++b) {
    for (size_t a = b; a-- > 0;) {
      if (!Ordered(a, b)) continue;
      for (size_t word = 0; word < words_; ++word) rows_[b * words_ + word] |= rows_[a * words_ + word];
    }
  }
}

HappensBefore::HappensBefore(const Trace& trace, LockArcs locks) : HappensBefore(trace, Memory(trace), locks) {}

HappensBefore::HappensBefore(const Trace& trace, const Memory& memory, LockArcs locks, CommitArcs commits)
    : words_((trace.events.size() + 63) / 64), rows_(trace.events.size() * words_) {
  AddThreads(trace.events);
  AddLocks(trace.events, locks);
  AddSignals(trace.events, locks);
  AddBarriers(trace.events);
  AddAtomics(trace.events, memory);
  AddTransactions(memory, commits);
  AddPublications(memory);
  Close(trace.events.size());
}

namespace {

// [intro.races]/2 and /21: one of them modifies, they are not both atomic, and neither happens before the
// other. (The later one cannot happen before the earlier one.)
bool Race(const Access& earlier, const Access& later, const HappensBefore& order) {
  return (earlier.writes || later.writes) && !(earlier.atomic && later.atomic) && !(earlier.benign || later.benign) &&
         !order.Ordered(earlier.event, later.event);
}

std::vector<uint64_t> Maximal(const std::vector<uint64_t>& events, const HappensBefore& order) {
  std::vector<uint64_t> maximal;
  for (uint64_t event : events) {
    const auto is_after = [&](uint64_t other) { return order.Ordered(event, other); };
    if (std::ranges::none_of(events, is_after)) maximal.push_back(event);
  }
  return maximal;
}

}  // namespace

std::vector<ByteAccess> AccessesOf(const Trace& trace) {
  const Memory memory(trace);
  std::vector<ByteAccess> accesses;
  for (const Access& access : memory.accesses) {
    accesses.push_back({.begin = memory.bounds[access.place.cell],
                        .end = memory.bounds[access.place.cell + 1],
                        .lifetime = access.place.lifetime,
                        .event = access.event,
                        .writes = access.writes,
                        .atomic = access.atomic,
                        .benign = access.benign,
                        .birth = access.birth});
  }
  return accesses;
}

std::vector<FirstRace> FindRaces(const Trace& trace, CommitArcs commits) {
  Memory memory(trace);
  const HappensBefore order(trace, memory, LockArcs::kAll, commits);
  // Goldilocks 3, extended race: two commits do not race.
  const auto are_both_commits = [&](const Access& a, const Access& b) {
    return trace.events[a.event].kind == EventKind::kTxCommit && trace.events[b.event].kind == EventKind::kTxCommit;
  };
  std::ranges::sort(memory.accesses, {}, [](const Access& access) { return std::pair(access.place, access.event); });

  std::vector<FirstRace> races;
  const auto end = memory.accesses.end();
  for (auto first = memory.accesses.begin(); first != end;) {
    // [first, last): the accesses to one byte in one lifetime, in the order of the trace.
    const Place place = first->place;
    const auto last = std::find_if(first, end, [place](const Access& access) { return access.place != place; });
    for (auto later = first; later != last; ++later) {
      FirstRace race;
      for (auto earlier = first; earlier != later; ++earlier) {
        if (Race(*earlier, *later, order) && !are_both_commits(*earlier, *later))
          race.earlier.push_back(earlier->event);
      }
      if (race.earlier.empty()) continue;
      race.event = later->event;
      race.maximal = Maximal(race.earlier, order);
      for (race.byte = memory.bounds[place.cell]; race.byte < memory.bounds[place.cell + 1]; ++race.byte) {
        races.push_back(race);
      }
      break;
    }
    first = last;
  }
  std::ranges::sort(races, {}, [](const FirstRace& race) { return std::pair(race.event, race.byte); });
  return races;
}

}  // namespace redflag::oracle
