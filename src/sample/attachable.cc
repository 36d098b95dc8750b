#include "sample/attachable.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "sample/process_maps.h"

namespace redflag {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#else
constexpr uint16_t kMachine = EM_AARCH64;
#endif

std::string CommandOf(const std::string& pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  return name;
}

// Of the program that runs; empty: it is one for this machine, or cannot be read.
std::string WhyNotProgram(const std::string& exe) {
  Elf64_Ehdr header{};
  const int fd = open(exe.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  const ssize_t got = read(fd, &header, sizeof header);
  close(fd);
  if (got < static_cast<ssize_t>(sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return "is no ELF program";
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "is a 32-bit program, and only 64-bit ones can be sampled";
  return header.e_machine == kMachine ? "" : "is a program for another machine";
}

}  // namespace

std::string WhyNotPermitted(pid_t pid) {
  struct stat status{};
  if (stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && geteuid() != 0 && status.st_uid != geteuid()) {
    return fmt::format("it belongs to another user ({}): be that user, or root", status.st_uid);
  }
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope >= 3) return "this system allows nobody to trace processes (kernel.yama.ptrace_scope is 3)";
  if (scope == 2 && geteuid() != 0) return "this system allows only root to trace (kernel.yama.ptrace_scope is 2)";
  if (scope == 1 && geteuid() != 0) {
    return "this system allows to trace one's own children only (kernel.yama.ptrace_scope is 1): be root, or let root "
           "do `sysctl kernel.yama.ptrace_scope=0`";
  }
  return "it may be privileged (setuid), or this may be a container that forbids to trace (CAP_SYS_PTRACE)";
}

std::string WhyNotAttach(pid_t pid) {
  if (pid == getpid()) return fmt::format("{} is this very process", pid);
  const std::string group = StatusOf(pid, "Tgid:");
  if (pid <= 0 || group.empty()) return fmt::format("there is no process {}", pid);
  if (group != std::to_string(pid)) return fmt::format("{} is a thread of process {}: give that number", pid, group);
  const std::string state = StatusOf(pid, "State:");
  if (state.starts_with('Z') || state.starts_with('X')) return fmt::format("process {} has ended already", pid);
  const std::string exe = fmt::format("/proc/{}/exe", pid);
  char target[1];
  const bool readable = readlink(exe.c_str(), target, sizeof target) > 0;
  const int error = errno;
  if (!readable && StatusOf(pid, "VmSize:").empty()) return fmt::format("{} is a thread of the kernel", pid);
  if (!readable && (error == EACCES || error == EPERM)) {
    return fmt::format("no permission to trace process {}: {}", pid, WhyNotPermitted(pid));
  }
  if (const std::string tracer = StatusOf(pid, "TracerPid:"); !tracer.empty() && tracer != "0") {
    return fmt::format("process {} is already traced by {} ({}), and there can be one tracer only", pid, tracer,
                       CommandOf(tracer));
  }
  if (const std::string problem = WhyNotProgram(exe); !problem.empty()) return fmt::format("{} {}", pid, problem);
  if ((SignalsOf(pid, "SigIgn:") & SignalBit(SIGTRAP)) != 0) {
    return fmt::format("process {} ignores SIGTRAP, and a breakpoint would change that for good", pid);
  }
  return "";
}

}  // namespace redflag
