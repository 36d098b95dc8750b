// OwnershipLedger: who owns what, evaluated lazily (Goldilocks sections 4 and 5). It answers one question: has the right to
// touch a variable come from the thread that touched it to this thread?
//
//   OwnerSet    LS(x) up to a position of the event list: the paper's Info.ls and Info.pos. Rules only ever look at the set
//               and the next event, so evaluating it further may be done by anybody at any time, and sets that are equal
//               at one position stay equal. When the list gets too long, the sets that stand at its head are evaluated a
//               block further and *settle* there: they go on together (clocks/lockset_matrix.h), and equal ones become one.
//   Ownership   what the accesses of one thread between two of its steps on locks have in common: owner, the locks held
//               and one of them for the short circuit (Info.alock), the OwnerSet. Accesses (clocks/info_history.h) share
//               it and count as its users. Between two releases of a thread all its ownerships have the same OwnerSet:
//               nobody can be ordered after one of its accesses and not after the other.
//   Birth       how a lifetime began: a name for "the OwnerSet of this thread's segment number n". Engines copy it and
//               drop it as they like, so it cannot count as a user. Instead every thread has a log: the OwnerSets of those
//               of its segments that have births. Neighbours in a log whose sets have become one are joined, and since a
//               thread's earlier segment is known to everybody who knows a later one, there are no more different sets
//               in a log than elements alive, however long the program runs.
//
// Thread-safe under AtomicMem: one lock for everything but the count of users of an Ownership and what is constant in it. A
// ThreadOwnership belongs to its thread.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/ids.h"
#include "base/mem.h"
#include "clocks/element_set.h"
#include "clocks/lockset_matrix.h"
#include "clocks/sync_event_list.h"

namespace redflag {

// What the ledger did, for the counters of its detector: calls take an array of these.
enum OwnershipStep : uint8_t {
  kStepAlreadyOwner,  // evaluated before: the thread was in the set
  kStepTwoThreads,    // the events of the two threads were enough
  kStepFullWalk,
  kStepEventsWalked,
  kStepEager,  // sets that settled at the head of the list
  kStepMerged,
  kStepTrimmed,  // blocks
  kOwnershipStepCount,
};

template <class Mem, class Limits = EventListLimits>
class OwnershipLedger {
  using List = SyncEventList<Mem, Limits>;

 public:
  struct OwnerSet;
  class LifetimeLog;

  struct Ownership {
    OwnerSet* owners;  // under the lock of the ledger
    uint64_t alock;    // a lock that the owner held, or 0: clocks/sync_elements.h
    typename Mem::Counter users;
    Tid owner;
    LocksetId locks;
  };
  static_assert(sizeof(Ownership) == 32);

  static constexpr bool kKeepsSets = true;
  struct Turn {};  // the list is the order of events

  struct ThreadOwnership {
    Tid thread{};
    [[no_unique_address]] Turn turn;
    OwnerSet* owners = nullptr;    // of everything accessed since the latest release; null: nothing
    Ownership* current = nullptr;  // of everything accessed since the latest step on a lock; null: nothing
    LifetimeLog* log = nullptr;
    uint64_t segment = 0;
  };

  struct Birth {
    LifetimeLog* log;
    uint64_t segment;
  };

  explicit OwnershipLedger(Arena<Mem>& arena) : arena_(arena), list_(arena), settled_(arena) {}

  // [GL Fig.5]: if `from` is in a lockset, adds `to`; without `from`, takes `to` out. Nobody has anything to evaluate if
  // there are no sets.
  void Append(Element from, Element to, uint64_t* steps) {
    ScopedLock guard(lock_);
    if (list_.holders() + settled_.live() == 0 || !list_.Append(from, to)) return;
    if (settled_.live() == 0) steps[kStepTrimmed] += list_.Trim();  // [GL 5.4 trim]
    while (list_.IsTooLong(ownerships_)) EvaluateFirstBlock(steps);
  }

  void Append(ThreadOwnership&, Turn&, Element from, Element to, uint64_t* steps) { Append(from, to, steps); }
  template <class Other>
  static void Follow(ThreadOwnership&, const Other&) {}

  // ---- The thread's own ----

