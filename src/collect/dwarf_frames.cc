#include "collect/dwarf_frames.h"

#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace redflag {
namespace {

constexpr uint64_t kWord = 8;

// Registers as DWARF numbers them.
constexpr unsigned kStackPointerX86 = 7, kFramePointerX86 = 6;
constexpr unsigned kStackPointerArm = 31, kFramePointerArm = 29;

// What a function pushes before its first call, frame pointer and all, if it begins in the way that compilers let functions with a frame pointer
// begin: push %rbp; mov %rsp, %rbp; other pushes; sub $size, %rsp.
std::optional<uint64_t> PushedByCode(const std::vector<uint8_t>& code) {
  size_t at = 0;
  const auto has = [&](std::initializer_list<uint8_t> bytes) {
    if (code.size() - at < bytes.size() ||
        !std::equal(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at))) {
      return false;
    }
    at += bytes.size();
    return true;
  };
  has({0xf3, 0x0f, 0x1e, 0xfa});  // endbr64
  if (!has({0x55}) || !has({0x48, 0x89, 0xe5})) return std::nullopt;
  uint64_t pushed = kWord;
  for (; at + 1 < code.size(); pushed += kWord) {
    if (code[at] == 0x41 && code[at + 1] >= 0x50 && code[at + 1] <= 0x57) {
      at += 2;
    } else if (code[at] >= 0x50 && code[at] <= 0x57) {
      at += 1;
    } else {
      break;
    }
  }
  if (has({0x48, 0x83, 0xec}) && at < code.size() && code[at] < 0x80) return pushed + code[at];
  if (has({0x48, 0x81, 0xec}) && code.size() - at >= sizeof(uint32_t)) {
    uint32_t size = 0;
    std::memcpy(&size, code.data() + at, sizeof size);
    return pushed + size;
  }
  return std::nullopt;
}

}  // namespace

DwarfFrames::DwarfFrames(Dwfl_Module* module) {
  elf_ = dwfl_module_getelf(module, &elf_bias_);
  GElf_Ehdr header;
  if (elf_ == nullptr || gelf_getehdr(elf_, &header) == nullptr) return;
  machine_ = header.e_machine;
  rules_ = dwfl_module_eh_cfi(module, &rules_bias_);
  if (rules_ == nullptr) rules_ = dwfl_module_dwarf_cfi(module, &rules_bias_);
}

std::optional<DwarfFrames::Rules> DwarfFrames::RulesAt(uint64_t address) const {
  if (rules_ == nullptr) return std::nullopt;
  Dwarf_Frame* found = nullptr;
  if (dwarf_cfi_addrframe(rules_, address - rules_bias_, &found) != 0) return std::nullopt;
  const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> frame(found, &std::free);
  bool is_signal = false;
  const int return_column = dwarf_frame_info(found, nullptr, nullptr, &is_signal);
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (return_column < 0 || is_signal || dwarf_frame_cfa(found, &operations, &count) != 0 || count != 1) {
    return std::nullopt;
  }
  Rules rules;
  if (operations[0].atom == DW_OP_bregx) {
    rules.cfa_register = static_cast<unsigned>(operations[0].number);
    rules.cfa_offset = operations[0].number2;
  } else if (operations[0].atom >= DW_OP_breg0 && operations[0].atom <= DW_OP_breg31) {
    rules.cfa_register = operations[0].atom - DW_OP_breg0;
    rules.cfa_offset = operations[0].number;
  } else {
    return std::nullopt;
  }
  Dwarf_Op memory[3];
  if (dwarf_frame_register(found, return_column, memory, &operations, &count) != 0 || operations == nullptr) {
    return std::nullopt;
  }
  if (count == 0 || count > 2 || operations[0].atom != DW_OP_call_frame_cfa) return std::nullopt;
  if (count == 2 && operations[1].atom != DW_OP_plus_uconst) return std::nullopt;
  rules.return_offset = count == 2 ? operations[1].number : 0;
  return rules;
}

std::optional<uint64_t> DwarfFrames::PushedBy(uint64_t entry) const {
  constexpr uint64_t kLongest = 32;
  const uint64_t wanted = entry - elf_bias_;
  size_t headers = 0;
  if (elf_getphdrnum(elf_, &headers) != 0) return std::nullopt;
  for (size_t i = 0; i < headers; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
    if (wanted < header.p_vaddr || wanted - header.p_vaddr >= header.p_filesz) continue;
    const uint64_t offset = wanted - header.p_vaddr;
    const uint64_t size = std::min(kLongest, header.p_filesz - offset);
    const Elf_Data* data = elf_getdata_rawchunk(elf_, static_cast<int64_t>(header.p_offset + offset), size, ELF_T_BYTE);
    if (data == nullptr) return std::nullopt;
    const auto* bytes = static_cast<const uint8_t*>(data->d_buf);
    return PushedByCode({bytes, bytes + data->d_size});
  }
  return std::nullopt;
}

std::optional<uint64_t> DwarfFrames::EndOf(uint64_t return_address, uint64_t slot) const {
  const std::optional<Rules> rules = RulesAt(return_address - 1);
  return rules ? std::optional(slot - rules->return_offset) : std::nullopt;
}

// On x86-64, a call puts its return address below the caller's frame: its place says how large that is. On arm64 the function that is
// called stores it, next to the caller's frame pointer, which says where the caller has stored its own; what is above that may be of either,
// unless it is known where the stack pointer was.
std::optional<StackFrame> DwarfFrames::FrameOf(uint64_t return_address, uint64_t entry, const Call& call) const {
  const std::optional<Rules> rules = RulesAt(return_address - 1);
  if (!rules) return std::nullopt;
  StackFrame frame;
  frame.cfa = call.slot - rules->return_offset;
  frame.bottom = call.address + kWord;
  if (frame.cfa <= frame.bottom) return std::nullopt;
  const uint64_t base = frame.cfa - rules->cfa_offset;  // what the register holds that the CFA is counted from
  if (machine_ == EM_X86_64) {
    frame.is_whole = true;
    frame.stack_pointer = {.number = kStackPointerX86, .value = frame.bottom};
    frame.frame_pointer = {.number = kFramePointerX86, .value = {}};
    if (rules->cfa_register == kStackPointerX86) {
      if (base != frame.bottom) return std::nullopt;
      return frame;
    }
    if (rules->cfa_register != kFramePointerX86) return std::nullopt;
    frame.frame_pointer.value = base;
    const std::optional<uint64_t> pushed = call.below == base ? std::nullopt : PushedBy(entry);
    if (call.below != base && (!pushed || frame.cfa - kWord - *pushed != frame.bottom)) return std::nullopt;
    return frame;
  }
  if (machine_ != EM_AARCH64 || call.below + kWord != call.slot) return std::nullopt;
  frame.stack_pointer = {.number = kStackPointerArm, .value = {}};
  frame.frame_pointer = {.number = kFramePointerArm, .value = call.below};
  if (rules->cfa_register == kStackPointerArm) {
    frame.stack_pointer.value = base;
    frame.bottom = base;
    frame.is_whole = true;
    return frame;
  }
  if (rules->cfa_register != kFramePointerArm || base != call.below) return std::nullopt;
  if (call.inner && *call.inner > call.address && *call.inner < frame.cfa) {
    frame.stack_pointer.value = call.inner;
    frame.bottom = *call.inner;
    frame.is_whole = true;
  }
  return frame;
}

}  // namespace redflag
