#include "runtime/shared_memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/arch.h"

namespace redflag::rt {
namespace {

// A limit on the size of files (ulimit -f) counts for this kind too, and to exceed it would end the program by a signal. Lifts it as far as it
// may, for as long as this lives.
class FileSizes {
 public:
  explicit FileSizes(uint64_t wanted) {
    if (!Change(nullptr, &before_)) return;
    is_enough_ = before_.rlim_cur >= wanted;
    if (is_enough_ || before_.rlim_max < wanted) return;
    const rlimit lifted{.rlim_cur = before_.rlim_max, .rlim_max = before_.rlim_max};
    is_enough_ = is_lifted_ = Change(&lifted, nullptr);
  }
  ~FileSizes() {
    if (is_lifted_) Change(&before_, nullptr);
  }
  FileSizes(const FileSizes&) = delete;
  FileSizes& operator=(const FileSizes&) = delete;

  bool is_enough() const { return is_enough_; }

 private:
  static bool Change(const rlimit* to, rlimit* from) {
    return arch::Syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, reinterpret_cast<int64_t>(to),
                         reinterpret_cast<int64_t>(from)) == 0;
  }

  rlimit before_ = {};
  bool is_enough_ = true;
  bool is_lifted_ = false;
};

}  // namespace

int64_t NewSharedMemory(const char* name, int64_t bytes) {
  constexpr int64_t kFirstNumber = 500;
  const FileSizes sizes(static_cast<uint64_t>(bytes));
  if (!sizes.is_enough()) return -1;
  int64_t fd = arch::Syscall(SYS_memfd_create, reinterpret_cast<int64_t>(name), 0);
  if (fd < 0) return fd;
  if (const int64_t high = arch::Syscall(SYS_fcntl, fd, F_DUPFD, kFirstNumber); high >= 0) {
    arch::Syscall(SYS_close, fd);
    fd = high;
  }
  if (arch::Syscall(SYS_ftruncate, fd, bytes) == 0) return fd;
  arch::Syscall(SYS_close, fd);
  return -1;
}

}  // namespace redflag::rt
