#include "sample/left_breakpoints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <variant>
#include <vector>

#include "collider/code_file.h"
#include "events/sample_machine.h"
#include "events/sample_rules.h"
#include "sample/process_maps.h"

namespace redflag {

bool RestoreFromFile(pid_t process, uint64_t address) {
  for (const MappedFile& mapped : ReadMaps(process)) {
    if (address < mapped.code_begin || address >= mapped.code_end) continue;
    const auto opened = CodeFile::Open(mapped.path);
    const auto* file = std::get_if<CodeFile>(&opened);
    const auto original = file == nullptr ? std::span<const std::byte>() : file->At(address - mapped.bias);
    if (original.size() < kBreakpointBytes || std::memcmp(original.data(), kBreakpoint, kBreakpointBytes) == 0) {
      return false;
    }
    const int memory = open(fmt::format("/proc/{}/mem", process).c_str(), O_RDWR | O_CLOEXEC);
    if (memory < 0) return false;
    const auto where = static_cast<off_t>(address);
    uint8_t now[kBreakpointBytes];
    const bool is_read = pread(memory, now, sizeof now, where) == sizeof now;
    const bool is_there = is_read && std::memcmp(now, kBreakpoint, sizeof now) == 0;
    // Somebody else may have taken it out since it was met.
    const bool is_restored = is_there ? pwrite(memory, original.data(), sizeof now, where) == sizeof now
                                      : is_read && std::memcmp(now, original.data(), sizeof now) == 0;
    close(memory);
    return is_restored;
  }
  return false;
}

size_t TakeOutOfCopy(SamplePage* page, pid_t process) {
  size_t taken = 0;
  const int memory = open(fmt::format("/proc/{}/mem", process).c_str(), O_RDWR | O_CLOEXEC);
  if (memory < 0) return 0;
  const uint32_t modules = std::atomic_ref(page->module_count).load(std::memory_order_acquire);
  for (const SampleModule& module : std::span(page->modules, modules)) {
    std::vector<std::byte> code(module.end - module.begin);
    const ssize_t got = pread(memory, code.data(), code.size(), static_cast<off_t>(module.begin));
    for (uint32_t i = module.first_site; i < module.first_site + module.count; ++i) {
      const SampleSite& site = sampling::SitesOf(page)[i];
      const uint64_t at = site.address - module.begin;
      if (got < 0 || at + kBreakpointBytes > static_cast<uint64_t>(got)) continue;
      if (std::memcmp(code.data() + at, kBreakpoint, kBreakpointBytes) != 0) continue;
      taken +=
          pwrite(memory, site.original, kBreakpointBytes, static_cast<off_t>(site.address)) == kBreakpointBytes ? 1 : 0;
    }
  }
  close(memory);
  return taken;
}

}  // namespace redflag