  // [GL Fig.5 rule 1]: LS(x) := {t}, for everything t accesses from now on.
  Ownership* Begin(ThreadOwnership& t, LocksetId locks, uint64_t alock) {
    ScopedLock guard(lock_);
    t.current = NewOwnership(t.thread, SetOf(t), locks, alock);
    t.current->users.Add(1);
    return t.current;
  }
  // The locks that t holds change: what it accesses from now on has another alock.
  void EndOwnership(ThreadOwnership& t) {
    if (t.current != nullptr) Release(t.current);
    t.current = nullptr;
  }
  // t hands on what it has accessed: what it accesses from now on has another lockset.
  void EndSegment(ThreadOwnership& t) {
    EndOwnership(t);
    if (t.owners == nullptr) return;
    ScopedLock guard(lock_);
    Drop(t.owners);
    t.owners = nullptr;
  }

  void Retain(Ownership* ownership) { ownership->users.Add(1); }
  void Release(Ownership* ownership) {
    if (ownership->users.Sub(1) != 0) return;
    ScopedLock guard(lock_);
    Delete(ownership);
  }

  // ---- The question ----

  // Is `thread` in LS(x) now, for an x that was accessed under this ownership?
  bool IsOwner(Ownership& ownership, Tid thread, uint64_t* steps) {
    ScopedLock guard(lock_);
    OwnerSet& owners = Resolve(ownership.owners);
    const Element wanted = ThreadElement(thread);
    if (owners.found == thread || Contains(owners, wanted)) {
      ++steps[kStepAlreadyOwner];
      return true;
    }
    if (owners.is_settled()) Unsettle(owners);
    // [GL 5.1 third]: worth a try while the set is small
    if (owners.elements.size() <= kNearElements / 2 && IsOwnerByTwoThreads(owners, ownership.owner, thread, steps)) {
      ++steps[kStepTwoThreads];
      owners.found = thread;
      return true;
    }
    // [GL 5 Apply-Lockset-Rules]
    ++steps[kStepFullWalk];
    bool found = false;
    list_.Walk(owners, [&](const SyncEvent& event) {
      ++steps[kStepEventsWalked];
      Apply(event, owners);
      return found = event.to == wanted && owners.elements.Contains(wanted);
    });
    return found;
  }

  // Calls visit(element) for each element of the lockset now.
  template <class Visitor>
  void ForEachElement(Ownership& ownership, Visitor visit) {
    ScopedLock guard(lock_);
    OwnerSet& owners = Resolve(ownership.owners);
    if (owners.is_settled()) Unsettle(owners);
    list_.Walk(owners, [&](const SyncEvent& event) {
      Apply(event, owners);
      return false;
    });
    owners.elements.ForEach(visit);
  }

  // ---- Lifetimes ----

  Birth Stamp(ThreadOwnership& t) {
    ScopedLock guard(lock_);
    OwnerSet* owners = SetOf(t);
    if (t.log == nullptr) {
      t.log = arena_.template New<LifetimeLog>();
      t.log->owner = t.thread;
    }
    LifetimeLog& log = *t.log;
    if (log.count == 0 || log.runs[log.count - 1].last != t.segment) {
      ++owners->users;
      owners->log = t.log;
      owners->segment = t.segment;
      Push(log, Run{.last = t.segment, .owners = owners});
    }
    return Birth{.log = t.log, .segment = t.segment};
  }

  // The ownership that the write which began a lifetime has; the caller becomes one of its users.
  Ownership* Revive(const Birth& birth, LocksetId locks) {
    ScopedLock guard(lock_);
    if (revived_ == nullptr || revived_birth_.log != birth.log || revived_birth_.segment != birth.segment ||
        revived_->locks != locks) {
      Ownership* ownership =
          NewOwnership(birth.log->owner, &Resolve(RunOf(*birth.log, birth.segment).owners), locks, 0);
      ownership->users.Add(1);
      Ownership* before = revived_;
      revived_ = ownership;
      revived_birth_ = birth;
      if (before != nullptr && before->users.Sub(1) == 0) Delete(before);
    }
    revived_->users.Add(1);
    return revived_;
  }

  // For synchronization objects; never given twice.
  uint64_t NewNumber() {
    ScopedLock guard(lock_);
    return ++numbers_;
  }

  const List& list() const { return list_; }

 private:
  static constexpr uint32_t kNearElements = 8;
  static constexpr uint32_t kNearEvents = 512;
  static constexpr uint32_t kLogsAtATime = 64;

  // Segments of a thread up to number `last`, from the one behind the run before, if they had births.
  struct Run {
    uint64_t last;
    OwnerSet* owners;
  };

  // ---- Owner sets ----

