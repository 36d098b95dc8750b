// The loads and stores of x86-64, by Capstone: it says where operands are and how large. What is done to them it does not always say right
// (a store by `movups` is a read to Capstone 4), so that this is worked out here, from the order of the operands.
#include <capstone/capstone.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "collider/decoder.h"

namespace redflag {

std::unique_ptr<Decoder> MakeX86Decoder();

namespace {

constexpr std::array kRegisters = {X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RBX, X86_REG_RSP, X86_REG_RBP,
                                   X86_REG_RSI, X86_REG_RDI, X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11,
                                   X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15};

// Operands that look like memory and are not accessed, or not as data.
bool IsNoAccess(unsigned id) {
  switch (id) {
    case X86_INS_LEA:
    case X86_INS_NOP:
    case X86_INS_PREFETCH:
    case X86_INS_PREFETCHNTA:
    case X86_INS_PREFETCHT0:
    case X86_INS_PREFETCHT1:
    case X86_INS_PREFETCHT2:
    case X86_INS_PREFETCHW:
    case X86_INS_CLFLUSH:
    case X86_INS_CLFLUSHOPT:
    case X86_INS_CLWB:
    case X86_INS_INVLPG:
      return true;
    default:
      return false;
  }
}

// The memory is the first operand, and is read all the same.
bool OnlyReadsFirst(unsigned id) {
  switch (id) {
    case X86_INS_CMP:
    case X86_INS_TEST:
    case X86_INS_BT:
    case X86_INS_PUSH:
    case X86_INS_CALL:
    case X86_INS_JMP:
    case X86_INS_LCALL:
    case X86_INS_LJMP:
    case X86_INS_MUL:
    case X86_INS_IMUL:
    case X86_INS_DIV:
    case X86_INS_IDIV:
    case X86_INS_CMPSB:
    case X86_INS_CMPSW:
    case X86_INS_CMPSD:
    case X86_INS_CMPSQ:
    case X86_INS_FLD:
    case X86_INS_FILD:
    case X86_INS_FBLD:
    case X86_INS_FADD:
    case X86_INS_FIADD:
    case X86_INS_FSUB:
    case X86_INS_FISUB:
    case X86_INS_FSUBR:
    case X86_INS_FISUBR:
    case X86_INS_FMUL:
    case X86_INS_FIMUL:
    case X86_INS_FDIV:
    case X86_INS_FIDIV:
    case X86_INS_FDIVR:
    case X86_INS_FIDIVR:
    case X86_INS_FCOM:
    case X86_INS_FCOMP:
    case X86_INS_FICOM:
    case X86_INS_FICOMP:
    case X86_INS_FLDCW:
    case X86_INS_FLDENV:
    case X86_INS_LDMXCSR:
    case X86_INS_VLDMXCSR:
      return true;
    default:
      return false;
  }
}

// The memory is the first operand, and is read before it is written.
bool ChangesFirst(unsigned id) {
  switch (id) {
    case X86_INS_ADD:
    case X86_INS_ADC:
    case X86_INS_SUB:
    case X86_INS_SBB:
    case X86_INS_AND:
    case X86_INS_OR:
    case X86_INS_XOR:
    case X86_INS_INC:
    case X86_INS_DEC:
    case X86_INS_NEG:
    case X86_INS_NOT:
    case X86_INS_SHL:
    case X86_INS_SAL:
    case X86_INS_SHR:
    case X86_INS_SAR:
    case X86_INS_ROL:
    case X86_INS_ROR:
    case X86_INS_RCL:
    case X86_INS_RCR:
    case X86_INS_SHLD:
    case X86_INS_SHRD:
    case X86_INS_BTS:
    case X86_INS_BTR:
    case X86_INS_BTC:
    case X86_INS_XCHG:
    case X86_INS_XADD:
    case X86_INS_CMPXCHG:
    case X86_INS_CMPXCHG8B:
    case X86_INS_CMPXCHG16B:
      return true;
    default:
      return false;
  }
}

// What they access is not a sum of registers, or not always accessed, or is the state of the processor.
bool IsBeyond(unsigned id, const cs_x86& detail) {
  switch (id) {
    case X86_INS_XLATB:
    case X86_INS_MASKMOVQ:
    case X86_INS_MASKMOVDQU:
    case X86_INS_VMASKMOVDQU:
    case X86_INS_VMASKMOVPD:
    case X86_INS_VMASKMOVPS:
    case X86_INS_VPMASKMOVD:
    case X86_INS_VPMASKMOVQ:
    case X86_INS_FXSAVE:
    case X86_INS_FXSAVE64:
    case X86_INS_FXRSTOR:
    case X86_INS_FXRSTOR64:
    case X86_INS_XSAVE:
    case X86_INS_XSAVE64:
    case X86_INS_XSAVEC:
    case X86_INS_XSAVEC64:
    case X86_INS_XSAVEOPT:
    case X86_INS_XSAVEOPT64:
    case X86_INS_XRSTOR:
    case X86_INS_XRSTOR64:
      return true;
    case X86_INS_BT:
    case X86_INS_BTS:
    case X86_INS_BTR:
    case X86_INS_BTC:  // a bit of an array, by the second operand
      return detail.op_count > 1 && detail.operands[1].type == X86_OP_REG;
    default:
      break;
  }
  // Vectors of 512 bits and masks: some elements may be left alone.
  return std::any_of(detail.operands, detail.operands + detail.op_count, [](const cs_x86_op& operand) {
    return (operand.type == X86_OP_REG && operand.reg >= X86_REG_K0 && operand.reg <= X86_REG_K7) ||
           operand.avx_bcast != X86_AVX_BCAST_INVALID;
  });
}

bool IsString(unsigned id) {
  switch (id) {
    case X86_INS_MOVSB:
    case X86_INS_MOVSW:
    case X86_INS_MOVSD:
    case X86_INS_MOVSQ:
    case X86_INS_STOSB:
    case X86_INS_STOSW:
    case X86_INS_STOSD:
    case X86_INS_STOSQ:
    case X86_INS_LODSB:
    case X86_INS_LODSW:
    case X86_INS_LODSD:
    case X86_INS_LODSQ:
    case X86_INS_SCASB:
    case X86_INS_SCASW:
    case X86_INS_SCASD:
    case X86_INS_SCASQ:
    case X86_INS_CMPSB:
    case X86_INS_CMPSW:
    case X86_INS_CMPSD:
    case X86_INS_CMPSQ:
      return true;
    default:
      return false;
  }
}

uint8_t NumberOf(x86_reg reg) {
  const auto* found = std::find(kRegisters.begin(), kRegisters.end(), reg);
  return found == kRegisters.end() ? kNoRegister : static_cast<uint8_t>(found - kRegisters.begin());
}

bool IsFramePointer(const cs_x86_op& operand) {
  return operand.type == X86_OP_REG && (operand.reg == X86_REG_RBP || operand.reg == X86_REG_EBP ||
                                        operand.reg == X86_REG_BP || operand.reg == X86_REG_BPL);
}

class X86Decoder : public Decoder {
 public:
  X86Decoder() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) throw std::runtime_error("Capstone has no x86-64");
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  ~X86Decoder() override {
    cs_free(instruction_, 1);
    cs_close(&handle_);
  }
  X86Decoder(const X86Decoder&) = delete;
  X86Decoder& operator=(const X86Decoder&) = delete;

