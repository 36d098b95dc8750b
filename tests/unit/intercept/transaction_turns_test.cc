#include "intercept/transaction_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace redflag {
namespace {

TEST(TransactionTurns, AreNeverMoreThanTheMost) {
  TransactionTurns turns(2);
  std::atomic<int> inside = 0, most_inside = 0, without = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (uint32_t told = 1; told <= 2000; ++told) {
        if (!turns.Take()) {
          ++without;
          continue;
        }
        const int now = ++inside;
        int most = most_inside;
        while (most < now && !most_inside.compare_exchange_weak(most, now)) {
        }
        --inside;
        turns.GiveBack(told);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most_inside, 2);
  EXPECT_EQ(without, 0);
}

TEST(TransactionTurns, OthersTurnsEndWithTheFork) {
  TransactionTurns turns(2);
  ASSERT_TRUE(turns.Take());  // another thread's
  ASSERT_TRUE(turns.Take());
  turns.BeginProcess(true);
  EXPECT_TRUE(turns.Take());
  turns.GiveBack(1);
  turns.GiveBack(1);
  turns.BeginProcess(false);
  EXPECT_TRUE(turns.Take());
  EXPECT_TRUE(turns.Take());
}

TEST(TransactionTurns, WhoWaitsGetsTheOneThatIsGivenBack) {
  TransactionTurns turns(1);
  ASSERT_TRUE(turns.Take());
  std::atomic<bool> is_given_back = false;
  bool has_waited = false, has_turn = false;
  std::thread other([&] {
    has_turn = turns.Take();
    has_waited = is_given_back;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  is_given_back = true;
  turns.GiveBack(1);  // nobody is woken for that: it is found
  other.join();
  EXPECT_TRUE(has_turn);
  EXPECT_TRUE(has_waited);
}

TEST(TransactionTurns, WhereNoneEndsTheNextBeginsWithout) {
  TransactionTurns turns(1);
  ASSERT_TRUE(turns.Take());
  EXPECT_FALSE(turns.Take());
}

}  // namespace
}  // namespace redflag
