#include "sample/copied_code.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "events/sample_machine.h"
#include "events/sample_rules.h"

namespace redflag {

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
