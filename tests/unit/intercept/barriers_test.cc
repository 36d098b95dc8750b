#include <pthread.h>

#include <cerrno>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

TEST(BarriersTest, EachPartyArrivesAndLeaves) {
  pthread_barrier_t barrier;
  const auto meet = [](void* argument) -> void* {
    return pthread_barrier_wait(static_cast<pthread_barrier_t*>(argument)) == PTHREAD_BARRIER_SERIAL_THREAD ? argument
                                                                                                            : nullptr;
  };
  const Names names{{&barrier, "b"}};
  void* results[2] = {};
  int serial = 0;
  const std::string mine = ToldBy(0, names, [&] {
    pthread_barrier_init(&barrier, nullptr, 3);
    pthread_t threads[2];
    for (pthread_t& thread : threads) pthread_create(&thread, nullptr, meet, &barrier);
    serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], &results[i]);
    pthread_barrier_destroy(&barrier);
  });
  serial += (results[0] != nullptr) + (results[1] != nullptr);
  EXPECT_EQ(serial, 1);
  EXPECT_EQ(
      mine,
      "BarrierForgotten b; ThreadCreating joinable; ThreadCreated ? 1; ThreadCreating joinable; ThreadCreated ? 2; "
      "BarrierArrive b 3; BarrierLeave; ThreadJoined ?; ThreadJoined ?; BarrierForgotten b");
  for (int thread : {1, 2}) {
    EXPECT_EQ(Recorded(names, thread), "ThreadBegins ?; BarrierArrive b 3; BarrierLeave; ThreadEnds");
  }
}

TEST(BarriersTest, ABarrierIsUsedAgain) {
  pthread_barrier_t barrier;
  EXPECT_EQ(Told({{&barrier, "b"}},
                 [&] {
                   pthread_barrier_init(&barrier, nullptr, 1);
                   EXPECT_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
                   EXPECT_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
                   pthread_barrier_destroy(&barrier);
                 }),
            "BarrierForgotten b; BarrierArrive b 1; BarrierLeave; BarrierArrive b 1; BarrierLeave; BarrierForgotten b");
}

TEST(BarriersTest, ABarrierOfNobodyIsNotMade) {
  pthread_barrier_t barrier;
  EXPECT_EQ(Told({}, [&] { EXPECT_EQ(pthread_barrier_init(&barrier, nullptr, 0), EINVAL); }), "");
}

}  // namespace
}  // namespace redflag
