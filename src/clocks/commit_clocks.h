// CommitClocks: the happens-before edges between transactions (Goldilocks section 3): a commit is ordered
// after every earlier commit that touched at least one byte in common. Only the latest commit of each byte
// has to be remembered: it is ordered after all earlier ones of that byte.
//
// By reads, the third interpretation of that section: a commit is ordered after every earlier one that wrote a byte which it reads. Of commits that write
// without reading there may be several then that are not ordered with each other: who reads the byte is ordered after all of them. And commits may conflict
// without being ordered, which is no race; so it is kept which times are those of commits.
//
// Thread-safe under AtomicMem: one lock, held for the whole of a commit's exchange, which makes the exchange
// the commit point in the order of commits.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/mem.h"
#include "base/vector.h"
#include "clocks/sync_clocks.h"
#include "clocks/sync_event_list.h"
#include "clocks/vector_clock.h"
#include "events/access.h"

namespace redflag {

// One range of a transaction's footprint.
struct Footprint {
  Addr addr{};
  uint64_t size = 0;
  AccessKind kind{};
};

// Calls visit(granule, bytes) for each granule that [addr, addr + size) touches.
template <class Visitor>
void ForEachGranule(Addr addr, uint64_t size, Visitor visit) {
  while (size != 0) {
    const uint64_t room = kGranule - (Raw(addr) & (kGranule - 1));
    const uint64_t bytes = size < room ? size : room;
    visit(GranuleOf(addr), MaskOf(addr, bytes));
    addr = addr + bytes;
    size -= bytes;
  }
}

template <class Mem>
class CommitClocks {
 public:
  explicit CommitClocks(Arena<Mem>& arena) : arena_(arena), cells_(arena), touched_(arena), times_(arena) {}
  ~CommitClocks() {
    cells_.ForEach([this](uint64_t, Cell* cell) {
      Drop(*cell, kAllBytes);
      arena_.Delete(cell);
    });
  }

  void OrderByReads() { by_reads_ = true; }
  bool is_by_reads() const { return by_reads_; }

  // By reads: is this the time of a commit?
  bool IsOfCommit(Epoch epoch) {
    ScopedLock guard(lock_);
    const uint64_t* times = times_.Find(Raw(epoch) / kTimesTogether);
    return times != nullptr && (*times >> Raw(epoch) % kTimesTogether & 1) != 0;
  }

  // What may be asked of each commit that stands for others: its number, never used twice, and its turn (clocks/ownership_log.h).
  struct Name {
    uint64_t number;
    EventTurn turn;
  };

  // `thread` learns what earlier commits on these bytes knew. The accesses of the transaction are checked
  // after this. heard(Name&): of each that it learns from.
  template <class Heard>
  void Acquire(ThreadClock<Mem>& thread, const Footprint* footprint, size_t count, Heard heard) {
    ScopedLock guard(lock_);
    Touch(thread, footprint, count, AccessKind::kRead);
    const Message* last = nullptr;
    ForEachTouched([&](Message*& message) {
      if (message == last || message == nullptr) return;
      last = message;
      if (IsKnown(thread, *message)) return;
      thread.Join(message->clock);
      heard(message->name);
    });
  }
  void Acquire(ThreadClock<Mem>& thread, const Footprint* footprint, size_t count) {
    Acquire(thread, footprint, count, [](Name&) {});
  }

  // Later commits on these bytes are ordered after this one; the footprint is that of the call of Acquire before. is_at_own_time: the thread has handed
  // on nothing else at its present time, nor will it; so that whoever knows of this time knows all that is handed on now, and has nothing to join.
  // made(Name&): what stands for the commit; joined(earlier, made): and for that earlier one, too.
  template <class Made, class Joined>
  void Release(ThreadClock<Mem>& thread, const Footprint* footprint, size_t count, bool is_at_own_time, Made made,
               Joined joined) {
    commits_.Add(1);
    ScopedLock guard(lock_);
    Message* mine = NewMessage(thread);
    made(mine->name);
    mine->is_at_own_time = is_at_own_time;
    ++mine->bytes;  // not yet to be dropped
    if (by_reads_ || !touched_for_.Is(thread, footprint, count)) Touch(thread, footprint, count, AccessKind::kWrite);
    ForEachTouched([&](Message*& message) {
      Message* fresh = mine;
      if (by_reads_ && message != nullptr && message != mine && !IsKnown(thread, *message)) {
        fresh = NewMessage(thread);
        fresh->clock.Join(message->clock);
        made(fresh->name);
        joined(message->name, fresh->name);
      }
      ++fresh->bytes;
      if (message != nullptr) Drop(message);
      message = fresh;
    });
    Drop(mine);
    if (by_reads_) {
      times_.Insert(Raw(thread.epoch()) / kTimesTogether) |= uint64_t{1} << Raw(thread.epoch()) % kTimesTogether;
    }
    thread.Tick();
  }
  void Release(ThreadClock<Mem>& thread, const Footprint* footprint, size_t count, bool is_at_own_time = false) {
    Release(thread, footprint, count, is_at_own_time, [](Name&) {}, [](Name&, Name&) {});
  }

