// Regions: which thread may change the cells of which 4 KB of the program's memory without saying so to others.
//
// An atomic instruction is half of what it takes to record an access. Most memory is used by one thread for a long time; its cells
// need none as long as nobody else touches them. So every region has an owner:
//
//   nobody    not touched yet
//   a thread  which changes cells by plain stores, inside a window (below)
//   reading   several read it: each notes in a plane of its own what it reads (planes.h); other reads change cells as if it were shared
//   moving    changes its owner right now
//   shared    by all: cells are changed by compare-and-exchange
//
// Window. A thread says, by plain stores, which region it is in, *then* looks whether that is its own, changes a cell, and says that it is
// out. Whoever wants the region marks it as moving, makes every running thread pass a memory barrier (membarrier), and waits if the
// owner is inside of this very region. Either the owner has seen the mark, or its window was seen: the same argument as
// Dekker's, with both barriers on the side that comes rarely.
//
// The newcomer becomes the owner; or, if it only reads, a reader, as the old owner may be from then on. Who wants to write to what is being
// read waits for all windows, and puts what the planes say into the cells. A region that has changed hands kMostChanges times is shared for ever. Locked cells and cells with
// a record are as before, whoever owns them: locks are taken by exchange. Without membarrier everything is shared.
//
// Locks: one, for all changes of owner. It is held while waiting for a window, in which nothing is waited for.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/mem.h"
#include "runtime/local.h"
#include "runtime/planes.h"
#include "runtime/shadow.h"

namespace redflag::rt {

class Regions {
 public:
  using Owner = uint16_t;
  static constexpr int kShift = 12;  // of addresses
  static constexpr Owner kNobody = 0, kReading = 0xfffc, kMoving = 0xfffd, kOwnsNothing = kOwnsNoRegion,
                         kShared = 0xffff;
  static constexpr uint32_t kMostChanges = 8;
  static constexpr uint32_t kOwners = 1024;  // threads that can own something at one time, and one

  // take_in(address, word): a cell is to remember what stood in a plane; null: there are none. !can_own: everything is shared.
  using TakeIn = void (*)(uint64_t addr, uint64_t word);
  void Start(bool can_own, TakeIn take_in);
  bool can_own() const { return can_own_; }  // or is everything shared, for want of membarrier?

  // For the calling thread: from now on it can own regions, if there is room for one more that can.
  void Join();
  void Leave();
  // All regions are nobody's again: who has none is not in one, and finds none when it opens a window. Windows that are open may still change
  // cells until they close.
  void Reset();
  // The same of planes, when nobody is in a window.
  void ForgetPlanes() { planes_.Clear(); }
  // After a fork, in the child: there are no others, and none is in a window.
  void BeginProcess();

  static uint32_t IndexOf(uint64_t addr) { return static_cast<uint32_t>((addr & Shadow::kFold) >> kShift); }

  // Is in the region of this address, for as long as it lives. If `is_owner` says so it may change cells as it likes; if `is_shared`,
  // in ways that others do not disturb; if `is_reading`, in the same ways, to remember a read; otherwise not at all.
  class Window {
   public:
    [[gnu::always_inline]] explicit Window(uint64_t addr) { Open(IndexOf(addr)); }
    [[gnu::always_inline]] ~Window() { Close(); }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    bool is_owner() const { return owner_ == local.owner; }
    bool is_shared() const { return owner_ == kShared; }
    bool is_reading() const { return owner_ == kReading && local.owner != kOwnsNothing; }

   protected:
    [[gnu::always_inline]] void Open(uint32_t index) {
      __atomic_store_n(local.window, index + 1, __ATOMIC_RELAXED);
      __atomic_signal_fence(__ATOMIC_SEQ_CST);  // the other half is in Take()
      owner_ = OwnerOf(local.regions, index);
    }
    [[gnu::always_inline]] static void Close() { __atomic_store_n(local.window, 0, __ATOMIC_RELEASE); }

   private:
    Owner owner_;
  };

