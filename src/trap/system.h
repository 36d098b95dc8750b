// System calls of the library that is loaded into sampled programs: never through libc, so that neither errno nor a function of the program is
// touched, and memory is read and written by the kernel, which meets no breakpoints.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

#include "base/arch.h"

namespace redflag::trap {

inline int64_t Raw(const void* pointer) { return reinterpret_cast<int64_t>(pointer); }

inline uint32_t Pid() { return static_cast<uint32_t>(arch::Syscall(SYS_getpid)); }
inline uint32_t ThreadId() { return static_cast<uint32_t>(arch::Syscall(SYS_gettid)); }

inline uint64_t Now(int64_t clock = CLOCK_MONOTONIC) {
  timespec time = {};
  arch::Syscall(SYS_clock_gettime, clock, Raw(&time));
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

inline void Wake(uint32_t* word) { arch::Syscall(SYS_futex, Raw(word), FUTEX_WAKE, INT32_MAX); }

// Until the word is not `seen` any more, or the time is over, or for no reason.
inline void Await(uint32_t* word, uint32_t seen, uint64_t nanoseconds) {
  timespec time = {.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000),
                   .tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000)};
  arch::Syscall(SYS_futex, Raw(word), FUTEX_WAIT, seen, Raw(&time));
}

// Its memory as a file. Opened for each use: descriptors are the program's, and it may close or replace any.
class OwnMemory {
 public:
  explicit OwnMemory(int64_t mode)
      : fd_(arch::Syscall(SYS_openat, AT_FDCWD, Raw("/proc/self/mem"), mode | O_CLOEXEC)) {}
  ~OwnMemory() {
    if (fd_ >= 0) arch::Syscall(SYS_close, fd_);
  }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

  // How many bytes.
  int64_t Read(uint64_t from, void* to, uint64_t bytes) const {
    return arch::Syscall(SYS_pread64, fd_, Raw(to), static_cast<int64_t>(bytes), static_cast<int64_t>(from));
  }
  // Code, too, which the program may not write.
  bool Write(uint64_t to, const void* from, uint64_t bytes) const {
    return arch::Syscall(SYS_pwrite64, fd_, Raw(from), static_cast<int64_t>(bytes), static_cast<int64_t>(to)) ==
           static_cast<int64_t>(bytes);
  }

 private:
  int64_t fd_;
};

// Bytes of this process, by the kernel: it meets no breakpoint, and where nothing can be read it says so. How many. Some containers forbid the call.
inline int64_t ReadMemory(uint64_t from, void* to, uint64_t bytes) {
  iovec local = {.iov_base = to, .iov_len = bytes};
  iovec remote = {.iov_base = reinterpret_cast<void*>(from), .iov_len = bytes};
  const int64_t got = arch::Syscall(SYS_process_vm_readv, Pid(), Raw(&local), 1, Raw(&remote), 1);
  return got != -EPERM && got != -ENOSYS ? got : OwnMemory(O_RDONLY).Read(from, to, bytes);
}

template <class T>
T Load(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <class T>
void Store(T& word, T value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
inline void Count(uint64_t& counter, uint64_t by = 1) { __atomic_fetch_add(&counter, by, __ATOMIC_RELAXED); }

}  // namespace redflag::trap