  // No time means anything any more.
  void BeginEra() {
    Forget(Addr{0}, UINT64_MAX);
    ScopedLock guard(lock_);
    Vector<uint64_t, Mem> known(arena_);
    times_.ForEach([&](uint64_t times, uint64_t&) { known.Push(times); });
    for (const uint64_t times : known) times_.Erase(times);
  }

  // These bytes begin a new lifetime. Walks whichever is shorter: the range or the table.
  void Forget(Addr addr, uint64_t size) {
    if (commits_.Load() == 0) return;
    ScopedLock guard(lock_);
    if (size / kGranule <= cells_.size()) {
      ForEachGranule(addr, size, [this](Addr granule, ByteMask bytes) { ForgetCell(granule, bytes); });
      return;
    }
    Vector<Addr, Mem> touched(arena_);
    cells_.ForEach([&](uint64_t granule, Cell*) {
      if (granule + kGranule > Raw(addr) && granule < Raw(addr + size)) touched.Push(Addr{granule});
    });
    for (const Addr granule : touched) {
      const Addr first = granule < addr ? addr : granule;
      ForgetCell(granule, MaskOf(first, addr + size - first));
    }
  }

 private:
  // What one commit published; shared by all bytes whose latest commit it is.
  struct Message {
    explicit Message(Arena<Mem>& arena) : clock(arena) {}
    VectorClock<Mem> clock;
    Epoch at{};  // when the thread committed
    bool is_at_own_time = false;
    uint64_t bytes = 0;
    Name name;
  };
  struct Cell {
    Message* messages[kGranule] = {};
  };
  struct Touched {
    Cell* cell;
    ByteMask bytes;
  };
  struct Purpose {
    const ThreadClock<Mem>* thread = nullptr;
    const Footprint* footprint = nullptr;
    size_t count = 0;
    bool Is(const ThreadClock<Mem>& by, const Footprint* of, size_t n) const {
      return thread == &by && footprint == of && count == n;
    }
  };

  static constexpr uint64_t kTimesTogether = 64;

  static bool IsKnown(const ThreadClock<Mem>& thread, const Message& message) {
    return message.is_at_own_time && thread.Knows(message.at);
  }
  Message* NewMessage(const ThreadClock<Mem>& thread) {
    Message* message = ::new (arena_.Allocate(sizeof(Message))) Message(arena_);
    message->clock.Assign(thread.clock());
    message->at = thread.epoch();
    message->name = {.number = ++numbers_, .turn = {}};
    return message;
  }

  // The cells of a footprint; by reads, of what is of this kind only. They stay for the second half of a commit.
  void Touch(const ThreadClock<Mem>& thread, const Footprint* footprint, size_t count, AccessKind kind) {
    touched_for_ = {.thread = &thread, .footprint = footprint, .count = count};
    touched_.Clear();
    Addr last{};
    for (size_t i = 0; i < count; ++i) {
      if (by_reads_ && footprint[i].kind != kind) continue;
      ForEachGranule(footprint[i].addr, footprint[i].size, [&](Addr granule, ByteMask bytes) {
        if (!touched_.empty() && granule == last) {  // fields of one object
          touched_.back().bytes = touched_.back().bytes | bytes;
          return;
        }
        last = granule;
        Cell*& cell = cells_.Insert(Raw(granule));
        if (cell == nullptr) cell = arena_.template New<Cell>();
        touched_.Push({.cell = cell, .bytes = bytes});
      });
    }
  }
  template <class Visitor>
  void ForEachTouched(Visitor visit) {
    for (const Touched& touched : touched_) {
      for (uint32_t left = Raw(touched.bytes); left != 0; left &= left - 1) {
        visit(touched.cell->messages[__builtin_ctz(left)]);
      }
    }
  }

  void ForgetCell(Addr granule, ByteMask bytes) {
    Cell** place = cells_.Find(Raw(granule));
    if (place == nullptr) return;
    Cell* cell = *place;
    Drop(*cell, bytes);
    for (const Message* message : cell->messages) {
      if (message != nullptr) return;
    }
    touched_for_ = {};  // it may be among them
    cells_.Erase(Raw(granule));
    arena_.Delete(cell);
  }

  void Drop(Message* message) {
    if (--message->bytes != 0) return;
    message->~Message();
    arena_.Free(message, sizeof(Message));
  }
  void Drop(Cell& cell, ByteMask bytes) {
    for (uint32_t byte = 0; byte < kGranule; ++byte) {
      Message*& message = cell.messages[byte];
      if ((Raw(bytes) >> byte & 1) == 0 || message == nullptr) continue;
      Drop(message);
      message = nullptr;
    }
  }

  typename Mem::Lock lock_;
  typename Mem::Counter commits_;  // most programs have none
  Arena<Mem>& arena_;
  HashMap<Cell*, Mem> cells_;
  Vector<Touched, Mem> touched_;  // by the commit that is under way
  Purpose touched_for_;
  uint64_t numbers_ = 0;
  bool by_reads_ = false;
  HashMap<uint64_t, Mem> times_;  // by reads, a bit for each time of a commit
};

}  // namespace redflag
