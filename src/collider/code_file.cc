#include "collider/code_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace redflag {
namespace {

// How addresses are written in tables for unwinding (DW_EH_PE_*): the low four bits say the format, the next three what they are relative to.
constexpr uint8_t kFormatMask = 0x0f, kAbsolute8 = 0x04, kUnsigned4 = 0x03, kSigned4 = 0x0b, kSigned8 = 0x0c;
constexpr uint8_t kRelativeMask = 0x70, kToHere = 0x10, kToTable = 0x30;

uint64_t Padded(uint64_t size) { return (size + 3) & ~uint64_t{3}; }

// A cursor over unwinding data. What is not there reads as zero and marks the cursor as failed.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, uint64_t address) : bytes_(bytes), address_(address) {}

  template <class T>
  T Take() {
    T value{};
    if (bytes_.size() - at_ < sizeof value) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint64_t TakeVariable() {  // LEB128, signed or not: the value of none that is signed is asked for
    uint64_t value = 0;
    for (int shift = 0; !failed_ && shift < 64; shift += 7) {
      const auto byte = Take<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  std::string TakeString() {
    std::string text;
    for (char c = Take<char>(); !failed_ && c != 0; c = Take<char>()) text += c;
    return text;
  }
  // The number itself, not what it is relative to.
  uint64_t TakeNumber(uint8_t encoding) {
    switch (encoding & kFormatMask) {
      case kSigned4:
        return static_cast<uint64_t>(static_cast<int64_t>(Take<int32_t>()));
      case kUnsigned4:
        return Take<uint32_t>();
      case 0:
      case kAbsolute8:
      case kSigned8:
        return Take<uint64_t>();
      default:
        failed_ = true;
        return 0;
    }
  }
  uint64_t TakeAddress(uint8_t encoding, uint64_t table) {
    const uint64_t here = address();
    const uint64_t number = TakeNumber(encoding);
    switch (encoding & kRelativeMask) {
      case 0:
        return number;
      case kToHere:
        return here + number;
      case kToTable:
        return table + number;
      default:
        failed_ = true;
        return 0;
    }
  }
  uint64_t address() const { return address_ + at_; }
  bool failed() const { return failed_; }

 private:
  std::span<const std::byte> bytes_;
  uint64_t address_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

template <class T>
bool CodeFile::Take(uint64_t offset, T& to) const {
  if (offset > bytes_.size() || bytes_.size() - offset < sizeof to) return false;
  std::memcpy(&to, bytes_.data() + offset, sizeof to);
  return true;
}

std::variant<CodeFile, std::string> CodeFile::Open(const std::string& path) {
  std::error_code error_code;
  const uint64_t size = std::filesystem::file_size(path, error_code);
  if (error_code) return fmt::format("cannot read {}: {}", path, error_code.message());
  std::ifstream stream(path, std::ios::binary);
  CodeFile file;
  file.bytes_.resize(size);
  if (!stream.read(reinterpret_cast<char*>(file.bytes_.data()), static_cast<std::streamsize>(size))) {
    return fmt::format("cannot read {}: {}", path, std::strerror(errno));
  }
  if (const std::string error = file.Read(); !error.empty()) return fmt::format("{}: {}", path, error);
  return file;
}

std::string CodeFile::Read() {
  Elf64_Ehdr header{};
  if (!Take(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "it is not a program";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64)) {
    return "it is for another kind of machine";
  }
  machine_ = header.e_machine == EM_X86_64 ? Machine::kX86_64 : Machine::kArm64;
  uint64_t table = 0;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!Take(header.e_phoff + i * sizeof part, part)) return "it is cut off";
    if (part.p_type == PT_LOAD) {
      if (part.p_offset > bytes_.size() || part.p_filesz > bytes_.size() - part.p_offset) return "it is cut off";
      segments_.push_back({.address = part.p_vaddr,
                           .size = part.p_filesz,
                           .offset = part.p_offset,
                           .executable = (part.p_flags & PF_X) != 0,
                           .writable = (part.p_flags & PF_W) != 0});
    }
    if (part.p_type == PT_GNU_RELRO) loader_only_ = {.begin = part.p_vaddr, .end = part.p_vaddr + part.p_memsz};
    if (part.p_type == PT_NOTE) ReadNotes(part.p_offset, part.p_filesz);
    if (part.p_type == PT_GNU_EH_FRAME) table = part.p_vaddr;
  }
  if (table != 0) {
    ReadFunctions(table);
  } else {
    ReadFrames();
  }
  return "";
}

void CodeFile::ReadNotes(uint64_t offset, uint64_t size) {
  if (offset > bytes_.size()) return;
  const uint64_t end = offset + std::min<uint64_t>(size, bytes_.size() - offset);
  while (offset < end) {
    Elf64_Nhdr note{};
    if (!Take(offset, note)) return;
    const uint64_t content = offset + sizeof note + Padded(note.n_namesz);
    if (content > end || note.n_descsz > end - content) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4) {
      build_id_.clear();
      for (uint64_t i = 0; i < note.n_descsz; ++i)
        build_id_ += fmt::format("{:02x}", static_cast<uint8_t>(bytes_[content + i]));
    }
    offset = content + Padded(note.n_descsz);
  }
}

std::span<const std::byte> CodeFile::At(uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (address < segment.address || address - segment.address >= segment.size) continue;
    const uint64_t skip = address - segment.address;
    return std::span(bytes_).subspan(segment.offset + skip, segment.size - skip);
  }
  return {};
}

