#include "cli/machine.h"

#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/mman.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>

#include "base/arch.h"

namespace redflag::cli {
namespace {

// The runtime's, docs/shadow.md.
constexpr uint64_t kShadowBytes = (uint64_t{45} << 40) + (uint64_t{16} << 30);
constexpr int kWindowBits = 44;
constexpr long kPageBytes = 4096;

std::optional<long> ReadSetting(const char* path) {
  std::ifstream file(path);
  long value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::string Text(const std::optional<long>& setting) { return setting ? std::to_string(*setting) : "unknown"; }

Finding CheckArchitecture() {
  utsname name{};
  uname(&name);
  const long page = sysconf(_SC_PAGESIZE);
  Finding finding{.what = "architecture",
                  .detail = fmt::format("{}, Linux {}, pages of {} bytes", arch::kName, name.release, page),
                  .advice = {}};
  if (page != kPageBytes) {
    finding.verdict = Verdict::kWarn;
    finding.advice = "Redflag is tested with pages of 4096 bytes only";
  }
  return finding;
}

// As the runtime does it when a program starts; nothing is touched.
bool CanReserveShadow() {
  for (const uint64_t place : {uint64_t{0x1000'0000'0000}, uint64_t{0x0800'0000'0000}, uint64_t{0x1800'0000'0000}}) {
    void* const wanted = reinterpret_cast<void*>(place);
    void* const got = mmap(wanted, kShadowBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) continue;
    munmap(got, kShadowBytes);
    if (got == wanted) return true;
  }
  return false;
}

std::string LimitText(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : fmt::format("{} MiB", limit >> 20);
}

Finding CheckAddressSpace() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const bool is_enough = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > kShadowBytes;
  Finding finding{.what = "address space", .detail = {}, .advice = {}};
  if (!is_enough) {
    finding.verdict = Verdict::kNo;
    finding.detail = fmt::format("the limit is {}; the runtime reserves 45 TiB (and touches little of it)",
                                 LimitText(limit.rlim_cur));
    finding.advice =
        limit.rlim_max == RLIM_INFINITY
            ? "ulimit -v unlimited"
            : "raise the hard limit where it is set (limits.conf, LimitAS= of a systemd unit, a batch system)";
  } else if (!CanReserveShadow()) {
    finding.verdict = Verdict::kNo;
    finding.detail = fmt::format("{}, but 45 TiB cannot be reserved", LimitText(limit.rlim_cur));
    finding.advice = "see overcommit below; a kernel with fewer than 47 bits of user addresses is not supported";
  } else {
    finding.detail = fmt::format("{}; the 45 TiB that the runtime reserves can be had", LimitText(limit.rlim_cur));
  }
  return finding;
}

Finding CheckOvercommit() {
  const auto mode = ReadSetting("/proc/sys/vm/overcommit_memory");
  Finding finding{.what = "overcommit", .detail = fmt::format("vm.overcommit_memory is {}", Text(mode)), .advice = {}};
  if (mode == 2) {
    finding.verdict = Verdict::kNo;
    finding.detail += ": reserved memory counts as if it were used";
    finding.advice = "sysctl vm.overcommit_memory=0";
  }
  return finding;
}

Finding CheckRandomization() {
  const auto mode = ReadSetting("/proc/sys/kernel/randomize_va_space");
  const auto bits = ReadSetting("/proc/sys/vm/mmap_rnd_bits");
  Finding finding{.what = "address randomization",
                  .detail = fmt::format("randomize_va_space is {}, mmap_rnd_bits is {}", Text(mode), Text(bits)),
                  .advice = {}};
  if (mode != 0 && bits && !KeepsApart(*bits)) {
    finding.verdict = Verdict::kWarn;
    finding.detail += ": now and then a program has to start itself again, without randomization";
    finding.advice = "sysctl vm.mmap_rnd_bits=28";
  }
  return finding;
}

Finding CheckMemfd() {
  const int fd = memfd_create("redflag-doctor", MFD_CLOEXEC);
  const int error = errno;
  Finding finding{.what = "memfd_create", .detail = "works", .advice = {}};
  if (fd >= 0) {
    close(fd);
  } else {
    finding.verdict = Verdict::kNo;
    finding.detail = std::strerror(error);
    finding.advice = "a sandbox forbids it (seccomp of a container?): reports are brief and without names";
  }
  return finding;
}

// Nothing uses them yet: for the sampler that is to come.
Finding CheckBreakpoints() {
  static int watched = 0;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_W;
  attributes.bp_addr = reinterpret_cast<uint64_t>(&watched);
  attributes.bp_len = HW_BREAKPOINT_LEN_4;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const auto fd = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  const int error = errno;
  const auto paranoid = ReadSetting("/proc/sys/kernel/perf_event_paranoid");
  Finding finding{.what = "hardware breakpoints", .detail = {}, .advice = {}};
  if (fd >= 0) {
    close(fd);
    finding.detail = fmt::format("can be set (perf_event_paranoid is {})", Text(paranoid));
  } else {
    finding.verdict = Verdict::kWarn;
    finding.detail = fmt::format("{} (perf_event_paranoid is {})", std::strerror(error), Text(paranoid));
    finding.advice = "no command needs them today; sysctl kernel.perf_event_paranoid=2 if that is why";
  }
  return finding;
}

}  // namespace

// Images and the heap begin at two thirds of a process's addresses (arm64) or one third of them (x86-64) and move upwards by up to
// 2^(bits + 12) bytes; what the kernel places lies as far below the end. In the window they must not meet.
bool KeepsApart(long randomization_bits) {
#ifdef __aarch64__
  constexpr uint64_t kImages = 0xaaa'aaaa'a000;
#else
  constexpr uint64_t kImages = 0x555'5555'4000;
#endif
  if (randomization_bits + 12 >= kWindowBits) return false;
  const uint64_t reach = uint64_t{1} << (randomization_bits + 12);
  return kImages + reach <= (uint64_t{1} << kWindowBits) - reach;
}

std::vector<Finding> CheckMachine() {
  return {CheckArchitecture(),  CheckAddressSpace(), CheckOvercommit(),
          CheckRandomization(), CheckMemfd(),        CheckBreakpoints()};
}

}  // namespace redflag::cli
