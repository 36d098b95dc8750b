// arm64's part of base/arch_code.h. Included from there only.
#pragma once

#include <cstdint>

namespace redflag::arch {

// As stored by REDFLAG_ARCH_REFUSED, below the stack pointer of the access.
struct RefusedFrame {
  uint64_t x29;
  uint64_t return_to;
  uint64_t x19_to_x28[10];
  uint64_t d8_to_d15[8];

  uint64_t stack_pointer() const { return reinterpret_cast<uint64_t>(this + 1); }
};

// Follows instructions, one by one, as far as registers that addresses are made of go.
class CodeReader {
 public:
  CodeReader(uint64_t place, const RefusedFrame& frame) : at_(place) {
    for (uint32_t i = 0; i < 10; ++i) Set(19 + i, frame.x19_to_x28[i]);
    Set(29, frame.x29);
    Set(kStack, frame.stack_pointer());
  }

  // The address of the access, or 0.
  uint64_t Find(uint64_t addr, uint64_t bytes) {
    constexpr int kMostInstructions = 24;
    for (int i = 0; i < kMostInstructions; ++i, at_ += sizeof word_) {
      __builtin_memcpy(&word_, reinterpret_cast<const void*>(at_), sizeof word_);
      if (IsLoadOrStore()) {
        if (!DecodeMemory()) return 0;
        if (ea_known_ && ea_ - addr < bytes) return at_;
        if (!is_load_ || writes_back_ || !SkipLoad()) return 0;
      } else if (!Skip()) {
        return 0;
      }
    }
    return 0;
  }

 private:
  static constexpr uint32_t kStack = 31;
  static constexpr uint32_t kNop = 0xd503201f;

  void Set(uint32_t reg, uint64_t value) {
    values_[reg] = value;
    known_ |= 1u << reg;
  }
  bool Knows(uint32_t reg) const { return (known_ >> reg & 1) != 0; }
  uint32_t Bits(int high, int low) const { return word_ >> low & ((1u << (high - low + 1)) - 1); }
  int64_t Signed(int high, int low) const {
    const int bits = high - low + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(Bits(high, low)) << (64 - bits)) >> (64 - bits);
  }
  static bool IsKept(uint32_t reg) { return reg >= 19 && reg <= 29; }
  uint32_t Rd() const { return Bits(4, 0); }
  uint32_t Rn() const { return Bits(9, 5); }
  uint32_t Rm() const { return Bits(20, 16); }

  bool IsLoadOrStore() const { return Bits(27, 27) == 1 && Bits(25, 25) == 0; }

  // False: one that is not a plain one.
  bool DecodeMemory() {
    ea_known_ = Knows(Rn());
    ea_ = values_[Rn()];
    writes_back_ = false;
    is_vector_ = Bits(26, 26) != 0;
    target2_ = kStack;
    if (Bits(29, 27) == 0b011 && Bits(25, 24) == 0) {  // of a literal
      is_load_ = true;
      value_bytes_ = Bits(31, 30) == 1 ? 8 : 4;
      signed_bits_ = Bits(31, 30) == 2 ? 64 : 0;
      ea_known_ = true;
      ea_ = at_ + static_cast<uint64_t>(Signed(23, 5) * 4);
      return true;
    }
    if (Bits(29, 27) == 0b101) {  // pairs
      is_load_ = Bits(22, 22) != 0;
      value_bytes_ = 0;  // they are not followed
      const int scale = is_vector_ ? 2 + static_cast<int>(Bits(31, 30)) : Bits(31, 31) != 0 ? 3 : 2;
      const uint32_t mode = Bits(24, 23);
      writes_back_ = mode == 0b01 || mode == 0b11;
      if (mode != 0b01) ea_ += static_cast<uint64_t>(Signed(21, 15) * (int64_t{1} << scale));
      target2_ = Bits(14, 10);
      return true;
    }
    if (Bits(29, 27) != 0b111) return false;
    const uint32_t opc = Bits(23, 22);
    const uint32_t size = Bits(31, 30);
    const uint32_t scale = is_vector_ && opc >= 2 ? 4 : size;
    is_load_ = is_vector_ ? (opc & 1) != 0 : opc != 0;
    value_bytes_ = 1u << size;
    signed_bits_ = opc < 2 ? 0 : opc == 2 ? 64 : 32;
    if (Bits(25, 24) == 0b01) {
      ea_ += uint64_t{Bits(21, 10)} << scale;
      return true;
    }
    if (Bits(25, 24) != 0) return false;
    if (Bits(21, 21) == 0) {
      const uint32_t mode = Bits(11, 10);
      if (mode == 0b10) return false;
      writes_back_ = mode != 0;
      if (mode != 0b01) ea_ += static_cast<uint64_t>(Signed(20, 12));
      return true;
    }
    if (Bits(11, 10) != 0b10) return false;
    uint64_t index = values_[Rm()];
    if (Rm() == kStack) {
      index = 0;
    } else {
      ea_known_ = ea_known_ && Knows(Rm());
    }
    if (Bits(15, 13) == 0b010) index = static_cast<uint32_t>(index);
    if (Bits(15, 13) == 0b110) index = static_cast<uint64_t>(int64_t{static_cast<int32_t>(index)});
    ea_ += index << (Bits(12, 12) != 0 ? scale : 0);
    return true;
  }