  OwnerSet* SetOf(ThreadOwnership& t) {
    if (t.owners == nullptr) {
      t.owners = ::new (arena_.Allocate(sizeof(OwnerSet))) OwnerSet(ThreadElement(t.thread));
      list_.PlaceAtTail(*t.owners);
      ++t.owners->users;
      ++t.segment;
    }
    return &Resolve(t.owners);
  }

  Ownership* NewOwnership(Tid owner, OwnerSet* owners, LocksetId locks, uint64_t alock) {
    ++owners->users;
    ++ownerships_;
    auto* ownership = arena_.template New<Ownership>();
    ownership->owners = owners;
    ownership->alock = alock;
    ownership->owner = owner;
    ownership->locks = locks;
    return ownership;
  }

  void Delete(Ownership* ownership) {
    Drop(ownership->owners);
    --ownerships_;
    arena_.Delete(ownership);
  }

  // Follows a set that was made one with another, and remembers where it led.
  OwnerSet& Resolve(OwnerSet*& place) {
    while (place->same != nullptr) {
      OwnerSet* same = place->same;
      ++same->users;
      Drop(place);
      place = same;
    }
    return *place;
  }

  void Drop(OwnerSet* owners) {
    while (owners != nullptr && --owners->users == 0) {
      OwnerSet* same = owners->same;
      if (same == nullptr) {
        if (owners->is_settled()) {
          settled_.Remove(*owners);
        } else {
          list_.Remove(*owners);
        }
        owners->elements.Free(arena_);
      }
      arena_.Delete(owners);
      owners = same;
    }
  }

  void Apply(const SyncEvent& event, OwnerSet& owners) {
    if (event.takes_out()) {
      owners.elements.Remove(event.to);
    } else if (owners.elements.Contains(event.from)) {
      owners.elements.Add(arena_, event.to);
    }
  }

  // Only events of the two threads add, so the set found is a part of the real one; but what an event of whatever thread
  // takes out is out. Leaves the set where it is.
  bool IsOwnerByTwoThreads(const OwnerSet& owners, Tid owner, Tid thread, uint64_t* steps) {
    Element near[kNearElements];
    uint32_t size = 0;
    owners.elements.ForEach([&](Element element) { near[size++] = element; });
    const auto find = [&](Element element) {
      uint32_t i = 0;
      while (i < size && near[i] != element) ++i;
      return i;
    };
    bool found = false;
    list_.Look(owners, kNearEvents, [&](const SyncEvent& event) {
      ++steps[kStepEventsWalked];
      if (event.takes_out()) {
        const uint32_t i = find(event.to);
        if (i < size) near[i] = near[--size];
        return false;
      }
      if (event.thread() != owner && event.thread() != thread) return false;
      if (find(event.from) == size || find(event.to) < size) return false;
      found = event.to == ThreadElement(thread);
      if (found || size == kNearElements) return true;
      near[size++] = event.to;
      return false;
    });
    return found;
  }

  // ---- Partially-eager evaluation: [GL 5.4 eager] ----

  // What is settled moves on to the second block, and those who stand in the first one settle there too.
  void EvaluateFirstBlock(uint64_t* steps) {
    list_.ForEachInFirstBlock([&](const SyncEvent& event) { settled_.Apply(event); });
    while (auto* owners = static_cast<OwnerSet*>(list_.OldestHolder())) {
      ++steps[kStepEager];
      list_.ForEachInFirstBlock(*owners, [&](const SyncEvent& event) {
        ++steps[kStepEventsWalked];
        Apply(event, *owners);
      });
      list_.Remove(*owners);
      settled_.Add(*owners, owners->elements);
      owners->elements.Free(arena_);
    }
    list_.DropFirstBlock();
    ++steps[kStepTrimmed];
    settled_.Merge([&](OwnerSet& gone, OwnerSet& stays) {
      ++steps[kStepMerged];
      gone.same = &stays;
      ++stays.users;
      if (gone.log == nullptr) return;
      Resolve(RunOf(*gone.log, gone.segment).owners);
      ++gone.log->joined;
    });
    ShortenLogs();
  }

  bool Contains(const OwnerSet& owners, Element element) {
    return owners.is_settled() ? settled_.Contains(owners, element) : owners.elements.Contains(element);
  }

  // Back to a set of its own, which stands at the head of the list.
  void Unsettle(OwnerSet& owners) {
    settled_.ForEachElement(owners, [&](Element element) { owners.elements.Add(arena_, element); });
    settled_.Remove(owners);
    owners.row = OwnerSet::kNoRow;
    list_.PlaceAtHead(owners);
  }

