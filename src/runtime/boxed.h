// Boxed: any detector of detectors/list.def inside a running program. The shadow has two words for a granule (runtime/shadow.h), which
// is too little for most detectors' cells; so the first leads to where the cell is, and the second is the filter that the access path
// of the runtime looks at (runtime/abi_access.cc).
//
//   link    0: nothing is known of the granule     a Box: its cell, and a lock     a Birth: it began so, and nobody came since
//   label   a PackedAccess without a context: who was here last, when, and what that makes redundant
//
// Labels. The slot and the time in it are the runtime's own and mean nothing to the detector: a thread has one that nobody else has, and
// another one whenever the detector says that accesses may be told apart from now on (Tag::kChanged). So a thread that finds its label
// of now has nothing to tell. There is one label: whoever comes replaces it, so that it also says that nobody else has been here since,
// as some detectors want (Filter::kExclusive).
//
// Births. Memory that is allocated or freed begins a new life with its first write (OnLifetime). Cells that exist are told at once;
// for the others the link leads to the stamp until somebody touches them.
//
// Objects. A detector that keeps one cell for a whole object (Map::kObject) has one box for a block of the heap, to which all granules of
// the block lead that somebody has touched; other memory is objects of a granule each. There a new life is an empty box.
//
// Locks: that of the box, around everything that is done to the cell and the label; the detector's own inside of it. A box may be taken
// from its granule at any time by whoever holds its lock; who comes too late finds another link, and looks again. Boxes that are free
// have a lock of their own (free_lock_), taken last and for a moment. Called by the runtime, each thread for itself.
#pragma once

#include <cstdint>
#include <new>

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "clocks/commit_clocks.h"
#include "clocks/packed_access.h"
#include "clocks/packed_words.h"
#include "clocks/thread_slots.h"
#include "detectors/detector.h"

namespace redflag::rt {

// The object of the program that has this byte. False: there is none.
using FindObject = bool (*)(uint64_t addr, uint64_t& begin, uint64_t& bytes);

template <class D>
class Boxed {
 public:
  static constexpr auto& kRules = D::kRules;
  static constexpr uint32_t kRuleCount = D::kRuleCount;
  static constexpr Claim kClaim = D::kClaim;
  static constexpr const char* kName = D::kName;
  static constexpr bool kCanRefuse = requires { requires D::kCanRefuse; };

  struct Thread : D::Thread {
    Thread(Boxed& boxed, Tid tid) : D::Thread(boxed.detector_, tid) {}
    Epoch label{};
  };
  struct Sync : D::Sync {
    explicit Sync(Boxed& boxed) : D::Sync(boxed.detector_) {}
  };
  using Stamp = typename D::Stamp;

  struct alignas(16) Cell {
    uint64_t link;
    uint64_t label;

    struct Words {
      uint64_t write;
      uint64_t read;
      static bool is_in_place() { return false; }
      static bool has_all_raced() { return false; }
    };
    Words Load() const { return {.write = __atomic_load_n(&link, __ATOMIC_RELAXED), .read = Label().word()}; }
    bool Covers(PackedAccess access) const { return Label().Covers(access); }
    bool CoversInPlace(PackedAccess access) const { return Covers(access); }
    static bool CoversAtHome(PackedAccess) { return false; }
    // Nothing is quick that needs a box.
    static void Store(Words) {}
    static bool CompareExchange(Words, Words) { return false; }
    static bool has_record() { return false; }
    static bool Renews(Words, Renewed, PackedAccess, bool) { return false; }
    static bool RenewsInRecord(PackedAccess) { return false; }
    template <AccessKind kKind, class Clock>
    static bool RecordsQuickly(const Clock&, PackedAccess, bool) {
      return false;
    }
    template <class Clock>
    static bool RecordsBeside(const Clock&, PackedAccess, bool) {
      return false;
    }
    template <class Clock>
    static bool EndsQuickly(const Clock&, PackedAccess, Words, bool, Words&) {
      return false;
    }
    static Words FreedBy(PackedAccess) { return {}; }
    template <class Clock, class IsKnown>
    static bool RacesAgain(const Clock&, PackedAccess, bool, IsKnown) {
      return false;
    }
    template <class Clock>
    static bool Refresh(const Clock&, PackedAccess, bool) {
      return false;
    }
    template <class Clock>
    static bool GoesOn(const Clock&, PackedAccess) {
      return false;
    }

