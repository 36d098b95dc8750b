#include "base/arena.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/arch.h"

namespace redflag {

void* MapPages(size_t bytes) {
  const int64_t result = arch::Syscall(SYS_mmap, 0, static_cast<int64_t>(bytes), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const bool mapped = result > 0 || result < -4095;  // -4095..-1 are error numbers
  REDFLAG_CHECK(mapped && "out of memory");
  return reinterpret_cast<void*>(result);
}

void UnmapPages(void* pages, size_t bytes) {
  arch::Syscall(SYS_munmap, reinterpret_cast<int64_t>(pages), static_cast<int64_t>(bytes));
}

void ForgetPages(void* pages, size_t bytes) {
  arch::Syscall(SYS_madvise, reinterpret_cast<int64_t>(pages), static_cast<int64_t>(bytes), MADV_DONTNEED);
}

}  // namespace redflag
