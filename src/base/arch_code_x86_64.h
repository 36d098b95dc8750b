// x86-64's part of base/arch_code.h. Included from there only.
#pragma once

#include <cstdint>

namespace redflag::arch {

// As pushed by REDFLAG_ARCH_REFUSED, below the stack pointer of the access.
struct RefusedFrame {
  uint64_t padding, r15, r14, r13, r12, rbx, rbp;
  uint64_t return_to;

  uint64_t stack_pointer() const { return reinterpret_cast<uint64_t>(&return_to + 1); }
};

// Follows instructions, one by one, as far as registers that addresses are made of go.
class CodeReader {
 public:
  CodeReader(uint64_t place, const RefusedFrame& frame) : at_(reinterpret_cast<const uint8_t*>(place)) {
    Set(kRbx, frame.rbx);
    Set(kRsp, frame.stack_pointer());
    Set(kRbp, frame.rbp);
    Set(12, frame.r12);
    Set(13, frame.r13);
    Set(14, frame.r14);
    Set(15, frame.r15);
  }

  // The address of the access, or 0.
  uint64_t Find(uint64_t addr, uint64_t bytes) {
    constexpr int kMostInstructions = 24;
    for (int i = 0; i < kMostInstructions; ++i) {
      const uint8_t* const begin = at_;
      if (!Decode()) return 0;
      if (has_memory_ && ea_known_ && ea_ - addr < bytes) return reinterpret_cast<uint64_t>(begin);
      if (!Skip()) return 0;
    }
    return 0;
  }

 private:
  static constexpr int kRcx = 1, kRbx = 3, kRsp = 4, kRbp = 5, kNone = -1;
  static constexpr uint32_t kKept = 1u << kRbx | 1u << kRsp | 1u << kRbp | 0xf000;
  enum Map : uint8_t { kOne, kTwo, k38, k3a };

