#include "runtime/run_status.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arch.h"
#include "runtime/environment.h"

namespace redflag::rt {
namespace {

// Where there is no /proc: the number behind the last slash is of a descriptor that was handed on, if that is what it should be.
int64_t DescriptorIn(const char* path) {
  int64_t fd = 0;
  for (const char* at = path; *at != '\0'; ++at) fd = *at == '/' ? 0 : fd * 10 + (*at - '0');
  const bool is_memory = arch::Syscall(SYS_fcntl, fd, F_GET_SEALS) >= 0;
  return is_memory && arch::Syscall(SYS_lseek, fd, 0, SEEK_END) == sizeof(RunStatus) ? fd : -1;
}

}  // namespace

RunStatus* OpenRunStatus() {
  static char path[128];
  if (!GetEnvironment("REDFLAG_STATUS", path, sizeof path)) return nullptr;
  int64_t fd = arch::Syscall(SYS_openat, AT_FDCWD, reinterpret_cast<int64_t>(path), O_RDWR | O_CLOEXEC);
  if (fd < 0) fd = DescriptorIn(path);
  if (fd < 0) return nullptr;
  const int64_t mapped = arch::Syscall(SYS_mmap, 0, sizeof(RunStatus), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  arch::Syscall(SYS_close, fd);
  return mapped > 0 || mapped < -4095 ? reinterpret_cast<RunStatus*>(mapped) : nullptr;
}

void CloseRunStatus(RunStatus* status) {
  if (status != nullptr) arch::Syscall(SYS_munmap, reinterpret_cast<int64_t>(status), sizeof(RunStatus));
}

}  // namespace redflag::rt
