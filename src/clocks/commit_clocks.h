// CommitClocks: the happens-before edges between transactions (Goldilocks section 3): a commit is ordered
// after every earlier commit that touched at least one byte in common. Only the latest commit of each byte
// has to be remembered: it is ordered after all earlier ones of that byte.
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
  explicit CommitClocks(Arena<Mem>& arena) : arena_(arena), cells_(arena) {}
  ~CommitClocks() {
    cells_.ForEach([this](uint64_t, Cell& cell) { Drop(cell, kAllBytes); });
  }

  // `thread` learns what earlier commits on these bytes knew. The accesses of the transaction are checked
  // after this.
  void Acquire(ThreadClock<Mem>& thread, const Footprint* footprint, size_t count) {
    ScopedLock guard(lock_);
    const Message* last = nullptr;
    ForEachByte(footprint, count, [&](Message*& message) {
      if (message == last || message == nullptr) return;
      last = message;
      if (message->is_at_own_time && thread.Knows(message->at)) return;
      thread.Join(message->clock);
    });
  }

  // Later commits on these bytes are ordered after this one. is_at_own_time: the thread has handed on nothing else at its present time, nor will
  // it; so that whoever knows of this time knows all that is handed on now, and has nothing to join.
  void Release(ThreadClock<Mem>& thread, const Footprint* footprint, size_t count, bool is_at_own_time = false) {
    commits_.Add(1);
    ScopedLock guard(lock_);
    Message* mine = ::new (arena_.Allocate(sizeof(Message))) Message(arena_);
    mine->clock.Assign(thread.clock());
    mine->at = thread.epoch();
    mine->is_at_own_time = is_at_own_time;
    ForEachByte(footprint, count, [&](Message*& message) {
      ++mine->bytes;
      if (message != nullptr) Drop(message);
      message = mine;
    });
    thread.Tick();
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
    cells_.ForEach([&](uint64_t granule, Cell&) {
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
  };
  struct Cell {
    Message* messages[kGranule];
  };

  template <class Visitor>
  void ForEachByte(const Footprint* footprint, size_t count, Visitor visit) {
    for (size_t i = 0; i < count; ++i) {
      ForEachGranule(footprint[i].addr, footprint[i].size, [&](Addr granule, ByteMask bytes) {
        Cell& cell = cells_.Insert(Raw(granule));
        for (uint32_t left = Raw(bytes); left != 0; left &= left - 1) visit(cell.messages[__builtin_ctz(left)]);
      });
    }
  }

  void ForgetCell(Addr granule, ByteMask bytes) {
    Cell* cell = cells_.Find(Raw(granule));
    if (cell == nullptr) return;
    Drop(*cell, bytes);
    for (const Message* message : cell->messages) {
      if (message != nullptr) return;
    }
    cells_.Erase(Raw(granule));
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
  HashMap<Cell, Mem> cells_;
};

}  // namespace redflag
