#include "runtime/shadow.h"

#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <initializer_list>

#include "base/arch.h"

namespace redflag::rt {
namespace {

constexpr uint64_t kWindow = uint64_t{1} << Shadow::kWindowBits;
constexpr uint64_t kCellBytes = kWindow * 2;
constexpr uint64_t kSyncBytes = kWindow / 2;
constexpr uint64_t kBlockBytes = kWindow / 4;
constexpr uint64_t kCoverBytes = (kWindow >> Shadow::kPageShift) * sizeof(uint32_t);
constexpr uint64_t kLineBytes = (kWindow >> Shadow::kLineShift) * sizeof(uint32_t);
constexpr uint64_t kRestBytes = kSyncBytes + kBlockBytes + kCoverBytes + kLineBytes;
constexpr uint64_t kPageBytes = 4096;

bool Failed(int64_t result) { return result < 0 && result >= -4095; }

int64_t MapAt(uint64_t place, uint64_t bytes) {
  return arch::Syscall(SYS_mmap, static_cast<int64_t>(place), static_cast<int64_t>(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

// Where a region is to be; false: something is there.
bool IsMapped(uint64_t place, uint64_t bytes) {
  const int64_t result = MapAt(place, bytes);
  if (Failed(result)) return false;
  if (static_cast<uint64_t>(result) == place) return true;
  arch::Syscall(SYS_munmap, result, static_cast<int64_t>(bytes));  // a kernel older than MAP_FIXED_NOREPLACE
  return false;
}

void Advise(void* from, uint64_t bytes, int advice) {
  arch::Syscall(SYS_madvise, reinterpret_cast<int64_t>(from), static_cast<int64_t>(bytes), advice, 0, 0, 0);
}

// The whole pages of [from, from + bytes).
void Drop(char* from, uint64_t bytes) {
  const auto begin = (reinterpret_cast<uint64_t>(from) + kPageBytes - 1) & ~(kPageBytes - 1);
  const auto end = (reinterpret_cast<uint64_t>(from) + bytes) & ~(kPageBytes - 1);
  if (begin < end) Advise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

bool Shadow::Reserve(const char*& why) {
  struct Places {
    uint64_t cells;
    uint64_t rest;
  };
  // Above where programs without randomization live, below position-independent ones and everything that the kernel places. The last: where
  // the stack has no limit, or the old layout is asked for, x86-64 places libraries from a third of the address space upwards.
  constexpr Places kPlaces[] = {{0x1000'0000'0000, 0x1000'0000'0000 + kCellBytes},
                                {0x0800'0000'0000, 0x0800'0000'0000 + kCellBytes},
                                {0x1800'0000'0000, 0x1800'0000'0000 + kCellBytes},
                                {0x5700'0000'0000, 0x3000'0000'0000}};
  for (const Places& places : kPlaces) {
    if (!IsMapped(places.cells, kCellBytes)) continue;
    if (!IsMapped(places.rest, kRestBytes)) {
      arch::Syscall(SYS_munmap, static_cast<int64_t>(places.cells), static_cast<int64_t>(kCellBytes));
      continue;
    }
    cells_ = reinterpret_cast<char*>(places.cells);
    syncs_ = reinterpret_cast<char*>(places.rest);
    blocks_ = syncs_ + kSyncBytes;
    covers_ = blocks_ + kBlockBytes;
    lines_ = covers_ + kCoverBytes;
    for (const int advice : {MADV_DONTDUMP, MADV_NOHUGEPAGE}) {
      Advise(cells_, kCellBytes, advice);
      Advise(syncs_, kRestBytes, advice);
    }
    return true;
  }
  why =
      "45 TiB of address space are needed for shadow memory (never touched as a whole): is there a limit (ulimit -v)?";
  return false;
}

bool Shadow::Contains(uint64_t addr) const {
  return addr - reinterpret_cast<uint64_t>(cells_) < kCellBytes ||
         addr - reinterpret_cast<uint64_t>(syncs_) < kRestBytes;
}

bool Shadow::Resident(uint64_t addr, uint64_t bytes, unsigned char* pages) const {
  const auto from = reinterpret_cast<uint64_t>(CellAt(addr)) & ~(kPageBytes - 1);
  return !Failed(arch::Syscall(SYS_mincore, static_cast<int64_t>(from), static_cast<int64_t>(bytes * 2),
                               reinterpret_cast<int64_t>(pages), 0, 0, 0));
}

void Shadow::ReleaseCells(uint64_t addr, uint64_t bytes) const { Drop(static_cast<char*>(CellAt(addr)), bytes * 2); }

void Shadow::ReleaseAllCells() const { Drop(cells_, kCellBytes); }

void Shadow::Release(uint64_t addr, uint64_t bytes) const {
  ReleaseCells(addr, bytes);
  Drop(reinterpret_cast<char*>(SyncAt(addr)), bytes / 2);
  Drop(reinterpret_cast<char*>(BlockAt(addr)), bytes / 4);
  Drop(reinterpret_cast<char*>(LineAt(addr)), bytes / 16);
}

}  // namespace redflag::rt
