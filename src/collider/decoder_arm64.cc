// The loads and stores of arm64, by the tables of the architecture's manual ("Loads and Stores" in the index by encoding). All of them have bit 27
// set and bit 25 clear; which family a word belongs to is said by bits 29 to 23, 21 and 11 to 10.
#include <cstring>

#include "collider/decoder.h"

namespace redflag {
namespace {

constexpr uint32_t Bits(uint32_t word, int high, int low) { return word >> low & ((uint32_t{2} << (high - low)) - 1); }
constexpr bool Bit(uint32_t word, int at) { return (word >> at & 1) != 0; }

constexpr int32_t SignExtend(uint32_t value, int bits) {
  const uint32_t sign = uint32_t{1} << (bits - 1);
  return static_cast<int32_t>((value ^ sign) - sign);
}

constexpr uint8_t kLoad = MemoryAccess::kReads, kStore = MemoryAccess::kWrites;
constexpr uint8_t kBoth = MemoryAccess::kReads | MemoryAccess::kWrites;

// Rn is sp if it is 31.
uint8_t BaseOf(uint32_t word) { return static_cast<uint8_t>(Bits(word, 9, 5)); }

MemoryAccess At(uint32_t word, uint32_t size, int32_t displacement, int flags) {
  MemoryAccess access;
  access.base = BaseOf(word);
  access.displacement = displacement;
  access.size = static_cast<uint8_t>(size);
  access.length = sizeof word;
  access.flags = static_cast<uint8_t>(flags | (access.base == kStackPointerArm ? MemoryAccess::kOwn : 0));
  return access;
}

struct Found {
  bool is_access = false;
  MemoryAccess access{};
};
Found None() { return {}; }
Found Is(const MemoryAccess& access) { return {.is_access = true, .access = access}; }

// LDR (literal), LDRSW (literal); PRFM is none.
Found Literal(uint32_t word) {
  const uint32_t opc = Bits(word, 31, 30);
  const bool vector = Bit(word, 26);
  if (opc == 3) return None();
  MemoryAccess access = At(word, vector ? 4u << opc : opc == 1 ? 8 : 4, SignExtend(Bits(word, 23, 5), 19) * 4, kLoad);
  access.base = kProgramCounter;
  access.flags = kLoad;
  return Is(access);
}

// LDP, STP, LDNP, STNP, LDPSW. STGP, which also writes tags, is none.
Found Pair(uint32_t word) {
  const uint32_t opc = Bits(word, 31, 30);
  const bool vector = Bit(word, 26);
  const bool load = Bit(word, 22);
  const uint32_t form = Bits(word, 24, 23);  // 0: no allocate, 1: post-index, 2: offset, 3: pre-index
  if (opc == 3 || (!vector && opc == 1 && (!load || form == 0))) return None();
  const uint32_t element = vector ? 4u << opc : opc == 2 ? 8 : 4;
  const int32_t offset = SignExtend(Bits(word, 21, 15), 7) * static_cast<int32_t>(element);
  return Is(At(word, 2 * element, form == 1 ? 0 : offset, load ? kLoad : kStore));
}

// Size and direction of a load or store of one register, by size (bits 31 to 30), V and opc (bits 23 to 22). 0: none.
uint32_t SingleSize(uint32_t word, int& flags) {
  const uint32_t size = Bits(word, 31, 30);
  const uint32_t opc = Bits(word, 23, 22);
  flags = opc == 0 ? kStore : kLoad;
  if (Bit(word, 26)) {
    if (opc < 2) return 1u << size;
    if (size != 0) return 0;
    flags = opc == 2 ? kStore : kLoad;
    return 16;
  }
  if (opc == 2 && size == 3) return 0;  // PRFM
  if (opc == 3 && size >= 2) return 0;
  return 1u << size;
}

Found UnsignedOffset(uint32_t word) {
  int flags = 0;
  const uint32_t size = SingleSize(word, flags);
  if (size == 0) return None();
  return Is(At(word, size, static_cast<int32_t>(Bits(word, 21, 10) * size), flags));
}

// LDUR and STUR, post-index, LDTR and STTR, pre-index.
Found SmallOffset(uint32_t word) {
  const uint32_t form = Bits(word, 11, 10);
  int flags = 0;
  const uint32_t size = SingleSize(word, flags);
  if (size == 0 || (form == 2 && Bit(word, 26))) return None();
  return Is(At(word, size, form == 1 ? 0 : SignExtend(Bits(word, 20, 12), 9), flags));
}

Found RegisterOffset(uint32_t word) {
  int flags = 0;
  const uint32_t size = SingleSize(word, flags);
  const uint32_t option = Bits(word, 15, 13);
  if (size == 0 || (option & 2) == 0) return None();
  MemoryAccess access = At(word, size, 0, flags);
  const auto index = static_cast<uint8_t>(Bits(word, 20, 16));
  if (index != 31) access.index = index;  // 31 is the zero register
  if (index != 31 && Bit(word, 12)) access.shift = static_cast<uint8_t>(__builtin_ctz(size));
  if (index != 31 && option == 2) access.extend = IndexExtend::kUnsignedWord;
  if (index != 31 && option == 6) access.extend = IndexExtend::kSignedWord;
  return Is(access);
}

// LDADD and its like, SWP, LDAPR; they came with ARMv8.1 and ARMv8.3.
Found AtomicOperation(uint32_t word) {
  if (Bit(word, 26)) return None();
  const uint32_t operation = Bits(word, 15, 12);
  const uint32_t size = 1u << Bits(word, 31, 30);
  if (operation == 12) {  // LDAPR
    return Bits(word, 23, 22) == 2 ? Is(At(word, size, 0, kLoad | MemoryAccess::kAtomic)) : None();
  }
  return operation > 8 ? None() : Is(At(word, size, 0, kBoth | MemoryAccess::kAtomic));
}

Found Exclusive(uint32_t word) {
  const uint32_t size = 1u << Bits(word, 31, 30);
  const bool o2 = Bit(word, 23), load = Bit(word, 22), o1 = Bit(word, 21);
  const uint8_t direction = load ? kLoad : kStore;
  if (!o2 && !o1) return Is(At(word, size, 0, direction | MemoryAccess::kAtomic | MemoryAccess::kExclusive));
  if (!o2) {
    if (size >= 4) return Is(At(word, 2 * size, 0, direction | MemoryAccess::kAtomic | MemoryAccess::kExclusive));
    return Is(At(word, size == 2 ? 16 : 8, 0, kBoth | MemoryAccess::kAtomic));  // CASP
  }
  if (o1) return Is(At(word, size, 0, kBoth | MemoryAccess::kAtomic));  // CAS
  return Is(At(word, size, 0, direction | MemoryAccess::kAtomic));      // LDAR, STLR
}

// LDAPUR, STLUR and theirs of smaller sizes.
Found OrderedSmallOffset(uint32_t word) {
  const uint32_t opc = Bits(word, 23, 22), size = Bits(word, 31, 30);
  if ((opc == 2 && size == 3) || (opc == 3 && size >= 2)) return None();
  return Is(
      At(word, 1u << size, SignExtend(Bits(word, 20, 12), 9), (opc == 0 ? kStore : kLoad) | MemoryAccess::kAtomic));
}

// LD1 to LD4 and ST1 to ST4 of whole vectors.
Found VectorStructures(uint32_t word) {
  uint32_t registers = 0;
  switch (Bits(word, 15, 12)) {
    case 0b0000:
    case 0b0010:
      registers = 4;
      break;
    case 0b0100:
    case 0b0110:
      registers = 3;
      break;
    case 0b1000:
    case 0b1010:
      registers = 2;
      break;
    case 0b0111:
      registers = 1;
      break;
    default:
      return None();
  }
  if (!Bit(word, 23) && Bits(word, 20, 16) != 0) return None();
  return Is(At(word, registers * (Bit(word, 30) ? 16 : 8), 0, Bit(word, 22) ? kLoad : kStore));
}

// The same of one element of each vector, and LD1R to LD4R, which fill vectors with it.
Found VectorElements(uint32_t word) {
  const uint32_t opcode = Bits(word, 15, 13), size = Bits(word, 11, 10);
  const bool load = Bit(word, 22);
  const uint32_t elements = ((opcode & 1) << 1 | (Bit(word, 21) ? 1u : 0u)) + 1;
  if (!Bit(word, 23) && Bits(word, 20, 16) != 0) return None();
  uint32_t bytes = 0;
  switch (opcode >> 1) {
    case 0:
      bytes = 1;
      break;
    case 1:
      if ((size & 1) == 0) bytes = 2;
      break;
    case 2:
      if (size == 0) bytes = 4;
      if (size == 1 && !Bit(word, 12)) bytes = 8;
      break;
    default:
      if (load && !Bit(word, 12)) bytes = 1u << size;
      break;
  }
  return bytes == 0 ? None() : Is(At(word, elements * bytes, 0, load ? kLoad : kStore));
}

Found Find(uint32_t word) {
  if (!Bit(word, 27) || Bit(word, 25)) return None();
  switch (Bits(word, 29, 28)) {
    case 0b00:
      if (!Bit(word, 26)) return Bit(word, 24) ? None() : Exclusive(word);
      if (Bit(word, 31)) return None();
      if (Bit(word, 24)) return VectorElements(word);
      return Bit(word, 21) ? None() : VectorStructures(word);
    case 0b01:
      if (!Bit(word, 24)) return Literal(word);
      // RCPC: no vector registers
      return !Bit(word, 26) && !Bit(word, 21) && Bits(word, 11, 10) == 0 ? OrderedSmallOffset(word) : None();
    case 0b10:
      return Pair(word);
    default:
      break;
  }
  if (Bit(word, 24)) return UnsignedOffset(word);
  if (!Bit(word, 21)) return SmallOffset(word);
  switch (Bits(word, 11, 10)) {
    case 0b00:
      return AtomicOperation(word);
    case 0b10:
      return RegisterOffset(word);
    default: {
      // LDRAA and LDRAB: the address is in a register that is signed.
      if (Bits(word, 31, 30) != 3 || Bit(word, 26)) return None();
      const uint32_t raw = (Bit(word, 22) ? 512u : 0u) | Bits(word, 20, 12);
      return Is(At(word, 8, SignExtend(raw, 10) * 8, kLoad | MemoryAccess::kOther));
    }
  }
}

// MOV x29, sp and ADD x29, sp, #imm.
bool SetsFramePointer(uint32_t word) { return (word & 0xff8003ff) == 0x910003fd; }

}  // namespace

Instruction DecodeArm64(uint32_t word) {
  Instruction instruction{.length = sizeof word};
  const Found found = Find(word);
  instruction.accesses_memory = found.is_access;
  instruction.access = found.access;
  if (SetsFramePointer(word)) instruction.role = Instruction::Role::kSetsFramePointer;
  return instruction;
}

namespace {

class Arm64Decoder : public Decoder {
 public:
  Instruction Decode(std::span<const std::byte> code, uint64_t) override {
    uint32_t word = 0;
    if (code.size() < sizeof word) return {};
    std::memcpy(&word, code.data(), sizeof word);
    return DecodeArm64(word);
  }
};

std::unique_ptr<Decoder> MakeArm64Decoder() { return std::make_unique<Arm64Decoder>(); }

}  // namespace

// decoder_x86_64.cc
std::unique_ptr<Decoder> MakeX86Decoder();

std::unique_ptr<Decoder> Decoder::For(Machine machine) {
  return machine == Machine::kArm64 ? MakeArm64Decoder() : MakeX86Decoder();
}

}  // namespace redflag
