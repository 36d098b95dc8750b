#include <setjmp.h>

#include <cstdlib>
#include <cstring>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

jmp_buf back;

int JumpFromComparison(const void*, const void*) { longjmp(back, 1); }
int ThrowFromComparison(const void*, const void*) { throw 1; }

TEST(JumpsTest, AJumpLeavesTheCallsThatWereMadeSince) {
  int numbers[2] = {1, 0};
  EXPECT_EQ(Told({},
                 [&] {
                   if (setjmp(back) == 0) qsort(numbers, 2, sizeof(int), JumpFromComparison);
                 }),
            "EnterFunction; LeaveCallsTo -1");
}

TEST(JumpsTest, AJumpByACopyLeadsToTheSamePlace) {
  const std::string size = std::to_string(sizeof(jmp_buf));
  EXPECT_EQ(Told({},
                 [&] {
                   if (sigsetjmp(back, 1) != 0) return;
                   jmp_buf copy;
                   std::memcpy(copy, back, sizeof copy);
                   siglongjmp(copy, 1);
                 }),
            "Read ? " + size + "; Write ? " + size + "; LeaveCallsTo 0");
}

TEST(JumpsTest, AJumpToAPlaceThatWasNotNotedTellsNothing) {
  fake::SetActive(false);
  if (_setjmp(back) == 0) {
    fake::SetActive(true);
    fake::Start();
    _longjmp(back, 1);
  }
  fake::Stop();
  EXPECT_EQ(Recorded({}), "");
}

TEST(CallsTest, AnExceptionLeavesTheCall) {
  int numbers[2] = {1, 0};
  const std::string told = Told({}, [&] {
    try {
      qsort(numbers, 2, sizeof(int), ThrowFromComparison);
    } catch (int) {
    }
  });
  EXPECT_EQ(told.substr(0, told.find("; Freeing")), "EnterFunction; LeaveFunction");
}

}  // namespace
}  // namespace redflag
