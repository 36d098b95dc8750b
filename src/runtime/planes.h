// Planes: what threads have read of memory that several read and nobody writes.
//
// Such data has as many remembered accesses as it has readers. Together, in the record of a cell, they are a cache line or more for 8 bytes
// of the program, and every reader has to step over the others'. So a region that is being read (regions.h) has a plane for each
// of its readers: a word for each granule, that thread's latest read of it (clocks/packed_access.h). A thread stores into its own
// planes only, and nobody else looks at them until somebody wants to write there. That one puts all of their words into
// the cells, and the planes are given back.
//
// What a plane can't say (what is left of an older read when a newer one has only a part of its bytes) goes to the cell at once.
//
// A plane belongs to a slot, as the words in it do: who has the slot of a thread that has ended knows all that it did (clocks/thread_slots.h), and goes on
// where that one was. A thread that has another slot, and knows all that stands in the plane of one that has ended, takes that plane over as it is: what it reads itself takes the place of what that one
// read, as it would in a cell; what it does not read stays. So there are no more planes than threads at one time, if those that come know what those did that have gone.
//
// A thread remembers where its planes are (PlaneOf). That may be out of date: the plane has been given back, and may be another's by
// now. Then no word in it is this thread's; and before storing, it looks whose it is, or finds a word of its own slot there. So it forgets where they are when
// it goes on in another slot.
//
// Locks: the caller's, for Attach, Detach and Clear. Find is for whoever is in a window of the region.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/ids.h"
#include "clocks/epoch.h"

namespace redflag::rt {

// Where a thread's plane of a page is: the page's number and the plane's words. Read at any moment, also by a signal handler that interrupts a
// change: what `words` once led to stays readable, so that it is changed first and never taken back, and `page` tells whether it counts.
struct PlaneOf {
  static constexpr uint64_t kNoPage = UINT64_MAX;
  uint64_t page;
  uint64_t* words;
};

class Planes {
 public:
  static constexpr int kPageShift = 12;
  static constexpr uint32_t kWords = 1u << (kPageShift - 3);
  static constexpr uint32_t kMost = 1u << 22;  // of 4 KB each
  static constexpr uint32_t kRemembered = 1u << 12;

  static PlaneOf& EntryOf(PlaneOf* remembered, uint64_t addr) {
    return remembered[addr >> kPageShift & (kRemembered - 1)];
  }
  static uint32_t WordOf(uint64_t addr) { return static_cast<uint32_t>(addr >> 3 & (kWords - 1)); }

  // Of memory that is zero: nothing is remembered, not even of the page at 0.
  static void Prepare(PlaneOf* remembered) { remembered[0].page = PlaneOf::kNoPage; }

  // Where the thread has noted what it read here, if it knows such a place; that may be out of date.
  [[gnu::always_inline]] static uint64_t* Recall(PlaneOf* remembered, uint64_t addr) {
    const PlaneOf& entry = EntryOf(remembered, addr);
    if (entry.page != addr >> kPageShift) return nullptr;
    uint64_t* word = entry.words + WordOf(addr);
    if (word == nullptr) __builtin_unreachable();  // a page that is remembered has words: nobody needs to ask
    return word;
  }
  static void Remember(PlaneOf& entry, uint64_t page, uint64_t* words) {
    entry.page = PlaneOf::kNoPage;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    entry.words = words;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    entry.page = page;
  }
  // The plane of this page, if one is remembered, is out of date: the first filter is to look at the cell again.
  [[gnu::always_inline]] static void Forget(PlaneOf* remembered, uint64_t addr) {
    PlaneOf& entry = EntryOf(remembered, addr);
    if (entry.page == addr >> kPageShift) entry.page = PlaneOf::kNoPage;
  }

  // The same of all. Where they were stays there to be read (PlaneOf).
  static void ForgetAll(PlaneOf* remembered) {
    for (uint32_t i = 0; i < kRemembered; ++i) {
      if (remembered[i].words != nullptr) remembered[i].page = PlaneOf::kNoPage;
    }
  }

