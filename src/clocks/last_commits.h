// LastCommits: for each byte, the latest transaction that touched it (Goldilocks section 3). A commit is ordered after every
// earlier one that has a byte in common, so the latest of each byte stands for all of them. Commits are numbers that are
// never used twice; when no byte is left whose latest commit is c, nobody can be ordered after c through a byte any more,
// and the number is dead.
//
// By reads (clocks/commit_clocks.h), a commit is ordered after those that wrote what it reads. Where one has written a byte without being ordered after
// the latest before it, a number of its own, no thread's, stands for both.
//
// Thread-safe under AtomicMem; visitors are called under its lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/mem.h"
#include "base/vector.h"
#include "clocks/commit_clocks.h"
#include "events/access.h"

namespace redflag {

template <class Mem>
class LastCommits {
 public:
  explicit LastCommits(Arena<Mem>& arena) : arena_(arena), cells_(arena) {}

  void OrderByReads() { by_reads_ = true; }
  bool is_by_reads() const { return by_reads_; }

  // Calls visit(commit, author) once for each commit that is the latest of one of these bytes.
  template <class Visitor>
  void ForEach(const Footprint* footprint, size_t count, Visitor visit) {
    ScopedLock guard(lock_);
    ++visits_;
    ForEachGranuleOf(footprint, count, AccessKind::kRead, [&](Addr granule, ByteMask bytes) {
      Cell* cell = cells_.Find(Raw(granule));
      if (cell == nullptr) return;
      ForEachByte(*cell, bytes, [&](Commit*& commit) {
        if (commit == nullptr || commit->visit == visits_) return;
        commit->visit = visits_;
        visit(commit->number, commit->author);
      });
    });
  }

  // These bytes are touched by a new commit, after ForEach() of the same one. Calls born(commit), then dead(commit) for each that is no byte's latest now.
  // By reads, joined(earlier, commit): this one stands for that earlier one, too.
  template <class Born, class Joined, class Dead>
  void Add(Tid author, const Footprint* footprint, size_t count, Born born, Joined joined, Dead dead) {
    ScopedLock guard(lock_);
    Commit* mine = nullptr;
    const uint64_t before = numbers_;
    const auto make = [&](Tid whose) {
      Commit* made = arena_.template New<Commit>();
      made->number = ++numbers_;
      made->author = whose;
      born(made->number);
      return made;
    };
    ForEachGranuleOf(footprint, count, AccessKind::kWrite, [&](Addr granule, ByteMask bytes) {
      ForEachByte(cells_.Insert(Raw(granule)), bytes, [&](Commit*& commit) {
        if (commit != nullptr && commit->number > before) return;  // the footprint names it twice
        const bool is_blind = by_reads_ && commit != nullptr && commit->author != author && commit->visit != visits_;
        Commit* fresh = nullptr;
        if (is_blind) {
          fresh = make(kNoThread);
          joined(commit->number, fresh->number);
        } else {
          if (mine == nullptr) mine = make(author);
          fresh = mine;
        }
        ++fresh->bytes;
        Drop(commit, dead);
        commit = fresh;
      });
    });
  }

  // These bytes begin a new lifetime. Walks whichever is shorter: the range or the table.
  template <class Dead>
  void Forget(Addr addr, uint64_t size, Dead dead) {
    ScopedLock guard(lock_);
    if (cells_.size() == 0) return;
    if (size / kGranule <= cells_.size()) {
      ForEachGranule(addr, size, [&](Addr granule, ByteMask bytes) { ForgetCell(granule, bytes, dead); });
      return;
    }
    Vector<Addr, Mem> touched(arena_);
    cells_.ForEach([&](uint64_t granule, Cell&) {
      if (granule + kGranule > Raw(addr) && granule < Raw(addr + size)) touched.Push(Addr{granule});
    });
    for (const Addr granule : touched) {
      const Addr first = granule < addr ? addr : granule;
      ForgetCell(granule, MaskOf(first, addr + size - first), dead);
    }
  }

 private:
  struct Commit {
    uint64_t number = 0;
    uint64_t bytes = 0;  // whose latest it is
    uint64_t visit = 0;  // the latest ForEach that showed it
    Tid author{};
  };
  struct Cell {
    Commit* latest[kGranule];
  };

  // By reads, those of this kind only.
  template <class Visitor>
  void ForEachGranuleOf(const Footprint* footprint, size_t count, AccessKind kind, Visitor visit) {
    for (size_t i = 0; i < count; ++i) {
      if (!by_reads_ || footprint[i].kind == kind) ForEachGranule(footprint[i].addr, footprint[i].size, visit);
    }
  }
  template <class Visitor>
  static void ForEachByte(Cell& cell, ByteMask bytes, Visitor visit) {
    for (uint32_t byte = 0; byte < kGranule; ++byte) {
      if ((Raw(bytes) >> byte & 1) != 0) visit(cell.latest[byte]);
    }
  }

  template <class Dead>
  void Drop(Commit*& commit, Dead& dead) {
    if (commit != nullptr && --commit->bytes == 0) {
      dead(commit->number);
      arena_.Delete(commit);
    }
    commit = nullptr;
  }

  template <class Dead>
  void ForgetCell(Addr granule, ByteMask bytes, Dead& dead) {
    Cell* cell = cells_.Find(Raw(granule));
    if (cell == nullptr) return;
    ForEachByte(*cell, bytes, [&](Commit*& commit) { Drop(commit, dead); });
    for (const Commit* commit : cell->latest) {
      if (commit != nullptr) return;
    }
    cells_.Erase(Raw(granule));
  }

  typename Mem::Lock lock_;
  Arena<Mem>& arena_;
  HashMap<Cell, Mem> cells_;
  uint64_t numbers_ = 0;
  uint64_t visits_ = 0;
  bool by_reads_ = false;
};

}  // namespace redflag