  bool SkipLoad() {
    if (is_vector_) return (Rd() < 8 || Rd() > 15) && (target2_ < 8 || target2_ > 15);
    if (IsKept(Rd()) || IsKept(target2_)) return false;
    if (target2_ != kStack) known_ &= ~(1u << target2_);
    if (Rd() == kStack) return true;
    known_ &= ~(1u << Rd());
    if (!ea_known_ || value_bytes_ == 0) return true;
    uint64_t value = 0;  // what the program is about to read itself
    __builtin_memcpy(&value, reinterpret_cast<const void*>(ea_), value_bytes_);
    if (signed_bits_ != 0) value = Extended(value, 8 * value_bytes_);
    Set(Rd(), signed_bits_ == 32 ? static_cast<uint32_t>(value) : value);
    return true;
  }

  // What is no load or store: false if it may not be left out.
  bool Skip() {
    if (word_ == kNop || (word_ & 0xffffff3f) == 0xd503241f) return true;  // bti
    if (word_ >> 20 == 0xd53) return Forget();                             // a system register
    const uint32_t kind = Bits(28, 25);
    if ((kind & 0b0111) == 0b0111) return (Rd() < 8 || Rd() > 15) && !IsKept(Rd()) && Forget();  // vectors
    const bool is_data = (kind & 0b1110) == 0b1000 || (kind & 0b0111) == 0b0101;
    if (!is_data) return false;
    const uint32_t target = Rd();
    uint64_t value = 0;
    const bool is_computed = Compute(value);
    const bool is_stack = target == kStack && Bits(28, 23) == 0b100010 && Bits(29, 29) == 0;
    if (IsKept(target) || is_stack) return false;
    if (target == kStack) return true;  // a comparison
    if (!is_computed) return Forget();
    Set(target, Bits(31, 31) != 0 || Bits(28, 24) == 0b10000 ? value : value & 0xffffffff);
    return true;
  }
  bool Forget() {
    if (IsKept(Rd())) return false;
    if (Rd() != kStack) known_ &= ~(1u << Rd());
    return true;
  }

  static uint64_t Extended(uint64_t value, uint32_t bits) {
    return static_cast<uint64_t>(static_cast<int64_t>(value << (64 - bits)) >> (64 - bits));
  }

  // Shifts by a constant, and the extension of what is narrow: a field of one register to a place in the other.
  bool MoveField(uint64_t& value) const {
    const uint32_t width = Bits(31, 31) != 0 ? 64 : 32;
    const uint32_t rotation = Bits(21, 16), last = Bits(15, 10);
    const bool is_signed = Bits(30, 29) == 0b00;
    if (rotation >= width || last >= width || (!is_signed && Bits(30, 29) != 0b10)) return false;
    const bool goes_down = last >= rotation;
    const uint32_t bits = goes_down ? last - rotation + 1 : last + 1;
    value = goes_down ? values_[Rn()] >> rotation : values_[Rn()];
    value = is_signed ? Extended(value, bits) : value << (64 - bits) >> (64 - bits);
    if (!goes_down) value <<= width - rotation;
    return Knows(Rn());
  }