  // Has room for regions up to this number.
  void Start(uint64_t regions) {
    heads_ = static_cast<uint32_t*>(MapPages(regions * sizeof(uint32_t)));
    infos_ = static_cast<Info*>(MapPages(uint64_t{kMost} * sizeof(Info)));
    words_ = static_cast<uint64_t*>(MapPages(uint64_t{kMost} * kWords * sizeof(uint64_t)));
    regions_ = regions;
  }

  // The words of this slot's plane of this region; null if there is none.
  uint64_t* Find(uint32_t region, Slot slot) const {
    for (uint32_t plane = __atomic_load_n(&heads_[region], __ATOMIC_ACQUIRE); plane != 0; plane = infos_[plane].next) {
      if (infos_[plane].IsOf(slot)) return WordsOf(plane);
    }
    return nullptr;
  }
  bool IsOf(const uint64_t* words, uint32_t region, Slot slot) const {
    const Info& info = infos_[static_cast<uint64_t>(words - words_) / kWords];
    return info.region == region && info.IsOf(slot);
  }

  // The same, made if need be, by the thread that has the slot; null if there are no more. inherits(slot, words, take): calls take() and returns "yes", if the plane of that slot is
  // nobody's any more, and the thread knows all that stands there.
  template <class Inherits>
  uint64_t* Attach(uint32_t region, Slot slot, PlaneOf* remembered, Inherits inherits) {
    if (uint64_t* words = Find(region, slot); words != nullptr) return words;
    uint32_t plane = heads_[region];
    for (uint32_t tried = 0; plane != 0 && tried < kTried; plane = infos_[plane].next, ++tried) {
      const auto take = [&] { __atomic_store_n(&infos_[plane].slot, Raw(slot), __ATOMIC_RELAXED); };
      if (inherits(Slot{infos_[plane].slot}, WordsOf(plane), take)) return WordsOf(plane);
    }
    plane = free_;
    if (plane != 0) {
      free_ = infos_[plane].next;
    } else {
      if (next_ == kMost) return nullptr;
      plane = next_++;
    }
    for (uint32_t i = 0; i < kRemembered; ++i) {  // as that of another page
      if (remembered[i].words == WordsOf(plane)) remembered[i].page = PlaneOf::kNoPage;
    }
    infos_[plane] = {.next = heads_[region], .region = region, .slot = Raw(slot)};
    __atomic_store_n(&heads_[region], plane, __ATOMIC_RELEASE);
    return WordsOf(plane);
  }

  // Calls visit(index of the granule, word) for all that stands in the planes of this region, and gives them back.
  template <class Visit>
  void Detach(uint32_t region, Visit visit) {
    for (uint32_t plane = heads_[region]; plane != 0;) {
      uint64_t* words = WordsOf(plane);
      for (uint32_t i = 0; i < kWords; ++i) {
        if (words[i] == 0) continue;
        visit(i, words[i]);
        __atomic_store_n(&words[i], 0, __ATOMIC_RELAXED);
      }
      const uint32_t next = infos_[plane].next;
      infos_[plane] = {.next = free_, .region = 0, .slot = kNoSlot};
      free_ = plane;
      plane = next;
    }
    heads_[region] = 0;
  }

  // All are given back, and what stands there is forgotten.
  void Clear() {
    ForgetPages(heads_, regions_ * sizeof(uint32_t));
    ForgetPages(infos_, uint64_t{next_} * sizeof(Info));
    ForgetPages(words_, uint64_t{next_} * kWords * sizeof(uint64_t));
    next_ = 1;
    free_ = 0;
  }

 private:
  static constexpr uint16_t kNoSlot = 0xffff;
  static constexpr uint32_t kTried = 8;  // planes of others that a new reader looks at
  struct Info {
    uint32_t next;
    uint32_t region;
    uint16_t slot;  // changes when the plane is inherited

    bool IsOf(Slot other) const { return __atomic_load_n(&slot, __ATOMIC_RELAXED) == Raw(other); }
  };
  uint64_t* WordsOf(uint32_t plane) const { return words_ + uint64_t{plane} * kWords; }

  uint32_t* heads_ = nullptr;  // of the planes of each region
  Info* infos_ = nullptr;
  uint64_t* words_ = nullptr;
  uint64_t regions_ = 0;
  uint32_t next_ = 1;  // 0 is none
  uint32_t free_ = 0;
};

}  // namespace redflag::rt
