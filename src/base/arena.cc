#include "base/arena.h"

#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/arch.h"

namespace redflag {
namespace {

// Where programs have nothing: a program may unmap a place of its own and map it again, and must not find us there meanwhile.
constexpr uint64_t kFirst = 0x4000'0000'0000;
constexpr uint64_t kEnd = 0x5000'0000'0000;
constexpr uint64_t kPage = 65536;  // the largest there is
constinit uint64_t next_place = kFirst;

int64_t MapAt(uint64_t place, size_t bytes, int flags) {
  return arch::Syscall(SYS_mmap, static_cast<int64_t>(place), static_cast<int64_t>(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

// What is so large is a table that most of is never touched: core files can do without it.
constexpr size_t kTable = size_t{64} << 20;

void* Mapped(int64_t place, size_t bytes) {
  if (bytes >= kTable) arch::Syscall(SYS_madvise, place, static_cast<int64_t>(bytes), MADV_DONTDUMP);
  return reinterpret_cast<void*>(place);
}

bool IsMapped(int64_t result) { return result > 0 || result < -4095; }  // -4095..-1 are error numbers

}  // namespace

void* MapPages(size_t bytes) {
  constexpr int kTries = 4;
  const uint64_t room = (bytes + kPage - 1) & ~(kPage - 1);
  for (int i = 0; i < kTries; ++i) {
    const uint64_t place = __atomic_fetch_add(&next_place, room, __ATOMIC_RELAXED);
    if (place + room > kEnd) {
      __atomic_store_n(&next_place, kFirst, __ATOMIC_RELAXED);
      continue;
    }
    const int64_t result = MapAt(place, bytes, MAP_FIXED_NOREPLACE);
    if (IsMapped(result)) return Mapped(result, bytes);  // elsewhere, if the kernel is older than that
  }
  const int64_t result = MapAt(0, bytes, 0);
  REDFLAG_CHECK(IsMapped(result) && "out of memory");
  return Mapped(result, bytes);
}

void UnmapPages(void* pages, size_t bytes) {
  arch::Syscall(SYS_munmap, reinterpret_cast<int64_t>(pages), static_cast<int64_t>(bytes));
}

void ForgetPages(void* pages, size_t bytes) {
  arch::Syscall(SYS_madvise, reinterpret_cast<int64_t>(pages), static_cast<int64_t>(bytes), MADV_DONTNEED);
}

}  // namespace redflag
