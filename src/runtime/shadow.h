// Shadow: five maps from addresses of the program to what the runtime knows of them, each a reserved region in which the place
// is computed, not looked up (docs/shadow.md):
//
//   cells    16 bytes for each 8     what the detector remembers of a granule
//   syncs     4 bytes for each 8     the synchronization object at this address, as an index; 0: none
//   blocks    4 bytes for each 16    the block of the heap that begins here, as an index; 0: none
//   covers    4 bytes for each page  the block of the heap that the page begins in, likewise
//   lines     4 bytes for each 64    for one detector: who has touched the line (runtime/memory_line.h)
//
// Addresses are folded into a window of 16 TiB. Where a program can have memory (its own image, the heap, libraries, stacks) the
// fold is one to one; Reserve() picks a place for the regions outside of all of these, whatever the randomization.
// Memory is touched only where the program touches its own, and goes back when the program's goes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace redflag::rt {

class Shadow {
 public:
#ifdef REDFLAG_SMALL_WINDOW
  // For emulators, which pay for each page that is reserved and put a program's memory in one place.
  static constexpr int kWindowBits = 34;
#else
  static constexpr int kWindowBits = 44;
#endif
  static constexpr uint64_t kFold = ((uint64_t{1} << kWindowBits) - 1) & ~uint64_t{7};

  static constexpr int kPageShift = 12;
  static constexpr int kLineShift = 6;

  // Reserves the regions. False if the system has no room for them (a limit on address space): `why` says what was tried.
  bool Reserve(const char*& why);

  char* cells() const { return cells_; }
  void* CellAt(uint64_t addr) const { return cells_ + (addr & kFold) * 2; }
  uint32_t* SyncAt(uint64_t addr) const { return reinterpret_cast<uint32_t*>(syncs_ + (addr & kFold) / 2); }
  uint32_t* BlockAt(uint64_t addr) const {
    return reinterpret_cast<uint32_t*>(blocks_ + ((addr & kFold) >> 4) * sizeof(uint32_t));
  }
  uint32_t* CoverAt(uint64_t addr) const {
    return reinterpret_cast<uint32_t*>(covers_ + ((addr & kFold) >> kPageShift) * sizeof(uint32_t));
  }
  uint32_t* LineAt(uint64_t addr) const {
    return reinterpret_cast<uint32_t*>(lines_ + ((addr & kFold) >> kLineShift) * sizeof(uint32_t));
  }

  bool Contains(uint64_t addr) const;

  static constexpr uint64_t kLarge = uint64_t{1} << 20;  // of program memory

  // Calls visit(first, bytes) for the parts of [addr, addr + bytes) whose cells may be in use; parts that were never touched
  // are left out if the range is large.
  template <class Visitor>
  void ForEachTouched(uint64_t addr, uint64_t bytes, Visitor visit) const {
    constexpr uint64_t kPage = 4096 / 2;  // program memory behind one page of cells
    if (bytes < kLarge) return visit(addr, bytes);
    unsigned char resident[kLarge / kPage];
    for (uint64_t at = addr & ~(kPage - 1); at < addr + bytes; at += kLarge) {
      if (!Resident(at, kLarge, resident)) {
        visit(at < addr ? addr : at, Least(addr + bytes, at + kLarge) - (at < addr ? addr : at));
        continue;
      }
      for (uint64_t i = 0; i < kLarge / kPage; ++i) {
        const uint64_t first = at + i * kPage < addr ? addr : at + i * kPage;
        const uint64_t last = Least(at + (i + 1) * kPage, addr + bytes);
        if ((resident[i] & 1) != 0 && first < last) visit(first, last - first);
      }
    }
  }

  // Gives the pages behind this part of the program's memory back to the system; all of it reads as empty afterwards.
  void Release(uint64_t addr, uint64_t bytes) const;
  void ReleaseCells(uint64_t addr, uint64_t bytes) const;  // the same of cells alone
  void ReleaseAllCells() const;

 private:
  static uint64_t Least(uint64_t a, uint64_t b) { return a < b ? a : b; }
  bool Resident(uint64_t addr, uint64_t bytes, unsigned char* pages) const;

  char* cells_ = nullptr;
  char* syncs_ = nullptr;
  char* blocks_ = nullptr;
  char* covers_ = nullptr;
  char* lines_ = nullptr;
};

}  // namespace redflag::rt
