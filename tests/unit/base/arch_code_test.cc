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

#endif

}  // namespace
}  // namespace redflag::arch