  // ---- Logs of births ----

  Run& RunOf(LifetimeLog& log, uint64_t segment) {
    uint32_t low = 0;
    uint32_t high = log.count;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (log.runs[middle].last < segment) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return log.runs[low];
  }

  void Push(LifetimeLog& log, const Run& run) {
    if (log.count == log.capacity) {
      Shorten(log);
      if (log.count * 2 >= log.capacity) Resize(log, log.capacity == 0 ? 1 : log.capacity * 2);
    }
    log.runs[log.count++] = run;
    if (log.count > 1 && !log.waiting) Enqueue(log);
  }

  // Joins neighbours that have the same set.
  void Shorten(LifetimeLog& log) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < log.count; ++i) {
      Resolve(log.runs[i].owners);
      if (kept != 0 && log.runs[kept - 1].owners == log.runs[i].owners) {
        log.runs[kept - 1].last = log.runs[i].last;
        Drop(log.runs[i].owners);
      } else {
        log.runs[kept++] = log.runs[i];
      }
    }
    log.count = kept;
    log.joined = 0;
  }

  void Resize(LifetimeLog& log, uint32_t capacity) {
    auto* runs = static_cast<Run*>(arena_.Allocate(capacity * sizeof(Run)));
    for (uint32_t i = 0; i < log.count; ++i) runs[i] = log.runs[i];
    if (log.capacity != 0) arena_.Free(log.runs, log.capacity * sizeof(Run));
    log.runs = runs;
    log.capacity = capacity;
  }

  void Enqueue(LifetimeLog& log) {
    log.waiting = true;
    log.next = nullptr;
    (first_log_ == nullptr ? first_log_ : last_log_->next) = &log;
    last_log_ = &log;
  }

  // Some of the logs with more than one run, in turn.
  void ShortenLogs() {
    LifetimeLog* const last = last_log_;
    for (uint32_t i = 0; i < kLogsAtATime && first_log_ != nullptr; ++i) {
      LifetimeLog& log = *first_log_;
      first_log_ = log.next;
      log.waiting = false;
      if (log.joined * 4 >= log.count) {  // or it is not worth a walk through all of it
        Shorten(log);
        if (log.count * 4 <= log.capacity) Resize(log, log.count);
      }
      if (log.count > 1) Enqueue(log);
      if (&log == last) return;
    }
  }

  typename Mem::Lock lock_;
  Arena<Mem>& arena_;
  List list_;
  LocksetMatrix<Mem, OwnerSet> settled_;  // evaluated up to the head of the list
  Ownership* revived_ = nullptr;  // the latest: cells of one page are revived from one birth, one after the other
  Birth revived_birth_{};
  LifetimeLog* first_log_ = nullptr;
  LifetimeLog* last_log_ = nullptr;
  uint64_t ownerships_ = 0;
  uint64_t numbers_ = 0;
};

template <class Mem, class Limits>
struct OwnershipLedger<Mem, Limits>::OwnerSet : SyncEventList<Mem, Limits>::Position {
  explicit OwnerSet(Element first) : elements(first) {}

  ElementSet<Mem> elements;
  uint64_t users = 0;
  bool is_settled() const { return row != kNoRow; }

  static constexpr uint32_t kNoRow = UINT32_MAX;
  uint32_t row = kNoRow;       // if settled: then `elements` are empty, and it stands nowhere
  LifetimeLog* log = nullptr;  // if a lifetime began in the segment whose set it was made for: its thread's log ...
  uint64_t segment = 0;        // ... and its number
  OwnerSet* same = nullptr;    // the set that this one was made one with: then it is neither here nor there
  Tid found = kNoThread;       // a thread that is known to be an owner by now, although not yet at this position
};

// Never freed, because a Birth may name it at any time: 56 bytes for each thread that ever began a lifetime.
template <class Mem, class Limits>
class OwnershipLedger<Mem, Limits>::LifetimeLog {
  friend class OwnershipLedger;
  friend class Arena<Mem>;

  Run* runs = nullptr;
  LifetimeLog* next = nullptr;  // in the queue of those to shorten
  Tid owner{};
  uint32_t count = 0;
  uint32_t capacity = 0;
  uint32_t joined = 0;  // runs whose sets have become others' since it was shortened
  bool waiting = false;
};

}  // namespace redflag
