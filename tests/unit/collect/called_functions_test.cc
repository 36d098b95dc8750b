#include "collect/called_functions.h"

#include <execinfo.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace redflag {
namespace {

// Of this program itself.
class CalledFunctionsTest : public testing::Test {
 protected:
  CalledFunctionsTest() : fd_(open("/proc/self/exe", O_RDONLY)) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
  }
  ~CalledFunctionsTest() override {
    elf_end(elf_);
    close(fd_);
  }

  // Where the program is loaded.
  static uint64_t Bias() {
    uint64_t bias = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
          *static_cast<uint64_t*>(data) = info->dlpi_addr;
          return 1;  // the first one is the program
        },
        &bias);
    return bias;
  }

  int fd_;
  Elf* elf_;
};

// backtrace() says where its own call returns to.
TEST_F(CalledFunctionsTest, ACallToALibraryIsNamed) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer has a backtrace() of its own, in the program";
#endif
#endif
  void* frames[8] = {};
  ASSERT_GT(backtrace(frames, 8), 0);
  const CalledFunctions called(elf_);
  EXPECT_EQ(called.Before(reinterpret_cast<uint64_t>(frames[0]) - Bias()), "backtrace");
}

[[gnu::noinline]] int Inside(void** frame) {
  *frame = __builtin_return_address(0);
  return 1;
}

TEST_F(CalledFunctionsTest, ACallWithinTheProgramIsNot) {
  void* frame = nullptr;
  const int one = Inside(&frame);
  EXPECT_EQ(one, 1);
  const CalledFunctions called(elf_);
  EXPECT_EQ(called.Before(reinterpret_cast<uint64_t>(frame) - Bias()), "");
}

TEST_F(CalledFunctionsTest, AddressesOutsideOfTheFileHaveNoName) {
  const CalledFunctions called(elf_);
  for (const uint64_t address : {uint64_t{0}, uint64_t{3}, uint64_t{1} << 40, UINT64_MAX}) {
    EXPECT_EQ(called.Before(address), "");
  }
}

}  // namespace
}  // namespace redflag
