#include <pthread.h>

#include <cerrno>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

TEST(SpinlocksTest, AnyUseIsToldAndABusyOneIsNot) {
  pthread_spinlock_t lock;
  EXPECT_EQ(
      Told({{const_cast<int*>(&lock), "s"}},
           [&] {
             pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
             pthread_spin_lock(&lock);
             EXPECT_EQ(pthread_spin_trylock(&lock), EBUSY);
             pthread_spin_unlock(&lock);
             EXPECT_EQ(pthread_spin_trylock(&lock), 0);
             pthread_spin_unlock(&lock);
             pthread_spin_destroy(&lock);
           }),
      "LockCreated s; Locked s exclusive 1; Unlocking s exclusive 1; Locked s exclusive 1; Unlocking s exclusive 1; "
      "LockDestroyed s");
}

}  // namespace
}  // namespace redflag
