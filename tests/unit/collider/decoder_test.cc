#include "collider/decoder.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace redflag {
namespace {

Instruction DecodeX86(std::initializer_list<int> code) {
  std::vector<std::byte> bytes;
  for (const int byte : code) bytes.push_back(static_cast<std::byte>(byte));
  return Decoder::For(Machine::kX86_64)->Decode(bytes, 0x1000);
}

constexpr int kReads = MemoryAccess::kReads, kWrites = MemoryAccess::kWrites;

TEST(X86Decoder, TellsBaseIndexScaleAndDisplacement) {
  const Instruction i = DecodeX86({0x8b, 0x44, 0x8b, 0x10});  // mov eax, [rbx + rcx*4 + 16]
  EXPECT_EQ(i.length, 4);
  ASSERT_TRUE(i.accesses_memory);
  EXPECT_EQ(i.access.base, 3);
  EXPECT_EQ(i.access.index, 1);
  EXPECT_EQ(i.access.shift, 2);
  EXPECT_EQ(i.access.displacement, 16);
  EXPECT_EQ(i.access.size, 4);
  EXPECT_EQ(i.access.flags, kReads);
  uint64_t registers[16] = {};
  registers[3] = 0x7000;
  registers[1] = 3;
  EXPECT_EQ(i.access.Address(registers, 0x1000, true), 0x7000u + 12 + 16);
}

TEST(X86Decoder, CountsFromTheNextInstructionIfTheBaseIsTheProgramCounter) {
  const Instruction i = DecodeX86({0x48, 0x8b, 0x05, 0xdd, 0x2e, 0x00, 0x00});  // mov rax, [rip + 0x2edd]
  EXPECT_EQ(i.access.Address(nullptr, 0x1000, true), 0x1007u + 0x2edd);
}

struct Case {
  const char* what;
  std::vector<int> code;
  int size;
  int flags;
};

// Capstone 4 itself says that many of these only read.
TEST(X86Decoder, TellsReadsFromWrites) {
  constexpr int kAtomic = MemoryAccess::kAtomic, kRepeated = MemoryAccess::kRepeated, kOther = MemoryAccess::kOther;
  const Case cases[] = {
      {"movups [rdi], xmm0", {0x0f, 0x11, 0x07}, 16, kWrites},
      {"movups xmm0, [rdi]", {0x0f, 0x10, 0x07}, 16, kReads},
      {"movq [rdi], xmm0", {0x66, 0x0f, 0xd6, 0x07}, 8, kWrites},
      {"vmovdqu [rdi], ymm0", {0xc5, 0xfe, 0x7f, 0x07}, 32, kWrites},
      {"movhps [rdi], xmm0", {0x0f, 0x17, 0x07}, 8, kWrites},
      {"pextrd [rdi], xmm0, 1", {0x66, 0x0f, 0x3a, 0x16, 0x07, 0x01}, 4, kWrites},
      {"seto [rdi]", {0x0f, 0x90, 0x07}, 1, kWrites},
      {"test byte [rdi], 1", {0xf6, 0x07, 0x01}, 1, kReads},
      {"cmp dword [rdi], 1", {0x83, 0x3f, 0x01}, 4, kReads},
      {"rol byte [rdi], 1", {0xd0, 0x07}, 1, kReads | kWrites},
      {"inc dword [rdi]", {0xff, 0x07}, 4, kReads | kWrites},
      {"lock inc dword [rdi]", {0xf0, 0xff, 0x07}, 4, kReads | kWrites | kAtomic},
      {"xchg [rdi], eax", {0x87, 0x07}, 4, kReads | kWrites | kAtomic},
      {"xchg eax, [rdi]", {0x87, 0x07}, 4, kReads | kWrites | kAtomic},
      {"push qword [rdi]", {0xff, 0x37}, 8, kReads},
      {"pop qword [rdi]", {0x8f, 0x07}, 8, kWrites},
      {"fld tbyte [rdi]", {0xdb, 0x2f}, 10, kReads},
      {"fstp tbyte [rdi]", {0xdb, 0x3f}, 10, kWrites},
      {"rep movsb", {0xf3, 0xa4}, 1, kWrites | kRepeated},
      {"rep stosq", {0xf3, 0x48, 0xab}, 8, kWrites | kRepeated},
      {"bts dword [rdi], 3", {0x0f, 0xba, 0x2f, 0x03}, 4, kReads | kWrites},
      {"bts dword [rdi], eax", {0x0f, 0xab, 0x07}, 4, kReads | kWrites | kOther},
      {"imul dword [rdi]", {0xf7, 0x2f}, 4, kReads},
      {"imul eax, [rdi], 3", {0x6b, 0x07, 0x03}, 4, kReads},
      {"cvtsi2sd xmm0, dword [rdi]", {0xf2, 0x0f, 0x2a, 0x07}, 4, kReads},
  };
  for (const Case& each : cases) {
    std::vector<std::byte> bytes;
    for (const int byte : each.code) bytes.push_back(static_cast<std::byte>(byte));
    const Instruction i = Decoder::For(Machine::kX86_64)->Decode(bytes, 0x1000);
    EXPECT_EQ(i.length, each.code.size()) << each.what;
    EXPECT_TRUE(i.accesses_memory) << each.what;
    EXPECT_EQ(i.access.size, each.size) << each.what;
    EXPECT_EQ(i.access.flags, each.flags) << each.what;
  }
}

TEST(X86Decoder, LeavesAloneWhatOnlyLooksLikeAnAccess) {
  EXPECT_FALSE(DecodeX86({0x8d, 0x07}).accesses_memory);        // lea eax, [rdi]
  EXPECT_FALSE(DecodeX86({0x0f, 0x1f, 0x07}).accesses_memory);  // nop [rdi]
  EXPECT_FALSE(DecodeX86({0x0f, 0x18, 0x07}).accesses_memory);  // prefetchnta [rdi]
}

TEST(X86Decoder, KnowsTheMemoryOfTheThreadAlone) {
  EXPECT_TRUE(DecodeX86({0x8b, 0x44, 0x24, 0x08}).access.flags & MemoryAccess::kOwn);  // [rsp + 8]
  EXPECT_TRUE(DecodeX86({0x64, 0x8b, 0x04, 0x25, 0x00, 0x00, 0x00, 0x00}).access.flags & MemoryAccess::kOwn);  // fs:[0]
  EXPECT_FALSE(DecodeX86({0x8b, 0x07}).access.flags & MemoryAccess::kOwn);                                     // [rdi]
}

TEST(X86Decoder, KnowsWhatBecomesOfTheFramePointer) {
  EXPECT_EQ(DecodeX86({0x48, 0x89, 0xe5}).role, Instruction::Role::kSetsFramePointer);    // mov rbp, rsp
  EXPECT_EQ(DecodeX86({0x48, 0x89, 0xfd}).role, Instruction::Role::kBreaksFramePointer);  // mov rbp, rdi
  EXPECT_EQ(DecodeX86({0x31, 0xed}).role, Instruction::Role::kBreaksFramePointer);        // xor ebp, ebp
  EXPECT_EQ(DecodeX86({0x55}).role, Instruction::Role::kOther);                           // push rbp
  EXPECT_EQ(DecodeX86({0x5d}).role, Instruction::Role::kOther);                           // pop rbp
}

TEST(X86Decoder, SaysWhatIsNoInstruction) {
  EXPECT_EQ(DecodeX86({0x06}).length, 0);
  EXPECT_EQ(DecodeX86({0x8b}).length, 0);
}

TEST(Arm64Decoder, TellsWhatOnlyCapstoneFourDoesNotKnow) {
  const Instruction add = DecodeArm64(0xb8200022);  // ldadd w0, w2, [x1]
  ASSERT_TRUE(add.accesses_memory);
  EXPECT_EQ(add.access.base, 1);
  EXPECT_EQ(add.access.size, 4);
  EXPECT_EQ(add.access.flags, kReads | kWrites | MemoryAccess::kAtomic);
  const Instruction acquire = DecodeArm64(0xf8bfc041);  // ldapr x1, [x2]
  EXPECT_EQ(acquire.access.flags, kReads | MemoryAccess::kAtomic);
  const Instruction swap = DecodeArm64(0x48207c82);  // casp x0, x1, x2, x3, [x4]
  EXPECT_EQ(swap.access.size, 16);
  EXPECT_EQ(swap.access.flags, kReads | kWrites | MemoryAccess::kAtomic);
}

TEST(Arm64Decoder, ExtendsIndices) {
  const Instruction i = DecodeArm64(0xb862d820);  // ldr w0, [x1, w2, sxtw #2]
  uint64_t registers[32] = {};
  registers[1] = 0x10000;
  registers[2] = 0xffffffff;  // -1 in w2, whatever is above
  EXPECT_EQ(i.access.Address(registers, 0, false), 0x10000u - 4);
  const Instruction u = DecodeArm64(0xb8625820);  // ldr w0, [x1, w2, uxtw #2]
  registers[2] = 0x5'00000002;
  EXPECT_EQ(u.access.Address(registers, 0, false), 0x10000u + 8);
}

TEST(Arm64Decoder, KnowsExclusivesAndTheStack) {
  EXPECT_EQ(DecodeArm64(0xc85f7c20).access.flags,
            kReads | MemoryAccess::kAtomic | MemoryAccess::kExclusive);  // ldxr x0, [x1]
  EXPECT_EQ(DecodeArm64(0xc8027c20).access.flags,
            kWrites | MemoryAccess::kAtomic | MemoryAccess::kExclusive);          // stxr w2, x0, [x1]
  EXPECT_EQ(DecodeArm64(0xf94007e0).access.flags, kReads | MemoryAccess::kOwn);   // ldr x0, [sp, 8]
  EXPECT_EQ(DecodeArm64(0x910003fd).role, Instruction::Role::kSetsFramePointer);  // mov x29, sp
  EXPECT_FALSE(DecodeArm64(0xf9800020).accesses_memory);                          // prfm
}

}  // namespace
}  // namespace redflag