  bool Compute(uint64_t& value) const {
    if (Bits(28, 23) == 0b100010) {  // add, subtract
      const uint64_t immediate = uint64_t{Bits(21, 10)} << (Bits(22, 22) != 0 ? 12 : 0);
      value = Bits(30, 30) != 0 ? values_[Rn()] - immediate : values_[Rn()] + immediate;
      return Knows(Rn());
    }
    if (Bits(28, 24) == 0b10000) {  // adr, adrp
      const auto offset = static_cast<uint64_t>(Signed(23, 5) * 4 + static_cast<int64_t>(Bits(30, 29)));
      value = Bits(31, 31) != 0 ? (at_ & ~uint64_t{0xfff}) + (offset << 12) : at_ + offset;
      return true;
    }
    if (Bits(28, 23) == 0b100110) return MoveField(value);
    if (Bits(28, 23) == 0b100101 && Bits(30, 29) == 0b10) {  // movz
      value = uint64_t{Bits(20, 5)} << (16 * Bits(22, 21));
      return true;
    }
    if (Bits(30, 24) == 0b0101010 && Bits(21, 21) == 0 && Rn() == kStack && Bits(15, 10) == 0) {  // mov
      value = values_[Rm()];
      if (Rm() == kStack) value = 0;
      return Rm() == kStack || Knows(Rm());
    }
    if (Bits(30, 24) != 0b0001011 || Rn() == kStack || Rm() == kStack) return false;  // add
    uint64_t operand = values_[Rm()];
    if (Bits(21, 21) == 0) {
      if (Bits(23, 22) != 0) return false;
      operand <<= Bits(15, 10);
    } else {
      if (Bits(15, 13) == 0b010) operand = static_cast<uint32_t>(operand);
      if (Bits(15, 13) == 0b110) operand = static_cast<uint64_t>(int64_t{static_cast<int32_t>(operand)});
      operand <<= Bits(12, 10);
    }
    value = values_[Rn()] + operand;
    return Knows(Rn()) && Knows(Rm());
  }

  uint64_t at_;
  uint32_t word_ = 0;
  uint64_t values_[32] = {};
  uint32_t known_ = 0;
  // The load or store that was read last.
  bool ea_known_ = false, writes_back_ = false, is_load_ = false, is_vector_ = false;
  uint32_t value_bytes_ = 0;  // of what it loads; 0: that is not followed
  uint32_t signed_bits_ = 0;  // to how many it is extended; 0: by zeros
  uint32_t target2_ = 0;
  uint64_t ea_ = 0;
};

inline uint64_t FindAccess(uint64_t place, const RefusedFrame& frame, uint64_t addr, uint64_t bytes) {
  return CodeReader(place, frame).Find(addr, bytes);
}

}  // namespace redflag::arch

// Defines `name`, to which a call returns with the stack pointer and the registers that are kept as its caller expects them. Calls `decide`
// with them, and then goes on at return_to; or, if `decide` answers a function, calls that as if from there.
#define REDFLAG_ARCH_REFUSED(name, decide) \
  asm(".pushsection .text\n"               \
      ".globl " #name                      \
      "\n"                                 \
      ".hidden " #name                     \
      "\n"                                 \
      ".type " #name ", %function\n" #name \
      ":\n"                                \
      ".cfi_startproc\n"                   \
      "stp x29, x30, [sp, #-160]!\n"       \
      ".cfi_def_cfa_offset 160\n"          \
      ".cfi_offset 29, -160\n"             \
      ".cfi_offset 30, -152\n"             \
      "stp x19, x20, [sp, #16]\n"          \
      ".cfi_offset 19, -144\n"             \
      ".cfi_offset 20, -136\n"             \
      "stp x21, x22, [sp, #32]\n"          \
      ".cfi_offset 21, -128\n"             \
      ".cfi_offset 22, -120\n"             \
      "stp x23, x24, [sp, #48]\n"          \
      ".cfi_offset 23, -112\n"             \
      ".cfi_offset 24, -104\n"             \
      "stp x25, x26, [sp, #64]\n"          \
      ".cfi_offset 25, -96\n"              \
      ".cfi_offset 26, -88\n"              \
      "stp x27, x28, [sp, #80]\n"          \
      ".cfi_offset 27, -80\n"              \
      ".cfi_offset 28, -72\n"              \
      "stp d8, d9, [sp, #96]\n"            \
      "stp d10, d11, [sp, #112]\n"         \
      "stp d12, d13, [sp, #128]\n"         \
      "stp d14, d15, [sp, #144]\n"         \
      "mov x0, sp\n"                       \
      "bl " #decide                        \
      "\n"                                 \
      "mov x16, x0\n"                      \
      "ldp d14, d15, [sp, #144]\n"         \
      "ldp d12, d13, [sp, #128]\n"         \
      "ldp d10, d11, [sp, #112]\n"         \
      "ldp d8, d9, [sp, #96]\n"            \
      "ldp x27, x28, [sp, #80]\n"          \
      "ldp x25, x26, [sp, #64]\n"          \
      "ldp x23, x24, [sp, #48]\n"          \
      "ldp x21, x22, [sp, #32]\n"          \
      "ldp x19, x20, [sp, #16]\n"          \
      "ldp x29, x30, [sp], #160\n"         \
      ".cfi_def_cfa_offset 0\n"            \
      "cbz x16, 1f\n"                      \
      "br x16\n"                           \
      "1: ret\n"                           \
      ".cfi_endproc\n"                     \
      ".size " #name ", . - " #name        \
      "\n"                                 \
      ".popsection")
