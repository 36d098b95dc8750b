// Labelled: what detectors have in common that label each access with a slot and a time (clocks/epoch.h), whatever their rules are:
// where their cells and clocks live, how a thread goes on when the times of its slot are used up, how bytes begin anew. The engine that
// runs them inside a program relies on it (runtime/runtime.h).
//
// CellOf: how a cell is stored. Offline exactly, with all there is to know; online in two words (clocks/packed_cell.h).
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "clocks/commit_clocks.h"
#include "clocks/history_entry.h"
#include "clocks/lockset.h"
#include "clocks/thread_slots.h"
#include "events/access.h"

namespace redflag {

template <class Mem, template <class> class CellOf>
class Labelled {
 public:
  using Cell = CellOf<Mem>;
  using OpenedCell = typename Cell::Opened;

  // The write that began a lifetime.
  using Stamp = HistoryEntry;

  // What accesses of t are labelled with now.
  template <class Thread>
  static Epoch LabelOf(const Thread& t) {
    return t.clock.epoch();
  }

  // ---- Lifetimes: [GL Fig.5 rule 8], with the allocation itself as the first write ----

  void Revive(Cell& cell, ByteMask bytes, const Stamp& stamp) {
    HistoryEntry first = stamp;
    first.bytes = bytes;
    OpenedCell(cell).Restart(cell_arena_, first);
  }

  // The memory is freed: the cell remembers the free as one that everything comes after without order.
  template <class Label>
  void End(Cell& cell, Label free) {
    OpenedCell(cell).End(cell_arena_, free);
  }

  void Forget(Cell& cell) { cell.Clear(cell_arena_); }
  // Nothing is known of these bytes any more.
  void Forget(Cell& cell, ByteMask bytes) { OpenedCell(cell).Clear(cell_arena_, bytes); }

  // ---- Reads of what several threads read, kept apart from cells ----

  // As PackedCell::ReadsApart.
  template <class Clock, class Label, class Mix>
  bool ReadsApart(const Clock& clock, Cell& cell, uint64_t* word, Label mine, Mix mix) {
    return cell.ReadsApart(cell_arena_, clock, word, mine, mix);
  }
  // The cell is to remember it now.
  template <class Label>
  void TakeIn(Cell& cell, Label read) {
    OpenedCell(cell).TakeIn(cell_arena_, read);
  }

  // ---- Few times and slots ----

  // [HB renew]: where cells have few bits for a time, a thread that has used them up goes on in another slot, and stays
  // where it is if there is none: its time then stands still, which can hide a race and invents none.
  template <class Thread>
  bool NeedsRenewal(const Thread& t) const {
    return slots_.IsUsedUp(TimeOf(t.clock.epoch()));
  }
  template <class Thread>
  void Renew(Thread& t) {
    t.clock.MoveTo(slots_.Exchange(t.tid, t.clock.clock()));
  }

  // [HB era]: all slots are used up. The engine has emptied every cell and every synchronization object, so that no label is left; the
  // threads that there are then begin anew. Races between what was before and what comes are not found.
  void BeginEra() {
    slots_.Reset();
    commits_.BeginEra();  // what was committed names times too
    cell_arena_.Recycle();
  }
  template <class Thread>
  void Restart(Thread& t) {
    t.clock.Restart(slots_.Claim(t.tid, nullptr));
  }

  // ---- Reports and tests ----

  LocksetTable<Mem>& locksets() { return locksets_; }
  ThreadSlots<Mem>& slots() { return slots_; }
  const Arena<Mem>& arena() const { return arena_; }
  const Arena<Mem>& cell_arena() const { return cell_arena_; }

 protected:
  Labelled() : locksets_(arena_), slots_(arena_, Cell::kSlots, Cell::kTimes), commits_(arena_) {}

  template <class Thread>
  Stamp StampOf(Thread& t, Addr addr, uint64_t size, AccessOrigin origin, ContextId context) {
    commits_.Forget(addr, size);
    return Stamp{.epoch = t.clock.epoch(),
                 .context = context,
                 .locks = Cell::kKeepsLocks ? t.held.id() : kEmptyLockset,
                 .bytes = kAllBytes,
                 .kind = AccessKind::kWrite,
                 .origin = origin};
  }

  Arena<Mem> arena_;  // first: everything below lives in it
  // What cells need beside themselves. Apart, because cells look at it without a lock: nothing else may ever be there.
  Arena<Mem> cell_arena_;
  LocksetTable<Mem> locksets_;
  ThreadSlots<Mem> slots_;
  CommitClocks<Mem> commits_;
};

}  // namespace redflag
