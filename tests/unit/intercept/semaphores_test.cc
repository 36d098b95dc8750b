#include <fcntl.h>
#include <semaphore.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

TEST(SemaphoresTest, PostReleasesAndEveryWaitAcquires) {
  sem_t semaphore;
  const timespec soon = Soon();
  const timespec steady = Soon(CLOCK_MONOTONIC);
  EXPECT_EQ(Told({{&semaphore, "s"}},
                 [&] {
                   sem_init(&semaphore, 0, 3);
                   sem_post(&semaphore);
                   sem_wait(&semaphore);
                   sem_trywait(&semaphore);
                   sem_timedwait(&semaphore, &soon);
                   sem_clockwait(&semaphore, CLOCK_MONOTONIC, &steady);
                   sem_destroy(&semaphore);
                 }),
            "Forget s; Release s; Acquire s; Acquire s; Acquire s; Acquire s; Forget s");
}

TEST(SemaphoresTest, AWaitInVainTellsNothing) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  const timespec past = Past();
  EXPECT_EQ(Told({},
                 [&] {
                   EXPECT_EQ(sem_trywait(&semaphore), -1);
                   EXPECT_EQ(errno, EAGAIN);
                   EXPECT_EQ(sem_timedwait(&semaphore, &past), -1);
                   EXPECT_EQ(errno, ETIMEDOUT);
                   EXPECT_EQ(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past), -1);
                   EXPECT_EQ(errno, ETIMEDOUT);
                 }),
            "");
  sem_destroy(&semaphore);
}

TEST(SemaphoresTest, ANamedSemaphoreIsOne) {
  const std::string name = "/redflag-test-" + std::to_string(getpid());
  sem_t* first = sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, 0);
  ASSERT_NE(first, SEM_FAILED);
  sem_t* second = sem_open(name.c_str(), 0);
  EXPECT_EQ(first, second);
  EXPECT_EQ(Told({{first, "s"}}, [&] { sem_post(first), sem_wait(second); }), "Release s; Acquire s");
  sem_close(second);
  sem_close(first);
  sem_unlink(name.c_str());
}

}  // namespace
}  // namespace redflag
