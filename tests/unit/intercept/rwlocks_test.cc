#include <pthread.h>

#include <cerrno>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

struct RwlocksTest : testing::Test {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  Names names{{&lock, "l"}};
  timespec past = Past();
  timespec soon = Soon();
  timespec steady = Soon(CLOCK_MONOTONIC);

  void Unlock() { EXPECT_EQ(pthread_rwlock_unlock(&lock), 0); }
};

TEST_F(RwlocksTest, InitAndDestroyAreTold) {
  EXPECT_EQ(Told(names, [&] { pthread_rwlock_init(&lock, nullptr), pthread_rwlock_destroy(&lock); }),
            "LockCreated l; LockDestroyed l");
}

TEST_F(RwlocksTest, UnlockKnowsThatTheThreadIsAReader) {
  const std::string pair = "Locked l shared 1; Unlocking l shared 1";
  EXPECT_EQ(Told(names, [&] { pthread_rwlock_rdlock(&lock), Unlock(); }), pair);
  EXPECT_EQ(Told(names, [&] { pthread_rwlock_tryrdlock(&lock), Unlock(); }), pair);
  EXPECT_EQ(Told(names, [&] { pthread_rwlock_timedrdlock(&lock, &soon), Unlock(); }), pair);
  EXPECT_EQ(Told(names, [&] { pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &steady), Unlock(); }), pair);
}

TEST_F(RwlocksTest, UnlockKnowsThatTheThreadIsTheWriter) {
  const std::string pair = "Locked l exclusive 1; Unlocking l exclusive 1";
  EXPECT_EQ(Told(names, [&] { pthread_rwlock_wrlock(&lock), Unlock(); }), pair);
  EXPECT_EQ(Told(names, [&] { pthread_rwlock_trywrlock(&lock), Unlock(); }), pair);
  EXPECT_EQ(Told(names, [&] { pthread_rwlock_timedwrlock(&lock, &soon), Unlock(); }), pair);
  EXPECT_EQ(Told(names, [&] { pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &steady), Unlock(); }), pair);
}

TEST_F(RwlocksTest, ALockThatFailsTellsNothing) {
  EXPECT_EQ(Told(names,
                 [&] {
                   pthread_rwlock_rdlock(&lock);
                   EXPECT_EQ(pthread_rwlock_trywrlock(&lock), EBUSY);
                   EXPECT_EQ(pthread_rwlock_timedwrlock(&lock, &past), ETIMEDOUT);
                   EXPECT_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past), ETIMEDOUT);
                   Unlock();
                   pthread_rwlock_wrlock(&lock);
                   EXPECT_EQ(pthread_rwlock_tryrdlock(&lock), EBUSY);
                   EXPECT_EQ(pthread_rwlock_rdlock(&lock), EDEADLK);
                   EXPECT_EQ(pthread_rwlock_wrlock(&lock), EDEADLK);
                   Unlock();
                 }),
            "Locked l shared 1; Unlocking l shared 1; Locked l exclusive 1; Unlocking l exclusive 1");
}

TEST_F(RwlocksTest, AReaderAfterAWriterIsAReader) {
  EXPECT_EQ(
      Told(names,
           [&] {
             pthread_rwlock_wrlock(&lock), Unlock();
             pthread_rwlock_rdlock(&lock), pthread_rwlock_rdlock(&lock), Unlock(), Unlock();
           }),
      "Locked l exclusive 1; Unlocking l exclusive 1; Locked l shared 1; Locked l shared 1; Unlocking l shared 1; "
      "Unlocking l shared 1");
}

}  // namespace
}  // namespace redflag