  void Set(int reg, uint64_t value) {
    values_[reg] = value;
    known_ |= 1u << reg;
  }
  bool Knows(int reg) const { return (known_ >> reg & 1) != 0; }
  template <class T>
  T Take() {
    T value;
    __builtin_memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  static bool IsIn(uint8_t value, uint8_t first, uint8_t last) { return value >= first && value <= last; }

  // One instruction: false if it is one of those that end the search, or that nobody knows here.
  bool Decode() {
    has_66_ = has_f2_ = has_f3_ = has_segment_ = has_memory_ = ea_known_ = false;
    rex_ = 0;
    map_ = kOne;
    mod_ = 3;
    reg_ = rm_ = 0;
    imm_ = 0;
    for (;; ++at_) {
      if (*at_ == 0x66) {
        has_66_ = true;
      } else if (*at_ == 0xf2) {
        has_f2_ = true;
      } else if (*at_ == 0xf3) {
        has_f3_ = true;
      } else if (*at_ == 0x64 || *at_ == 0x65) {
        has_segment_ = true;
      } else {
        break;
      }
    }
    if ((*at_ & 0xf0) == 0x40) rex_ = *at_++;
    opcode_ = *at_++;
    if (opcode_ == 0x0f) {
      map_ = kTwo;
      opcode_ = *at_++;
      if (opcode_ == 0x38) {
        map_ = k38;
        opcode_ = *at_++;
      } else if (opcode_ == 0x3a) {
        map_ = k3a;
        opcode_ = *at_++;
      }
    }
    if (!IsKnown()) return false;
    const uint8_t* const modrm = at_;
    if (HasModrm()) ++at_;
    uint32_t imm_bytes = 0;
    if (HasModrm()) {
      mod_ = *modrm >> 6;
      reg_ = (*modrm >> 3 & 7) | (rex_ & 4) << 1;
      rm_ = (*modrm & 7) | (rex_ & 1) << 3;
    }
    imm_bytes = ImmBytes();
    if (HasModrm() && mod_ != 3) Address(imm_bytes);
    if (imm_bytes == 1) imm_ = static_cast<uint64_t>(int64_t{Take<int8_t>()});
    if (imm_bytes == 2) imm_ = static_cast<uint64_t>(int64_t{Take<int16_t>()});
    if (imm_bytes == 4) imm_ = static_cast<uint64_t>(int64_t{Take<int32_t>()});
    if (imm_bytes == 8) imm_ = Take<uint64_t>();
    return true;
  }

  bool IsKnown() const {
    if (map_ == k38 || map_ == k3a) return true;
    if (map_ == kTwo) {
      return IsIn(opcode_, 0x10, 0x17) || opcode_ == 0x1e || opcode_ == 0x1f || IsIn(opcode_, 0x28, 0x2f) ||
             IsIn(opcode_, 0x40, 0x76) || IsIn(opcode_, 0x7c, 0x7f) || IsIn(opcode_, 0x90, 0x9f) || opcode_ == 0xaf ||
             IsIn(opcode_, 0xb6, 0xb7) || IsIn(opcode_, 0xba, 0xbf) || opcode_ == 0xc2 || IsIn(opcode_, 0xc4, 0xc6) ||
             IsIn(opcode_, 0xd0, 0xfe);
    }
    if (opcode_ < 0x40) return (opcode_ & 7) < 6;
    return opcode_ == 0x63 || opcode_ == 0x69 || opcode_ == 0x6b || IsIn(opcode_, 0x80, 0x8b) || opcode_ == 0x8d ||
           (opcode_ == 0x90 && rex_ == 0) || opcode_ == 0x98 || opcode_ == 0x99 || IsIn(opcode_, 0xa8, 0xa9) ||
           IsIn(opcode_, 0xb0, 0xc1) || IsIn(opcode_, 0xc6, 0xc7) || IsIn(opcode_, 0xd0, 0xd3) ||
           IsIn(opcode_, 0xd8, 0xdf) || IsIn(opcode_, 0xf6, 0xf7) || IsIn(opcode_, 0xfe, 0xff);
  }
  bool HasModrm() const {
    if (map_ != kOne) return true;
    if (opcode_ < 0x40) return (opcode_ & 7) < 4;
    return !(opcode_ == 0x90 || opcode_ == 0x98 || opcode_ == 0x99 || IsIn(opcode_, 0xa8, 0xa9) ||
             IsIn(opcode_, 0xb0, 0xbf));
  }
  uint32_t ImmBytes() const {
    const uint32_t full = has_66_ ? 2 : 4;
    if (map_ == k38) return 0;
    if (map_ == k3a) return 1;
    if (map_ == kTwo) {
      return IsIn(opcode_, 0x70, 0x73) || opcode_ == 0xba || opcode_ == 0xc2 || IsIn(opcode_, 0xc4, 0xc6) ? 1 : 0;
    }
    if (opcode_ < 0x40) return (opcode_ & 7) == 4 ? 1 : (opcode_ & 7) == 5 ? full : 0;
    if (IsIn(opcode_, 0xb8, 0xbf)) return (rex_ & 8) != 0 ? 8 : full;
    if (opcode_ == 0x69 || opcode_ == 0x81 || opcode_ == 0xa9 || opcode_ == 0xc7) return full;
    if (opcode_ == 0x6b || opcode_ == 0x80 || opcode_ == 0x82 || opcode_ == 0x83 || opcode_ == 0xa8 ||
        IsIn(opcode_, 0xb0, 0xb7) || IsIn(opcode_, 0xc0, 0xc1) || opcode_ == 0xc6)
      return 1;
    if (opcode_ == 0xf6) return Extension() < 2 ? 1 : 0;
    if (opcode_ == 0xf7) return Extension() < 2 ? full : 0;
    return 0;
  }
  int Extension() const { return reg_ & 7; }

  void Address(uint32_t imm_bytes) {
    has_memory_ = true;
    ea_known_ = !has_segment_;
    ea_ = 0;
    const int low = rm_ & 7;
    const auto add = [&](int reg, int shift) {
      ea_known_ = ea_known_ && Knows(reg);
      ea_ += values_[reg] << shift;
    };
    bool has_base = true;
    if (low == 4) {
      const uint8_t sib = Take<uint8_t>();
      const int index = (sib >> 3 & 7) | (rex_ & 2) << 2;
      const int base = (sib & 7) | (rex_ & 1) << 3;
      if (index != kRsp) add(index, sib >> 6);
      has_base = (base & 7) != kRbp || mod_ != 0;
      if (has_base) add(base, 0);
    } else if (low == 5 && mod_ == 0) {
      const int64_t offset = Take<int32_t>();
      ea_ = reinterpret_cast<uint64_t>(at_) + imm_bytes + static_cast<uint64_t>(offset);
      return;
    } else {
      add(rm_, 0);
    }
    if (mod_ == 1) ea_ += static_cast<uint64_t>(int64_t{Take<int8_t>()});
    if (mod_ == 2 || !has_base) ea_ += static_cast<uint64_t>(int64_t{Take<int32_t>()});
  }

  // Does it write to the memory that it names?
  bool Stores() const {
    if (!has_memory_) return false;
    if (map_ == kTwo) {
      return opcode_ == 0x11 || opcode_ == 0x13 || opcode_ == 0x17 || opcode_ == 0x29 || opcode_ == 0x2b ||
             (opcode_ == 0x7e && !has_f3_) || opcode_ == 0x7f || opcode_ == 0xd6 || opcode_ == 0xe7 ||
             IsIn(opcode_, 0x90, 0x9f) || opcode_ == 0xba;
    }
    if (map_ == k3a) return IsIn(opcode_, 0x14, 0x17);
    if (map_ == k38) return false;
    if (opcode_ < 0x38) return (opcode_ & 7) < 2;
    if (opcode_ < 0x40) return false;
    if (IsIn(opcode_, 0x80, 0x83)) return Extension() != 7;
    if (IsIn(opcode_, 0xf6, 0xf7)) return IsIn(static_cast<uint8_t>(Extension()), 2, 3);
    return IsIn(opcode_, 0x86, 0x89) || IsIn(opcode_, 0xc0, 0xc1) || IsIn(opcode_, 0xc6, 0xc7) ||
           IsIn(opcode_, 0xd0, 0xd3) || IsIn(opcode_, 0xd8, 0xdf) || opcode_ == 0xfe || opcode_ == 0xff;
  }

  // The general register that it changes, of those that are not memory; kNone: none.
  int Target() const {
    if (map_ == kTwo) {
      if (IsIn(opcode_, 0x40, 0x4f) || opcode_ == 0xaf || IsIn(opcode_, 0xb6, 0xbf) || opcode_ == 0x2c ||
          opcode_ == 0x2d || opcode_ == 0x50 || opcode_ == 0xd7 || opcode_ == 0xc5)
        return opcode_ == 0xba ? rm_ : reg_;
      if (opcode_ == 0x7e && !has_f3_) return rm_;
      return IsIn(opcode_, 0x90, 0x9f) ? rm_ : kNone;
    }
    if (map_ == k3a) return IsIn(opcode_, 0x14, 0x17) ? rm_ : kNone;
    if (map_ == k38) return IsIn(opcode_, 0xf0, 0xf1) ? reg_ : kNone;
    if (opcode_ < 0x40) {
      if (opcode_ >= 0x38) return kNone;
      const int form = opcode_ & 7;
      return form < 2 ? rm_ : form < 4 ? reg_ : 0;
    }
    if (opcode_ == 0x63 || opcode_ == 0x69 || opcode_ == 0x6b || opcode_ == 0x8a || opcode_ == 0x8b || opcode_ == 0x8d)
      return reg_;
    if (IsIn(opcode_, 0xb0, 0xbf)) return (opcode_ & 7) | (rex_ & 1) << 3;
    if (opcode_ == 0x98) return 0;
    if (IsIn(opcode_, 0x80, 0x83)) return Extension() == 7 ? kNone : rm_;
    if (opcode_ == 0x84 || opcode_ == 0x85 || opcode_ == 0x90 || IsIn(opcode_, 0xa8, 0xa9) ||
        IsIn(opcode_, 0xd8, 0xdf) || opcode_ == 0x99)
      return kNone;
    if (IsIn(opcode_, 0xf6, 0xf7) && Extension() < 2) return kNone;
    return rm_;
  }

  // What comes before the access: false if that may not be left out.
  bool Skip() {
    if (Stores()) return false;
    if (map_ == kOne && IsIn(opcode_, 0x86, 0x87)) return false;                       // two registers
    if (map_ == kOne && opcode_ == 0xff && Extension() > 1) return false;              // calls, jumps, pushes
    if (map_ == kOne && IsIn(opcode_, 0xf6, 0xf7) && Extension() >= 4) known_ &= ~5u;  // rax and rdx: products
    if (map_ == kOne && opcode_ == 0x99) known_ &= ~4u;
    const int target = Target();
    if (target == kNone) return true;
    if ((kKept >> target & 1) != 0) return false;
    uint64_t value = 0;
    if (Compute(value)) {
      Set(target, (rex_ & 8) != 0 || opcode_ == 0x8d ? value : value & 0xffffffff);
    } else {
      known_ &= ~(1u << target);
    }
    return true;
  }

  // The value of the target, for what addresses are usually made by.
  bool Compute(uint64_t& value) const {
    if (has_66_ || (map_ == kTwo && !IsIn(opcode_, 0xb6, 0xbf))) return false;
    const bool is_wide = (rex_ & 8) != 0;
    if (map_ == kTwo) return Extended(value);
    if (map_ != kOne) return false;
    switch (opcode_) {
      case 0x8d:
        value = is_wide ? ea_ : ea_ & 0xffffffff;
        return ea_known_;
      case 0x8b:
        return Source(is_wide ? 8 : 4, value);
      case 0x63:
        if (!Source(4, value)) return false;
        value = static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
        return true;
      case 0x89:
        value = values_[reg_];
        return Knows(reg_);
      case 0x01:
      case 0x03:
        if (!Source(is_wide ? 8 : 4, value)) return false;
        value += values_[reg_];
        return Knows(reg_);
      case 0xc7:
        value = imm_;
        return true;
      case 0x81:
      case 0x83:
        value = Extension() == 0 ? values_[rm_] + imm_ : values_[rm_] - imm_;
        return Knows(rm_) && (Extension() == 0 || Extension() == 5);
      case 0xc1:
        value = values_[rm_] << (imm_ & 63);
        return Knows(rm_) && Extension() == 4;
      case 0x05:
        value = values_[0] + imm_;
        return Knows(0);
      case 0x2d:
        value = values_[0] - imm_;
        return Knows(0);
      case 0x98:
        value = is_wide ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(values_[0])})
                        : static_cast<uint64_t>(int64_t{static_cast<int16_t>(values_[0])});
        return Knows(0);
      default:
        if (!IsIn(opcode_, 0xb8, 0xbf)) return false;
        value = imm_;
        return true;
    }
  }
  bool Extended(uint64_t& value) const {
    const bool is_signed = opcode_ >= 0xbe;
    const bool is_byte = (opcode_ & 1) == 0;
    if (opcode_ != 0xb6 && opcode_ != 0xb7 && !is_signed) return false;
    if (is_byte && mod_ == 3 && rex_ == 0 && rm_ >= 4) return false;  // ah and its like
    if (!Source(is_byte ? 1 : 2, value)) return false;
    const uint64_t low = is_byte ? value & 0xff : value & 0xffff;
    const int64_t with_sign = is_byte ? int64_t{static_cast<int8_t>(low)} : int64_t{static_cast<int16_t>(low)};
    value = is_signed ? static_cast<uint64_t>(with_sign) : low;
    return true;
  }
  // What the program is about to read itself.
  bool Source(int bytes, uint64_t& value) const {
    if (!has_memory_) {
      value = values_[rm_];
      return Knows(rm_);
    }
    if (!ea_known_) return false;
    value = 0;
    __builtin_memcpy(&value, reinterpret_cast<const void*>(ea_), static_cast<unsigned long>(bytes));
    return true;
  }

