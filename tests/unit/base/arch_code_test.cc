// Which instruction behind a call is the access that the call has announced. Machine code as compilers make it.
#include "base/arch_code.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace redflag::arch {
namespace {

#if defined(__x86_64__)

class FindAccessTest : public testing::Test {
 protected:
  // The offset of the access in the code, or -1.
  int64_t Find(const std::vector<uint8_t>& code, uint64_t bytes = 4) {
    std::vector<uint8_t> padded = code;
    padded.resize(code.size() + 64, 0xc3);
    const auto begin = reinterpret_cast<uint64_t>(padded.data());
    const uint64_t found = FindAccess(begin, frame_, reinterpret_cast<uint64_t>(&target_), bytes);
    return found == 0 ? -1 : static_cast<int64_t>(found - begin);
  }

  long target_ = 0;
  long* slot_[4] = {&target_, &target_, &target_, &target_};
  RefusedFrame frame_{.padding = 0,
                      .r15 = 2,
                      .r14 = 0,
                      .r13 = reinterpret_cast<uint64_t>(&target_) - 8,
                      .r12 = 0,
                      .rbx = reinterpret_cast<uint64_t>(&target_),
                      .rbp = reinterpret_cast<uint64_t>(slot_ + 2),
                      .return_to = 0};
};

TEST_F(FindAccessTest, FindsAStoreAtOnce) {
  EXPECT_EQ(Find({0xc7, 0x03, 5, 0, 0, 0}), 0);  // movl $5, (%rbx)
}

TEST_F(FindAccessTest, FollowsAPointerFromTheStack) {
  // mov -8(%rbp), %rax; mov $2, %ecx; mov %ecx, (%rax)
  EXPECT_EQ(Find({0x48, 0x8b, 0x45, 0xf8, 0xb9, 2, 0, 0, 0, 0x89, 0x08}), 9);
}

TEST_F(FindAccessTest, ComputesAddresses) {
  EXPECT_EQ(Find({0x48, 0x8d, 0x43, 0xf8, 0x8b, 0x40, 0x08}), 4);  // lea -8(%rbx), %rax; mov 8(%rax), %eax
  EXPECT_EQ(Find({0x43, 0x8b, 0x44, 0x7d, 0x04}), 0);              // mov 4(%r13,%r15,2), %eax
  EXPECT_EQ(Find({0x48, 0x89, 0xd8, 0x48, 0x83, 0xc0, 0x08, 0x89, 0x48, 0xf8}),
            7);                                     // mov; add $8, %rax; mov %ecx, -8(%rax)
  EXPECT_EQ(Find({0xf2, 0x0f, 0x10, 0x03}, 8), 0);  // movsd (%rbx), %xmm0
}

TEST_F(FindAccessTest, DoesNotLeaveOutWhatMatters) {
  EXPECT_EQ(Find({0x89, 0x44, 0x24, 0x08, 0x89, 0x03}), -1) << "a store before it";
  EXPECT_EQ(Find({0x41, 0xbc, 1, 0, 0, 0, 0x89, 0x03}), -1) << "a register that is kept changes: mov $1, %r12d";
  EXPECT_EQ(Find({0xe8, 0, 0, 0, 0, 0x89, 0x03}), -1) << "a call";
  EXPECT_EQ(Find({0x74, 0x02, 0x89, 0x03}), -1) << "a jump";
  EXPECT_EQ(Find({0x8b, 0x45, 0xf8, 0xc3}), -1) << "there is none";
}

TEST_F(FindAccessTest, KnowsAnAccessByItsAddress) {
  EXPECT_EQ(Find({0x8b, 0x43, 0x08, 0x8b, 0x03}), 3);  // mov 8(%rbx), %eax; mov (%rbx), %eax
}

#elif defined(__aarch64__)

class FindAccessTest : public testing::Test {
 protected:
  // Which instruction it is, or -1.
  int64_t Find(const std::vector<uint32_t>& code, uint64_t bytes = 4) {
    std::vector<uint32_t> padded = code;
    padded.resize(code.size() + 32, 0xd65f03c0);  // ret
    const auto begin = reinterpret_cast<uint64_t>(padded.data());
    const uint64_t found = FindAccess(begin, frame_, reinterpret_cast<uint64_t>(&target_[4]), bytes);
    return found == 0 ? -1 : static_cast<int64_t>(found - begin) / 4;
  }