  Instruction Decode(std::span<const std::byte> code, uint64_t pc) override {
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
    size_t size = code.size();
    if (!cs_disasm_iter(handle_, &bytes, &size, &pc, instruction_)) return {};
    Instruction result{.length = static_cast<uint8_t>(instruction_->size)};
    const cs_x86& detail = instruction_->detail->x86;
    const unsigned id = instruction_->id;
    result.role = RoleOf(id, detail);
    FillOperation(id, detail, result);
    const int which = PickOperand(detail);
    if (which < 0 || IsNoAccess(id)) return result;
    result.accesses_memory = true;
    FillAccess(id, detail, which, result.access);
    result.access.length = result.length;
    if ((id == X86_INS_CALL || id == X86_INS_JMP) && result.access.base == kProgramCounter) {
      result.role = Instruction::Role::kCallThroughMemory;
    }
    return result;
  }

 private:
  // Registers of 8 bytes for parts of them, so that `eax` and `rax` are the same.
  uint8_t WholeOf(const cs_x86_op& operand) const {
    if (operand.type != X86_OP_REG) return kNoRegister;
    constexpr std::string_view kNames[] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
    const std::string_view name = cs_reg_name(handle_, operand.reg);
    for (uint8_t i = 0; i < 8; ++i) {
      if (name == kNames[i] || (name.size() == 3 && name.substr(1) == kNames[i])) return i;
      if (name.size() == 2 && i < 4 && name[0] == kNames[i][0] && name[1] == 'l') return i;
      if (name.size() == 3 && name.substr(0, 2) == kNames[i] && name[2] == 'l') return i;
    }
    for (uint8_t i = 8; i < 16; ++i) {
      const std::string number = "r" + std::to_string(i);
      if (name == number || name == number + "d" || name == number + "w" || name == number + "b") return i;
    }
    return kNoRegister;
  }