bool CodeFile::IsConstant(const Range& range) const {
  if (range.begin >= loader_only_.begin && range.end <= loader_only_.end) return true;
  return std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
    return !segment.writable && range.begin >= segment.address && range.end - segment.address <= segment.size;
  });
}

std::pair<std::span<const std::byte>, uint64_t> CodeFile::Section(std::string_view name) const {
  Elf64_Ehdr header{};
  Elf64_Shdr names{};
  if (!Take(0, header) || !Take(header.e_shoff + uint64_t{header.e_shstrndx} * sizeof names, names)) return {};
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (!Take(header.e_shoff + i * sizeof section, section)) return {};
    const uint64_t at = names.sh_offset + section.sh_name;
    if (at >= bytes_.size() || bytes_.size() - at <= name.size()) continue;
    if (std::memcmp(bytes_.data() + at, name.data(), name.size()) != 0 || bytes_[at + name.size()] != std::byte{0})
      continue;
    if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes_.size() ||
        section.sh_size > bytes_.size() - section.sh_offset) {
      return {};
    }
    return {std::span(bytes_).subspan(section.sh_offset, section.sh_size), section.sh_addr};
  }
  return {};
}

// version, how the address of .eh_frame, the count and the table are written, then these.
void CodeFile::ReadFunctions(uint64_t table_address) {
  Cursor cursor(At(table_address), table_address);
  const auto version = cursor.Take<uint8_t>();
  const auto frame_encoding = cursor.Take<uint8_t>();
  const auto count_encoding = cursor.Take<uint8_t>();
  const auto table_encoding = cursor.Take<uint8_t>();
  if (version != 1) return;
  cursor.TakeAddress(frame_encoding, table_address);
  const uint64_t count = cursor.TakeAddress(count_encoding, table_address);
  for (uint64_t i = 0; i < count && !cursor.failed(); ++i) {
    cursor.TakeAddress(table_encoding, table_address);
    const uint64_t entry = cursor.TakeAddress(table_encoding, table_address);
    Range range{};
    if (!cursor.failed() && ReadFunction(entry, range)) functions_.push_back(range);
  }
  SortFunctions();
}

// Statically linked programs have no table, but what it would lead to: entries one behind the other, each with its length.
void CodeFile::ReadFrames() {
  const auto [frames, address] = Section(".eh_frame");
  for (size_t at = 0; at + 2 * sizeof(uint32_t) <= frames.size();) {
    Cursor entry(frames.subspan(at), address + at);
    const auto length = entry.Take<uint32_t>();
    if (length == 0 || length == UINT32_MAX || length > frames.size() - at) break;
    Range range{};
    if (entry.Take<uint32_t>() != 0 && ReadFunction(address + at, range)) functions_.push_back(range);
    at += sizeof length + length;
  }
  SortFunctions();
}

void CodeFile::SortFunctions() {
  std::sort(functions_.begin(), functions_.end());
  std::vector<Range> apart;
  for (const Range& range : functions_) {
    if (apart.empty() || range.begin >= apart.back().end) apart.push_back(range);
  }
  functions_ = std::move(apart);
}

// An FDE: its length, how far back its CIE is, and the code that it is about, written as the CIE says.
bool CodeFile::ReadFunction(uint64_t address, Range& range) const {
  Cursor entry(At(address), address);
  if (entry.Take<uint32_t>() == UINT32_MAX) return false;  // longer than 4 GB
  const uint64_t here = entry.address();
  const uint64_t common_address = here - entry.Take<uint32_t>();
  Cursor common(At(common_address), common_address);
  common.Take<uint32_t>();
  if (common.Take<uint32_t>() != 0) return false;
  const auto version = common.Take<uint8_t>();
  const std::string augmentation = common.TakeString();
  common.TakeVariable();  // factor of code addresses
  common.TakeVariable();  // factor of data
  if (version == 1) {
    common.Take<uint8_t>();
  } else {
    common.TakeVariable();
  }
  uint8_t encoding = 0;
  if (augmentation.starts_with('z')) {
    common.TakeVariable();
    for (const char c : augmentation.substr(1)) {
      if (c == 'R') encoding = common.Take<uint8_t>();
      if (c == 'L') common.Take<uint8_t>();
      if (c == 'P') common.TakeNumber(common.Take<uint8_t>());
    }
  }
  range.begin = entry.TakeAddress(encoding, 0);
  range.end = range.begin + entry.TakeNumber(encoding & kFormatMask);
  if (entry.failed() || common.failed() || range.end <= range.begin) return false;
  return std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
    return segment.executable && range.begin >= segment.address && range.end - segment.address <= segment.size;
  });
}

}  // namespace redflag