  const uint8_t* at_;
  uint64_t values_[16] = {};
  uint32_t known_ = 0;
  // The instruction that was read last.
  bool has_66_ = false, has_f2_ = false, has_f3_ = false, has_segment_ = false, has_memory_ = false, ea_known_ = false;
  uint8_t rex_ = 0, opcode_ = 0;
  Map map_ = kOne;
  int mod_ = 3, reg_ = 0, rm_ = 0;
  uint64_t imm_ = 0, ea_ = 0;
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
      ".type " #name ", @function\n" #name \
      ":\n"                                \
      "push $0\n"                          \
      ".cfi_startproc\n"                   \
      "push %rbp\n"                        \
      ".cfi_adjust_cfa_offset 8\n"         \
      ".cfi_rel_offset %rbp, 0\n"          \
      "push %rbx\n"                        \
      ".cfi_adjust_cfa_offset 8\n"         \
      ".cfi_rel_offset %rbx, 0\n"          \
      "push %r12\n"                        \
      ".cfi_adjust_cfa_offset 8\n"         \
      ".cfi_rel_offset %r12, 0\n"          \
      "push %r13\n"                        \
      ".cfi_adjust_cfa_offset 8\n"         \
      ".cfi_rel_offset %r13, 0\n"          \
      "push %r14\n"                        \
      ".cfi_adjust_cfa_offset 8\n"         \
      ".cfi_rel_offset %r14, 0\n"          \
      "push %r15\n"                        \
      ".cfi_adjust_cfa_offset 8\n"         \
      ".cfi_rel_offset %r15, 0\n"          \
      "sub $8, %rsp\n"                     \
      ".cfi_adjust_cfa_offset 8\n"         \
      "mov %rsp, %rdi\n"                   \
      "call " #decide                      \
      "\n"                                 \
      "add $8, %rsp\n"                     \
      ".cfi_adjust_cfa_offset -8\n"        \
      "pop %r15\n"                         \
      ".cfi_adjust_cfa_offset -8\n"        \
      ".cfi_restore %r15\n"                \
      "pop %r14\n"                         \
      ".cfi_adjust_cfa_offset -8\n"        \
      ".cfi_restore %r14\n"                \
      "pop %r13\n"                         \
      ".cfi_adjust_cfa_offset -8\n"        \
      ".cfi_restore %r13\n"                \
      "pop %r12\n"                         \
      ".cfi_adjust_cfa_offset -8\n"        \
      ".cfi_restore %r12\n"                \
      "pop %rbx\n"                         \
      ".cfi_adjust_cfa_offset -8\n"        \
      ".cfi_restore %rbx\n"                \
      "pop %rbp\n"                         \
      ".cfi_adjust_cfa_offset -8\n"        \
      ".cfi_restore %rbp\n"                \
      "test %rax, %rax\n"                  \
      "jz 1f\n"                            \
      "jmp *%rax\n"                        \
      "1: ret\n"                           \
      ".cfi_endproc\n"                     \
      ".size " #name ", . - " #name        \
      "\n"                                 \
      ".popsection")
