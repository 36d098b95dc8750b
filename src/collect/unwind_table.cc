#include "collect/unwind_table.h"

#include <algorithm>
#include <cstring>

namespace redflag {
namespace {

// Version, and how what follows is written: .eh_frame by its distance, the count in 4 bytes, the table in pairs of 4 bytes with a sign, from its own
// address (DW_EH_PE_*).
constexpr uint8_t kHeader[] = {1, 0x1b, 0x03, 0x3b};

struct Start {
  uint8_t header[sizeof kHeader];
  int32_t frames;
  uint32_t count;
};
struct Entry {
  int32_t function, frame;
};

}  // namespace

UnwindTable::UnwindTable(Elf* elf) {
  size_t headers = 0;
  if (elf == nullptr || elf_getphdrnum(elf, &headers) != 0) return;
  for (size_t i = 0; i < headers; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_GNU_EH_FRAME) continue;
    const Elf_Data* data =
        elf_getdata_rawchunk(elf, static_cast<int64_t>(header.p_offset), header.p_filesz, ELF_T_BYTE);
    Start start;
    if (data == nullptr || data->d_size < sizeof start) return;
    std::memcpy(&start, data->d_buf, sizeof start);
    if (std::memcmp(start.header, kHeader, sizeof kHeader) != 0) return;
    const size_t count = std::min<size_t>(start.count, (data->d_size - sizeof start) / sizeof(Entry));
    begins_.reserve(count);
    for (size_t k = 0; k < count; ++k) {
      Entry entry;
      std::memcpy(&entry, static_cast<const char*>(data->d_buf) + sizeof start + k * sizeof entry, sizeof entry);
      begins_.push_back(header.p_vaddr + static_cast<uint64_t>(int64_t{entry.function}));
    }
    std::sort(begins_.begin(), begins_.end());
    return;
  }
}

std::optional<uint64_t> UnwindTable::FunctionAt(uint64_t address) const {
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), address);
  return next == begins_.begin() ? std::nullopt : std::optional(*(next - 1));
}

}  // namespace redflag