    PackedAccess Label() const { return PackedAccess(__atomic_load_n(&label, __ATOMIC_RELAXED)); }
    void SetLabel(PackedAccess access) { __atomic_store_n(&label, access.word(), __ATOMIC_RELAXED); }
  };
  static_assert(sizeof(Cell) == 16);

  static constexpr bool kHasObjects = D::kMap == Map::kObject;

  Boxed() : slots_(arena_, PackedAccess::kMaxSlots, PackedAccess::kMaxTime) {}

  // ---- Everything that a thread does: the detector decides, the label follows ----

  Tag OnStart(Thread& t) {
    ClaimLabel(t);
    return detector_.OnStart(t);
  }
  Tag OnFork(Thread& parent, Thread& child) {
    ClaimLabel(child);
    return Follow(parent, detector_.OnFork(parent, child));
  }
  Tag OnJoin(Thread& t, Thread& child) { return Follow(t, detector_.OnJoin(t, child)); }
  Tag OnEnd(Thread& t) {
    slots_.Retire(t.label);
    return detector_.OnEnd(t);
  }
  Tag OnLock(Thread& t, Sync& s, LockMode mode) { return Follow(t, detector_.OnLock(t, s, mode)); }
  Tag OnUnlock(Thread& t, Sync& s, LockMode mode) { return Follow(t, detector_.OnUnlock(t, s, mode)); }
  Tag OnPureHbLock(Thread& t, Sync& s) { return Follow(t, detector_.OnPureHbLock(t, s)); }
  Tag OnAcquire(Thread& t, Sync& s) { return Follow(t, detector_.OnAcquire(t, s)); }
  Tag OnReleaseStore(Thread& t, Sync& s) { return Follow(t, detector_.OnReleaseStore(t, s)); }
  Tag OnReleaseMerge(Thread& t, Sync& s) { return Follow(t, detector_.OnReleaseMerge(t, s)); }
  Tag OnRelaxedLoad(Thread& t, Sync& s) { return Follow(t, detector_.OnRelaxedLoad(t, s)); }
  Tag OnRelaxedStore(Thread& t, Sync& s) { return Follow(t, detector_.OnRelaxedStore(t, s)); }
  Tag OnRelaxedMerge(Thread& t, Sync& s) { return Follow(t, detector_.OnRelaxedMerge(t, s)); }
  void OrderByReads()
    requires requires(D& detector) { detector.OrderByReads(); }
  {
    detector_.OrderByReads();
  }
  Tag OnCommitBegin(Thread& t, const Footprint* footprint, size_t count) {
    return Follow(t, detector_.OnCommitBegin(t, footprint, count));
  }
  Tag OnCommitEnd(Thread& t, const Footprint* footprint, size_t count) {
    return Follow(t, detector_.OnCommitEnd(t, footprint, count));
  }
  Tag OnAcquireFence(Thread& t) { return Follow(t, detector_.OnAcquireFence(t)); }
  Tag OnReleaseFence(Thread& t) { return Follow(t, detector_.OnReleaseFence(t)); }

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    if constexpr (!D::kReports) {
      typename D::Cell nothing{};
      return detector_.OnAccess(t, nothing, access, record);
    }
    const Opened box(*this, cell, access.granule);
    Access whole = access;
    whole.object = box->begin;
    whole.object_size = box->bytes;
    const ByteMask raced = detector_.OnAccess(t, box->cell, whole, record);
    const bool is_remembered = access.if_racy != IfRacy::kAsked && (access.if_racy == IfRacy::kReported || !Any(raced));
    if (D::kFilter != Filter::kNone && is_remembered) {
      const PackedAccess mine(t.label, access.kind, access.bytes, kNoContext);
      const PackedAccess last = cell.Label();
      cell.SetLabel(last.SameMoment(mine) ? last.With(last.bytes() | mine.bytes()) : mine);
    }
    return raced;
  }

