#include "sample/static_code.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>

namespace redflag {
namespace {

struct Range {
  uint64_t begin, end;
  auto operator<=>(const Range&) const = default;
};

bool HasInterpreter(Elf* elf) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return true;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr part{};
    if (gelf_getphdr(elf, static_cast<int>(i), &part) != nullptr && part.p_type == PT_INTERP) return true;
  }
  return false;
}

// A library has no interpreter either.
bool IsStaticProgram(Elf* elf) {
  GElf_Ehdr header{};
  if (gelf_getehdr(elf, &header) == nullptr || HasInterpreter(elf)) return false;
  if (header.e_type == ET_EXEC) return true;
  return header.e_entry != 0 && header.e_type == ET_DYN;
}

std::vector<Range> CodeWithDebugInfo(Dwarf* dwarf) {
  std::vector<Range> ranges;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die{};
  uint8_t type = 0;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &die, nullptr) == 0) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;) {
      if (begin < end) ranges.push_back({.begin = begin, .end = end});
    }
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace

bool KeepOwnCode(const std::string& path, std::vector<Site>& sites) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  elf_version(EV_CURRENT);
  bool known = true;
  {
    const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr), elf_end);
    if (elf != nullptr && IsStaticProgram(elf.get())) {
      const std::unique_ptr<Dwarf, decltype(&dwarf_end)> dwarf(dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr),
                                                               dwarf_end);
      const std::vector<Range> ranges = dwarf == nullptr ? std::vector<Range>() : CodeWithDebugInfo(dwarf.get());
      known = !ranges.empty();
      std::erase_if(sites, [&](const Site& site) {
        if (!known) return false;
        const auto behind = std::upper_bound(ranges.begin(), ranges.end(), Range{site.address, UINT64_MAX});
        return behind == ranges.begin() || site.address >= std::prev(behind)->end;
      });
    }
  }
  close(fd);
  return known;
}

}  // namespace redflag
