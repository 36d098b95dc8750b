// How one instruction accesses memory: which bytes, as a sum of registers, and what it does to them. Made by the decoders
// (collider/decoder.h) on the host side; the handler of a breakpoint (trap/) needs no more than this to know the address.
//
// In-process rules. Bytes of this struct are kept in files (collider/site_cache.h) and in shared memory: no padding.
#pragma once

#include <cstdint>

namespace redflag {

// Numbers of registers. x86-64: as instructions encode them, rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 to r15. arm64: x0 to x30,
// and 31 for sp.
inline constexpr uint8_t kNoRegister = 0xff;
inline constexpr uint8_t kProgramCounter = 0xfe;  // x86-64: of the next instruction. arm64: of this one
inline constexpr uint8_t kStackPointerX86 = 4, kFramePointerX86 = 5, kCountX86 = 1;
inline constexpr uint8_t kStackPointerArm = 31, kFramePointerArm = 29;

enum class IndexExtend : uint8_t { kNone, kUnsignedWord, kSignedWord };

struct MemoryAccess {
  enum Flag : uint8_t {
    kReads = 1,
    kWrites = 2,
    kAtomic = 4,     // a synchronization access, not one of data
    kExclusive = 8,  // arm64: a load that a store exclusive answers to, or that store
    kRepeated = 16,  // x86-64: as often as rcx says, which may be never
    kOwn = 32,       // memory of the thread alone: its stack by the stack pointer, thread-local variables
    kOther = 64,     // not an access whose bytes are known: its address, size or shape is beyond a sum of registers
  };

  int32_t displacement = 0;
  uint8_t base = kNoRegister;
  uint8_t index = kNoRegister;
  uint8_t shift = 0;  // of the index
  IndexExtend extend = IndexExtend::kNone;
  uint8_t size = 0;    // in bytes
  uint8_t length = 0;  // of the instruction
  uint8_t flags = 0;
  uint8_t reserved = 0;

  bool reads() const { return (flags & kReads) != 0; }
  bool writes() const { return (flags & kWrites) != 0; }
  bool atomic() const { return (flags & kAtomic) != 0; }

  // Is it an access to sample: of data that others may share, and with an address that can be told?
  bool is_candidate() const {
    return size != 0 && (flags & (kReads | kWrites)) != 0 && (flags & (kAtomic | kExclusive | kOwn | kOther)) == 0;
  }

  // `registers` by number; `pc`: where the instruction is.
  uint64_t Address(const uint64_t* registers, uint64_t pc, bool pc_is_next) const {
    uint64_t address = static_cast<uint64_t>(static_cast<int64_t>(displacement));
    if (base == kProgramCounter) {
      address += pc + (pc_is_next ? length : 0);
    } else if (base != kNoRegister) {
      address += registers[base];
    }
    if (index == kNoRegister) return address;
    uint64_t value = registers[index];
    if (extend == IndexExtend::kUnsignedWord) value = static_cast<uint32_t>(value);
    if (extend == IndexExtend::kSignedWord) {
      value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(value))));
    }
    return address + (value << shift);
  }

  bool operator==(const MemoryAccess&) const = default;
};
static_assert(sizeof(MemoryAccess) == 12);

}  // namespace redflag