  // ---- Lifetimes ----

  struct Birth {
    Stamp stamp;
    uint32_t users;  // granules that have this link, and whoever is handing it out
  };
  Birth* NewBirth(Thread& t, Addr addr, uint64_t size, AccessOrigin origin, ContextId context) {
    auto* birth = static_cast<Birth*>(births_.Allocate(sizeof(Birth)));
    birth->stamp = detector_.OnLifetime(t, addr, size, origin, context);
    birth->users = 1;
    return birth;
  }
  void DropBirth(Birth* birth) {
    if (__atomic_sub_fetch(&birth->users, 1, __ATOMIC_ACQ_REL) == 0) births_.Free(birth, sizeof(Birth));
  }

  void Revive(Cell& cell, Addr granule, ByteMask bytes, Birth* birth) {
    if constexpr (!D::kReports) return;
    if constexpr (kHasObjects) return Forget(cell, bytes);
    if (bytes == kAllBytes) {
      uint64_t link = __atomic_load_n(&cell.link, __ATOMIC_ACQUIRE);
      while (!IsBox(link)) {
        __atomic_fetch_add(&birth->users, 1, __ATOMIC_RELAXED);
        const uint64_t fresh = LinkTo(birth);
        if (__atomic_compare_exchange_n(&cell.link, &link, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
          cell.SetLabel(PackedAccess());
          if (IsBirth(link)) DropBirth(BirthOf(link));
          return;
        }
        DropBirth(birth);
      }
    }
    const Opened box(*this, cell, granule);
    detector_.Revive(box->cell, bytes, birth->stamp);
    cell.SetLabel(PackedAccess());
  }

  // Nothing is known of these bytes any more, nor of others of the granule, which cells cannot tell apart here.
  void Forget(Cell& cell, ByteMask) {
    for (;;) {
      uint64_t link = __atomic_load_n(&cell.link, __ATOMIC_ACQUIRE);
      if (link == 0) return;
      if (IsBirth(link)) {
        if (!__atomic_compare_exchange_n(&cell.link, &link, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
        DropBirth(BirthOf(link));
        return;
      }
      Box* box = BoxOf(link);
      ScopedLock guard(box->lock);
      if (__atomic_load_n(&cell.link, __ATOMIC_RELAXED) != link) continue;
      __atomic_store_n(&cell.link, 0, __ATOMIC_RELEASE);
      cell.SetLabel(PackedAccess());
      if (--box->users == 0) FreeBox(box);
      return;
    }
  }

  // ---- Shortcuts, of which there are none ----

  template <class Clock, class Mix>
  static bool ReadsApart(const Clock&, Cell&, uint64_t*, PackedAccess, Mix) {
    return false;
  }
  static void TakeIn(Cell&, PackedAccess) {}
  template <class Mix>
  static bool TakesShortcut(Thread&, Cell&, PackedAccess, Mix, bool) {
    return false;
  }
  static uint64_t Count(Thread&, AccessKind, uint64_t = 1) { return 0; }
  static void CountRace(Thread&) {}
  static void End(Cell&, PackedAccess) {}
  static Epoch ClockOf(const Thread& t) { return t.label; }

  // ---- Labels ----

  static Epoch LabelOf(const Thread& t) { return t.label; }
  bool NeedsRenewal(const Thread& t) const { return slots_.IsUsedUp(TimeOf(t.label)); }
  void Renew(Thread& t) {
    slots_.Retire(t.label);
    ClaimLabel(t);
  }
  // No cell has a link or a label any more, and nobody else is inside. What threads and synchronization objects know stays true.
  void BeginEra() {
    for (Chunk* chunk = chunks_; chunk != nullptr; chunk = chunk->next) {
      for (Box& box : chunk->boxes) {
        if (box.users == 0) continue;
        detector_.Forget(box.cell);
        box.cell = {};
        box.users = 0;
        box.next = free_;
        free_ = &box;
      }
    }
    births_.Recycle();
    slots_.Reset();
  }
  void Restart(Thread& t) { ClaimLabel(t); }

  void FindObjectsBy(FindObject find) { find_object_ = find; }
  LocksetTable<AtomicMem>& locksets() { return detector_.locksets(); }
  ThreadSlots<AtomicMem>& slots() { return slots_; }
  const Arena<AtomicMem>& arena() const { return detector_.arena(); }
  const Arena<AtomicMem>& cell_arena() const { return boxes_; }

 private:
  struct alignas(16) Box {
    AtomicMem::Lock lock;
    uint32_t users = 0;  // granules that lead here; 0: free
    Addr begin{};        // of the granule or the object that it is of
    uint64_t bytes = 0;
    Box* next = nullptr;
    typename D::Cell cell{};
  };
  struct Chunk {
    static constexpr uint32_t kBoxes = 64;
    Chunk* next;
    Box boxes[kBoxes];
  };

  // A link: the address, shifted, below where the time of an access would be; one bit for births.
  static constexpr int kLinkShift = 4;
  static constexpr uint64_t kBirthBit = uint64_t{1} << (PackedAccess::kTimeShift - 1);
  static bool IsBirth(uint64_t link) { return (link & kBirthBit) != 0; }
  static bool IsBox(uint64_t link) { return link != 0 && !IsBirth(link); }
  static Box* BoxOf(uint64_t link) { return reinterpret_cast<Box*>(link << kLinkShift); }
  static Birth* BirthOf(uint64_t link) { return reinterpret_cast<Birth*>((link & ~kBirthBit) << kLinkShift); }
  static uint64_t LinkTo(const Box* box) { return reinterpret_cast<uint64_t>(box) >> kLinkShift; }
  static uint64_t LinkTo(const Birth* birth) { return reinterpret_cast<uint64_t>(birth) >> kLinkShift | kBirthBit; }

  // The box of a cell, locked; made if there is none.
  class Opened {
   public:
    Opened(Boxed& boxed, Cell& cell, Addr granule) {
      for (;;) {
        uint64_t link = __atomic_load_n(&cell.link, __ATOMIC_ACQUIRE);
        if (IsBox(link)) {
          box_ = BoxOf(link);
          box_->lock.Acquire();
          if (__atomic_load_n(&cell.link, __ATOMIC_RELAXED) == link) return;
          box_->lock.Release();
          continue;
        }
        if constexpr (kHasObjects) {
          if (SharesBox(boxed, cell, granule)) return;
          if (box_ == nullptr) continue;
        } else {
          box_ = boxed.NewBox(granule, kGranule);
        }
        // The birth may go at any time, until the cell's share in it is taken from the cell. Others wait for the lock of the box.
        if (__atomic_compare_exchange_n(&cell.link, &link, LinkTo(box_), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
          if (IsBirth(link)) {
            boxed.detector_.Revive(box_->cell, kAllBytes, BirthOf(link)->stamp);
            boxed.DropBirth(BirthOf(link));
          }
          return;
        }
        boxed.FreeBox(box_);
        box_->lock.Release();
      }
    }
    ~Opened() {
      if (box_ != nullptr) box_->lock.Release();
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    Box* operator->() const { return box_; }

   private:
    // The object's box, if another granule has it already or should: then all is done, or has to be done again. Otherwise a new one.
    bool SharesBox(Boxed& boxed, Cell& cell, Addr granule) {
      uint64_t begin = Raw(granule);
      uint64_t bytes = kGranule;
      const bool is_object = boxed.find_object_(Raw(granule), begin, bytes);
      if (!is_object || begin == Raw(granule)) {
        box_ = boxed.NewBox(granule, bytes);
        return false;
      }
      Opened first(boxed, *(&cell - (Raw(granule) - begin) / kGranule), Addr{begin});
      uint64_t nothing = 0;
      box_ = nullptr;
      if (!__atomic_compare_exchange_n(&cell.link, &nothing, LinkTo(first.box_), false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED)) {
        return false;
      }
      ++first.box_->users;
      box_ = first.box_;
      first.box_ = nullptr;
      return true;
    }

    Box* box_;
  };

  // Locked.
  Box* NewBox(Addr begin, uint64_t bytes) {
    Box* box;
    {
      ScopedLock guard(free_lock_);
      if (free_ == nullptr) AddChunk();
      box = free_;
      free_ = box->next;
    }
    box->lock.Acquire();
    box->users = 1;
    box->begin = begin;
    box->bytes = bytes;
    return box;
  }
  // Under its lock.
  void FreeBox(Box* box) {
    detector_.Forget(box->cell);
    box->cell = {};
    box->users = 0;
    ScopedLock guard(free_lock_);
    box->next = free_;
    free_ = box;
  }
  void AddChunk() {
    auto* chunk = static_cast<Chunk*>(boxes_.Allocate(sizeof(Chunk)));
    chunk->next = chunks_;
    chunks_ = chunk;
    for (Box& place : chunk->boxes) {
      Box* box = ::new (static_cast<void*>(&place)) Box();
      box->next = free_;
      free_ = box;
    }
  }

  void ClaimLabel(Thread& t) { t.label = slots_.Claim(t.tid, nullptr); }
  static Tag Follow(Thread& t, Tag tag) {
    if (tag == Tag::kChanged) t.label = MakeEpoch(SlotOf(t.label), Next(TimeOf(t.label)));
    return tag;
  }

  D detector_;
  FindObject find_object_ = nullptr;
  Arena<AtomicMem> arena_;  // of the slots
  Arena<AtomicMem> boxes_;  // of the chunks
  Arena<AtomicMem> births_;
  ThreadSlots<AtomicMem> slots_;
  AtomicMem::Lock free_lock_;
  Box* free_ = nullptr;
  Chunk* chunks_ = nullptr;
};

// The beginning of the life of some bytes, told to one cell after the other.
template <class D>
class Life {
 public:
  Life(Boxed<D>& boxed, typename Boxed<D>::Thread& t, uint64_t addr, uint64_t size, AccessOrigin origin,
       ContextId context)
      : boxed_(boxed), birth_(boxed.NewBirth(t, Addr{addr}, size, origin, context)) {}
  ~Life() { boxed_.DropBirth(birth_); }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  void Begin(typename Boxed<D>::Cell& cell, uint64_t granule, ByteMask bytes, bool) {
    boxed_.Revive(cell, Addr{granule}, bytes, birth_);
  }

  static uint64_t BeginWhole(const typename Boxed<D>::Cell*, uint64_t, bool) { return 0; }

  // Has the cell a past, which is not that of the one that was asked about before?
  bool EndsAnother(const typename Boxed<D>::Cell& cell) {
    const uint64_t link = __atomic_load_n(&cell.link, __ATOMIC_RELAXED);
    const bool is_same = D::kMap == Map::kGranule && link == past_;  // untouched: others have a box of their own
    past_ = link;
    return link != 0 && !is_same;
  }

 private:
  Boxed<D>& boxed_;
  typename Boxed<D>::Birth* birth_;
  uint64_t past_ = 0;
};

}  // namespace redflag::rt
