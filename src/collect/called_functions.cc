#include "collect/called_functions.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace redflag {
namespace {

// Instructions of x86-64.
constexpr uint32_t kCallBytes = 5;         // e8 rel32
constexpr uint32_t kCallThroughBytes = 6;  // ff 15 rel32
constexpr uint8_t kCall = 0xe8;
constexpr uint32_t kCallThrough = 0x15ff;
constexpr uint32_t kJumpThrough = 0x25ff;  // ff 25 rel32
constexpr uint32_t kMostPrefixes = 8;      // endbr64 and a bnd, in front of the jump of a stub

std::string Demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? text.get() : name;
}

uint64_t SignExtended(uint64_t value, int bits) {
  return static_cast<uint64_t>(static_cast<int64_t>(value << (64 - bits)) >> (64 - bits));
}

}  // namespace

CalledFunctions::CalledFunctions(Elf* elf) : elf_(elf) {
  GElf_Ehdr file;
  if (elf == nullptr || gelf_getehdr(elf, &file) == nullptr) return;
  is_arm64_ = file.e_machine == EM_AARCH64;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA || header.sh_entsize == 0) continue;
    GElf_Shdr table;
    Elf_Scn* symbols = elf_getscn(elf, header.sh_link);
    if (symbols == nullptr || gelf_getshdr(symbols, &table) == nullptr || table.sh_type != SHT_DYNSYM) continue;
    Elf_Data* relocations = elf_getdata(section, nullptr);
    Elf_Data* entries = elf_getdata(symbols, nullptr);
    if (relocations == nullptr || entries == nullptr) continue;
    for (int i = 0; i < static_cast<int>(header.sh_size / header.sh_entsize); ++i) {
      GElf_Rela relocation;
      GElf_Sym symbol;
      if (gelf_getrela(relocations, i, &relocation) == nullptr) break;
      const uint64_t index = GELF_R_SYM(relocation.r_info);
      if (index == 0 || gelf_getsym(entries, static_cast<int>(index), &symbol) == nullptr) continue;
      const char* name = elf_strptr(elf, table.sh_link, symbol.st_name);
      if (name != nullptr && *name != '\0') symbols_.emplace(relocation.r_offset, name);
    }
  }
}

// Four bytes of the code.
std::optional<uint32_t> CalledFunctions::WordAt(uint64_t address) const {
  size_t count = 0;
  if (elf_ == nullptr || elf_getphdrnum(elf_, &count) != 0) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
    if (address < header.p_vaddr || address - header.p_vaddr + 4 > header.p_filesz) continue;
    const uint64_t at = address - header.p_vaddr + header.p_offset;
    const Elf_Data* data = elf_getdata_rawchunk(elf_, static_cast<int64_t>(at), sizeof(uint32_t), ELF_T_BYTE);
    if (data == nullptr || data->d_size < sizeof(uint32_t)) return std::nullopt;
    uint32_t word;
    std::memcpy(&word, data->d_buf, sizeof word);
    return word;
  }
  return std::nullopt;
}

std::optional<uint64_t> CalledFunctions::X86Slot(uint64_t return_address) const {
  const auto displacement = WordAt(return_address - 4);
  if (!displacement) return std::nullopt;
  const uint64_t target = return_address + SignExtended(*displacement, 32);
  if (const auto code = WordAt(return_address - kCallThroughBytes); code && (*code & 0xffff) == kCallThrough) {
    return target;
  }
  if (const auto code = WordAt(return_address - kCallBytes); !code || (*code & 0xff) != kCall) return std::nullopt;
  for (uint32_t skipped = 0; skipped < kMostPrefixes; ++skipped) {
    const auto code = WordAt(target + skipped);
    if (!code) return std::nullopt;
    if ((*code & 0xffff) != kJumpThrough) continue;
    const auto word = WordAt(target + skipped + 2);
    if (!word) return std::nullopt;
    return target + skipped + kCallThroughBytes + SignExtended(*word, 32);
  }
  return std::nullopt;
}

// bl STUB; there: adrp x16, PAGE; ldr x17, [x16, OFFSET]; perhaps with a landing instruction in front.
std::optional<uint64_t> CalledFunctions::Arm64Slot(uint64_t return_address) const {
  const auto call = WordAt(return_address - 4);
  if (!call || (*call & 0xfc000000) != 0x94000000) return std::nullopt;
  uint64_t at = return_address - 4 + SignExtended(uint64_t{*call & 0x03ffffff} << 2, 28);
  auto page = WordAt(at);
  if (page && *page == 0xd503245f) page = WordAt(at += 4);
  const auto load = WordAt(at + 4);
  if (!page || !load || (*page & 0x9f00001f) != 0x90000010 || (*load & 0xffc003ff) != 0xf9400211) return std::nullopt;
  const uint64_t pages = uint64_t{*page >> 5 & 0x7ffff} << 2 | (*page >> 29 & 3);
  return (at & ~uint64_t{0xfff}) + SignExtended(pages << 12, 33) + uint64_t{*load >> 10 & 0xfff} * 8;
}

std::string CalledFunctions::Before(uint64_t return_address) const {
  if (symbols_.empty() || return_address < kCallThroughBytes) return "";
  const std::optional<uint64_t> slot = is_arm64_ ? Arm64Slot(return_address) : X86Slot(return_address);
  if (!slot) return "";
  const auto found = symbols_.find(*slot);
  return found == symbols_.end() ? "" : Demangled(found->second.c_str());
}

}  // namespace redflag
