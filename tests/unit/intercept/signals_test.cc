#include <pthread.h>
#include <signal.h>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

volatile sig_atomic_t handled = 0;

void Handle(int) { handled = handled + 1; }

TEST(SignalsTest, AHandlerRunsOnTopOfWhatItInterruptedAndAfterItWasSet) {
  handled = 0;
  EXPECT_EQ(Told({},
                 [] {
                   signal(SIGUSR1, Handle);
                   raise(SIGUSR1);
                 }),
            "Release ?; EnterFunction; LeaveFunction");  // the interrupted place is in libc: not shown
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(signal(SIGUSR1, SIG_DFL), Handle);
}

TEST(SignalsTest, AnActionThatFailsChangesNothing) {
  signal(SIGUSR1, Handle);
  EXPECT_EQ(signal(SIGKILL, Handle), SIG_ERR);
  struct sigaction action = {};
  EXPECT_EQ(sigaction(SIGUSR1, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, Handle);
  EXPECT_EQ(action.sa_flags & SA_SIGINFO, 0);
  signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace redflag