  // The same, as the owner or of a shared region, or, to_read, of one that is being read: takes it if it is not yet so. Nothing that others
  // may have to wait for long may be done meanwhile.
  class Stay : public Window {
   public:
    [[gnu::always_inline]] Stay(Regions& regions, uint64_t addr, bool to_read = false) : Window(addr) {
      while (!is_owner() && !is_shared() && !(to_read && is_reading())) [[unlikely]] {
        Close();
        regions.Take(IndexOf(addr), to_read);
        Open(IndexOf(addr));
      }
    }
  };

  // Is it one of the thread's own, as far as can be told without a window?
  [[gnu::always_inline]] static bool IsOwn(uint64_t addr) {
    return OwnerOf(local.regions, IndexOf(addr)) == local.owner;
  }

  // The word of this slot's plane for this address, in a window of its region, which is being read. Null: has no plane yet.
  uint64_t* PlaneWord(uint64_t addr, Slot slot) const {
    PlaneOf& entry = Planes::EntryOf(local.planes, addr);
    const uint32_t index = IndexOf(addr);
    if (entry.page != addr >> kShift || !planes_.IsOf(entry.words, index, slot)) {
      uint64_t* words = planes_.Find(index, slot);
      if (words == nullptr) return nullptr;
      Planes::Remember(entry, addr >> kShift, words);
    }
    return entry.words + Planes::WordOf(addr);
  }
  // The slot is to have one, if it is still being read. In no window. `inherits`: as of Planes::Attach.
  template <class Inherits>
  void AttachPlane(uint64_t addr, Slot slot, Inherits inherits) {
    const uint32_t index = IndexOf(addr);
    {
      ScopedLock guard(lock_);
      const auto owner = static_cast<Owner>(__atomic_load_n(entries_ + index, __ATOMIC_RELAXED));
      if (owner != kReading || planes_.Attach(index, slot, local.planes, inherits) != nullptr) return;
    }
    Take(index, false);  // there are no more planes: it must do without
  }

  // Calls visit(first, bytes) for the parts of [addr, addr + bytes) in which a region had an owner once: nobody was in the others. Parts are large,
  // so that what spans most of the address space is looked through in no time.
  template <class Visitor>
  void ForEachEntered(uint64_t addr, uint64_t bytes, Visitor visit) const {
    constexpr uint64_t kPart = uint64_t{1} << kPartShift;
    for (uint64_t at = addr; at < addr + bytes;) {
      const uint64_t rest = kPart - at % kPart;
      const uint64_t count = rest < addr + bytes - at ? rest : addr + bytes - at;
      if (__atomic_load_n(&entered_[PartOf(IndexOf(at))], __ATOMIC_RELAXED)) visit(at, count);
      at += count;
    }
  }

  static uint64_t EndOf(uint64_t addr) { return ((addr >> kShift) + 1) << kShift; }

  // Calls visit(first, bytes, is_own) for the parts of [addr, addr + bytes), each in a Stay.
  template <class Visitor>
  void ForEach(uint64_t addr, uint64_t bytes, Visitor visit) {
    for (uint64_t at = addr; at < addr + bytes;) {
      const uint64_t end = EndOf(at) < addr + bytes ? EndOf(at) : addr + bytes;
      const Stay stay(*this, at);
      visit(at, end - at, stay.is_owner());
      at = end;
    }
  }

 private:
  // An entry: the owner, and above how often that has changed.
  static Owner OwnerOf(const uint32_t* entries, uint32_t index) {
    return static_cast<Owner>(__atomic_load_n(entries + index, __ATOMIC_ACQUIRE));
  }
  static constexpr int kPartShift = 28;
  static constexpr uint32_t kParts = uint32_t{1} << (Shadow::kWindowBits - kPartShift);
  static uint32_t PartOf(uint32_t index) { return index >> (kPartShift - kShift); }
  [[gnu::noinline]] void Take(uint32_t index, bool to_read);
  void AwaitWindow(Owner owner, uint32_t index) const;

  struct alignas(64) Place {
    uint32_t region = 0;  // that the thread is in, from 1; 0: none
    bool taken = false;
  };

  uint32_t* entries_ = nullptr;
  bool can_own_ = false;
  TakeIn take_in_ = nullptr;
  Planes planes_;
  uint32_t places_used_ = 1;  // there is none from here on
  AtomicMem::Lock lock_;
  Place places_[kOwners];
  bool entered_[kParts] = {};
};

}  // namespace redflag::rt