  int target_[8] = {};
  struct {
    int* pointer;
    int32_t index;
    int8_t narrow;
    uint8_t byte;
    uint16_t half;
  } stack_{.pointer = target_, .index = 4, .narrow = -4, .byte = 4, .half = 4};
  RefusedFrame frame_{
      .x29 = reinterpret_cast<uint64_t>(&stack_),
      .return_to = 0,
      .x19_to_x28 = {reinterpret_cast<uint64_t>(&target_[4]), 4, reinterpret_cast<uint64_t>(&target_[0])},
      .d8_to_d15 = {}};
};

TEST_F(FindAccessTest, FindsAStoreAtOnce) {
  EXPECT_EQ(Find({0xb9000260}), 0);  // str w0, [x19]
}

TEST_F(FindAccessTest, FollowsWhatIsOnTheStack) {
  EXPECT_EQ(Find({0xf94003a1, 0xb9401020}), 1);  // ldr x1, [x29]; ldr w0, [x1, #16]
  EXPECT_EQ(Find({0xf94003a1, 0xb9800ba0, 0xb8607820}),
            2);  // ldr x1, [x29]; ldrsw x0, [x29, #8]; ldr w0, [x1, x0, lsl #2]
  // ldrsb x0, [x29, #12]; ldr x1, [x29]; add x1, x1, #32; add x1, x1, x0, lsl #2; ldr w0, [x1]
  EXPECT_EQ(Find({0x398033a0, 0xf94003a1, 0x91008021, 0x8b000821, 0xb9400020}), 4);
  EXPECT_EQ(Find({0x394037a0, 0xf94003a1, 0xb8607820}), 2);  // ldrb w0, [x29, #13]; ...
  EXPECT_EQ(Find({0x79401fa0, 0xf94003a1, 0xb8607820}), 2);  // ldrh w0, [x29, #14]; ...
}

TEST_F(FindAccessTest, ComputesAddresses) {
  // ldrsw x0, [x29, #8]; lsl x0, x0, #2; add x0, x21, x0; ldr w0, [x0]
  EXPECT_EQ(Find({0xb9800ba0, 0xd37ef400, 0x8b0002a0, 0xb9400000}), 3);
  // sxtw x0, w20; lsl x0, x0, #2; add x0, x21, x0; ldr w0, [x0]
  EXPECT_EQ(Find({0x93407e80, 0xd37ef400, 0x8b0002a0, 0xb9400000}), 3);
  // lsl x0, x20, #4; lsr x0, x0, #2; add x0, x21, x0; ldr w0, [x0]
  EXPECT_EQ(Find({0xd37cee80, 0xd342fc00, 0x8b0002a0, 0xb9400000}), 3);
  EXPECT_EQ(Find({0x91004261, 0xb85f0020}), 1);  // add x1, x19, #16; ldur w0, [x1, #-16]
}

TEST_F(FindAccessTest, DoesNotLeaveOutWhatMatters) {
  EXPECT_EQ(Find({0xf9000fa0, 0xb9000260}), -1) << "a store before it";
  EXPECT_EQ(Find({0xd2800034, 0xb9000260}), -1) << "a register that is kept changes: mov x20, #1";
  EXPECT_EQ(Find({0x94000001, 0xb9000260}), -1) << "a call";
  EXPECT_EQ(Find({0x54000040, 0xb9000260}), -1) << "a jump";
  EXPECT_EQ(Find({0xf94003a1}), -1) << "there is none";
}

#endif

}  // namespace
}  // namespace redflag::arch