  void FillOperation(unsigned id, const cs_x86& detail, Instruction& result) const {
    using Operation = Instruction::Operation;
    if (detail.op_count == 0) return;
    const cs_x86_op& first = detail.operands[0];
    const cs_x86_op* second = detail.op_count > 1 ? &detail.operands[1] : nullptr;
    result.target = WholeOf(first);
    if (second != nullptr) result.source = WholeOf(*second);
    if (second != nullptr && second->type == X86_OP_IMM) {
      result.has_immediate = true;
      result.immediate = second->imm;
    }
    switch (id) {
      case X86_INS_MOV:
      case X86_INS_MOVZX:
      case X86_INS_MOVSX:
      case X86_INS_MOVSXD:
        result.operation = Operation::kMove;
        break;
      case X86_INS_INC:
      case X86_INS_DEC:
        result.operation = Operation::kAdd;
        result.has_immediate = true;
        result.immediate = id == X86_INS_INC ? 1 : -1;
        break;
      case X86_INS_ADD:
        result.operation = Operation::kAdd;
        break;
      case X86_INS_SUB:
        result.operation = Operation::kAdd;
        result.immediate = -result.immediate;
        break;
      case X86_INS_LEA:  // of a register and a number: a sum
        if (second != nullptr && second->mem.index == X86_REG_INVALID && second->mem.base != X86_REG_RIP) {
          result.operation = Operation::kAdd;
          result.source = NumberOf(second->mem.base);
          result.has_immediate = true;
          result.immediate = second->mem.disp;
        }
        break;
      case X86_INS_AND:
        result.operation = Operation::kAnd;
        break;
      case X86_INS_OR:
        result.operation = Operation::kOr;
        break;
      case X86_INS_XOR:
        result.operation = Operation::kXor;
        break;
      case X86_INS_TEST:
        result.operation = Operation::kTest;
        break;
      default:
        break;
    }
  }

  // Of two (movs, cmps), the one that is written or else the first.
  static int PickOperand(const cs_x86& detail) {
    for (int i = 0; i < detail.op_count; ++i) {
      if (detail.operands[i].type == X86_OP_MEM) return i;
    }
    return -1;
  }

  static Instruction::Role RoleOf(unsigned id, const cs_x86& detail) {
    if (detail.op_count == 0 || !IsFramePointer(detail.operands[0])) return Instruction::Role::kOther;
    switch (id) {
      case X86_INS_PUSH:
      case X86_INS_POP:
      case X86_INS_CMP:
      case X86_INS_TEST:
      case X86_INS_BT:
      case X86_INS_CALL:
      case X86_INS_JMP:
      case X86_INS_MUL:
      case X86_INS_DIV:
      case X86_INS_IDIV:
        return Instruction::Role::kOther;
      case X86_INS_MOV:
        if (detail.operands[1].type == X86_OP_REG && detail.operands[1].reg == X86_REG_RSP) {
          return Instruction::Role::kSetsFramePointer;
        }
        [[fallthrough]];
      default:
        return Instruction::Role::kBreaksFramePointer;
    }
  }

  static void FillAccess(unsigned id, const cs_x86& detail, int which, MemoryAccess& access) {
    const cs_x86_op& operand = detail.operands[which];
    const x86_op_mem& memory = operand.mem;
    int flags = 0;
    if (which == 0 && !OnlyReadsFirst(id)) flags |= MemoryAccess::kWrites;
    if (which != 0 || OnlyReadsFirst(id) || ChangesFirst(id)) flags |= MemoryAccess::kReads;
    if (id == X86_INS_XCHG || id == X86_INS_XADD) flags |= MemoryAccess::kReads | MemoryAccess::kWrites;
    if (id == X86_INS_XCHG || detail.prefix[0] == X86_PREFIX_LOCK) flags |= MemoryAccess::kAtomic;
    if (IsString(id) && (detail.prefix[0] == X86_PREFIX_REP || detail.prefix[0] == X86_PREFIX_REPNE)) {
      flags |= MemoryAccess::kRepeated;
    }
    if (memory.base == X86_REG_RIP) {
      access.base = kProgramCounter;
    } else if (memory.base != X86_REG_INVALID) {
      access.base = NumberOf(memory.base);
    }
    if (memory.index != X86_REG_INVALID && memory.index != X86_REG_RIZ) access.index = NumberOf(memory.index);
    const bool unknown_base =
        memory.base != X86_REG_INVALID && memory.base != X86_REG_RIP && access.base == kNoRegister;
    const bool unknown_index =
        memory.index != X86_REG_INVALID && memory.index != X86_REG_RIZ && access.index == kNoRegister;
    access.shift = static_cast<uint8_t>(__builtin_ctz(static_cast<unsigned>(std::max(memory.scale, 1))));
    if (access.index == kNoRegister) access.shift = 0;
    access.displacement = static_cast<int32_t>(memory.disp);
    access.size = operand.size;
    if (access.base == kStackPointerX86 || memory.segment == X86_REG_FS || memory.segment == X86_REG_GS) {
      flags |= MemoryAccess::kOwn;
    }
    const bool known_size = operand.size != 0 && operand.size <= 64;
    if (unknown_base || unknown_index || !known_size || memory.disp != access.displacement || detail.addr_size != 8 ||
        IsBeyond(id, detail)) {
      flags |= MemoryAccess::kOther;
    }
    access.flags = static_cast<uint8_t>(flags);
  }

  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

}  // namespace

std::unique_ptr<Decoder> MakeX86Decoder() { return std::make_unique<X86Decoder>(); }

}  // namespace redflag
