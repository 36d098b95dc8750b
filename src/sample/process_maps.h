// Which files a process has mapped, from /proc/PID/maps.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace redflag {

struct MappedFile {
  std::string path;
  uint64_t code_begin = 0;  // of its executable mapping
  uint64_t code_end = 0;
  uint64_t bias = 0;  // what to subtract from an address to get that of the file
};

// Those with code, in the order of their addresses. Empty if the process is gone.
std::vector<MappedFile> ReadMaps(pid_t pid);

// The code that the kernel itself maps into it (vdso); empty: none.
struct MappedRange {
  uint64_t begin = 0, end = 0;
};
MappedRange FindKernelCode(pid_t pid);

// A set of signals in the status of a process or thread, such as "SigPnd:".
uint64_t SignalsOf(pid_t pid, const std::string& name);
constexpr uint64_t SignalBit(int signal) { return uint64_t{1} << (signal - 1); }

// What /proc/PID/status says behind a name such as "Threads:"; empty: nothing.
std::string StatusOf(pid_t pid, const std::string& name);

}  // namespace redflag
