// Tolerant sections and variables, one behaviour a test. Somebody outside of a section is this thread on the words themselves, between two lines.
#include "redflag/tolerate.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/tolerate/found.h"
#include "tests/tolerate/steps.h"
#include "tolerate/registry.h"

namespace redflag {
namespace {

// ---- The table ----

TEST(EpilogTable, HasTheFourCasesOfThePaper) {
  EXPECT_EQ(redflag_tolerate_decide(1, 1, 1), REDFLAG_TOLERATE_LEAVE);
  EXPECT_EQ(redflag_tolerate_decide(1, 1, 2), REDFLAG_TOLERATE_LEAVE);
  EXPECT_EQ(redflag_tolerate_decide(1, 3, 1), REDFLAG_TOLERATE_PUBLISH);
  EXPECT_EQ(redflag_tolerate_decide(1, 3, 2), REDFLAG_TOLERATE_CONFLICT);
  EXPECT_EQ(redflag_tolerate_decide(1, 3, 3),
            REDFLAG_TOLERATE_CONFLICT);  // both have changed it, by chance to the same
}

TEST_F(TolerateTest, GeneratedCodeHasTheTableAndTheEpilogUnderCNames) {
  EXPECT_EQ(redflag_tolerate_table(1, 3, 2), REDFLAG_TOLERATE_CONFLICT);
  redflag_tolerate_site site{.section = "generated",
                             .file = "x.c",
                             .line = 3,
                             .policy = REDFLAG_TOLERATE_OTHER_WINS,
                             .choice = 0,
                             .reserved = 0};
  EXPECT_EQ(redflag_tolerate_chosen(&site), 1);
  uint64_t word = 5;
  EXPECT_EQ(redflag_tolerate_epilog(&site, &word, 5, 5, 8), REDFLAG_TOLERATE_LEAVE);
  EXPECT_EQ(redflag_tolerate_epilog(&site, &word, 5, 6, 8), REDFLAG_TOLERATE_PUBLISH);
  EXPECT_EQ(word, 6u);
  EXPECT_EQ(redflag_tolerate_epilog(&site, &word, 5, 7, 8), REDFLAG_TOLERATE_CONFLICT);
  EXPECT_EQ(word, 6u);
  site.policy = REDFLAG_TOLERATE_REPORT;
  EXPECT_EQ(redflag_tolerate_epilog(&site, &word, 5, 7, 8), REDFLAG_TOLERATE_CONFLICT);
  EXPECT_EQ(word, 7u);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_STREQ(found[1].section, "generated");

  struct {
    uint8_t one = 1, other = 9;
    uint16_t two = 2;
    uint32_t four = 4;
  } small;
  EXPECT_EQ(redflag_tolerate_epilog(&site, &small.one, 1, 11, 1), REDFLAG_TOLERATE_PUBLISH);
  EXPECT_EQ(redflag_tolerate_epilog(&site, &small.two, 2, 12, 2), REDFLAG_TOLERATE_PUBLISH);
  EXPECT_EQ(redflag_tolerate_epilog(&site, &small.four, 4, 14, 4), REDFLAG_TOLERATE_PUBLISH);
  EXPECT_EQ(small.one, 11);
  EXPECT_EQ(small.other, 9);
  EXPECT_EQ(small.two, 12);
  EXPECT_EQ(small.four, 14u);

  tolerate::configure("something else");
  redflag_tolerate_site not_meant{
      .section = "generated", .file = "x.c", .line = 3, .policy = 0, .choice = 0, .reserved = 0};
  EXPECT_EQ(redflag_tolerate_chosen(&not_meant), 0);
}

// ---- Sections ----

TEST_F(TolerateTest, ASectionSeesOneValueThroughout) {
  int word = 1;
  tolerant_mutex m;
  tolerated<int&> v(m, word);
  std::lock_guard lock(m);
  EXPECT_EQ(v, 1);
  Intrude(word, 2);
  EXPECT_EQ(v, 1);
}

TEST_F(TolerateTest, WhoWritesFromOutsideDuringAReadingSectionComesAfterIt) {
  int word = 1;
  tolerant_mutex m;
  tolerated<int&> v(m, word);
  {
    std::lock_guard lock(m);
    EXPECT_EQ(v, 1);
    Intrude(word, 2);
  }
  EXPECT_EQ(word, 2);
  EXPECT_TRUE(found.empty());
}

TEST_F(TolerateTest, NobodySeesWhatASectionWritesBeforeItEnds) {
  long word = 1;
  tolerant_mutex m;
  tolerated<long&> v(m, word);
  {
    std::lock_guard lock(m);
    v = 7;
    v += 1;
    ++v;
    v--;
    EXPECT_EQ(v, 8);
    EXPECT_EQ(word, 1);
  }
  EXPECT_EQ(word, 8);
  EXPECT_EQ(m.counted().published, 1u);
}

TEST_F(TolerateTest, BothChangedIsAConflictWithItsValues) {
  int word = 1;
  tolerant_mutex m("cache");
  tolerated<int&> v(m, word);
  {
    std::lock_guard lock(m);
    v = 5;
    Intrude(word, 2);
  }
  EXPECT_EQ(word, 5);  // no update under the lock is lost
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].section, "cache");
  EXPECT_EQ(found[0].address, &word);
  EXPECT_EQ(found[0].bytes, sizeof word);
  EXPECT_EQ(found[0].original, 1u);
  EXPECT_EQ(found[0].local, 5u);
  EXPECT_EQ(found[0].global, 2u);
  EXPECT_EQ(found[0].result, outcome::published);
  EXPECT_EQ(m.counted().conflicts, 1u);
  EXPECT_NE(tolerate::describe(found[0]).find("the section to 0x5, the other to 0x2"), std::string::npos);
}

TEST_F(TolerateTest, WritingWhatWasThereIsNoChange) {
  int word = 1;
  tolerant_mutex m;
  tolerated<int&> v(m, word);
  {
    std::lock_guard lock(m);
    v = 3;
    v = 1;
    Intrude(word, 2);
  }
  EXPECT_EQ(word, 2);
  EXPECT_TRUE(found.empty());
}

TEST_F(TolerateTest, ABAIsNotSeenAndOfOneWordTolerated) {
  int word = 1;
  tolerant_mutex m;
  tolerated<int&> v(m, word);
  {
    std::lock_guard lock(m);
    v = v + 10;
    Intrude(word, 2);
    Intrude(word, 1);
  }
  EXPECT_EQ(word, 11);
  EXPECT_TRUE(found.empty());
}

// ---- Policies ----

TEST_F(TolerateTest, LocalWins) {
  int word = 1;
  tolerant_mutex m;
  tolerated<int&> v(m, word, on_conflict::local_wins);
  {
    std::lock_guard lock(m);
    v = 5;
    Intrude(word, 2);
  }
  EXPECT_EQ(word, 5);
  EXPECT_EQ(m.counted().conflicts, 1u);
}

TEST_F(TolerateTest, OtherWins) {
  int word = 1;
  tolerant_mutex m;
  tolerated<int&> v(m, word, on_conflict::other_wins);
  {
    std::lock_guard lock(m);
    v = 5;
    Intrude(word, 2);
  }
  EXPECT_EQ(word, 2);
  EXPECT_EQ(found.at(0).result, outcome::dropped);
}

TEST_F(TolerateTest, AFunctionMerges) {
  int word = 10;
  tolerant_mutex m;
  tolerated<int&> v(m, word, merge([](int original, int mine, int theirs) { return theirs + (mine - original); }));
  {
    std::lock_guard lock(m);
    v += 5;
    Intrude(word, 110);
  }
  EXPECT_EQ(word, 115);
  EXPECT_EQ(found.at(0).result, outcome::merged);
}

TEST_F(TolerateTest, AFunctionThatThrowsLeavesTheMutexFree) {
  int word = 10;
  tolerant_mutex m;
  tolerated<int&> v(m, word, merge([](int, int, int) -> int { throw 3; }));
  m.lock();
  v += 5;
  Intrude(word, 110);
  EXPECT_THROW(m.unlock(), int);
  EXPECT_TRUE(m.try_lock());
  m.unlock();
}

TEST_F(TolerateTest, ThrowDropsTheUpdateAndGivesUpTheLock) {
  int word = 1;
  tolerant_mutex m("prices");
  tolerated<int&> v(m, word, on_conflict::throw_error);
  const auto update = [&] {
    auto s = v.lock();
    *s = 5;
    Intrude(word, 2);
  };
  try {
    update();
    FAIL();
  } catch (const data_race_error& error) {
    EXPECT_NE(std::string(error.what()).find("'prices'"), std::string::npos) << error.what();
  }
  EXPECT_EQ(word, 2);
  EXPECT_TRUE(m.try_lock());
  m.unlock();

  std::unique_lock lock(m);
  v = 6;
  Intrude(word, 3);
  EXPECT_THROW(lock.unlock(), data_race_error);
}

TEST_F(TolerateTest, ThrowDoesNotThrowOverAnotherException) {
  int word = 1;
  tolerant_mutex m;
  tolerated<int&> v(m, word, on_conflict::throw_error);
  try {
    auto s = v.lock();
    *s = 5;
    Intrude(word, 2);
    throw 7;
  } catch (int seven) {
    EXPECT_EQ(seven, 7);
  }
  EXPECT_EQ(word, 5);  // as with report
  EXPECT_EQ(found.at(0).result, outcome::published);
}

TEST_F(TolerateTest, ThrowPublishesNothingOfTheSection) {
  struct Both {
    long a, b;
  } words{1, 1};
  tolerant_mutex m;
  tolerated<Both&> v(m, words, on_conflict::throw_error);
  {
    auto s = v.lock();
    s->a = 5;
    s->b = 5;
    Intrude(words.b, 2L);
    EXPECT_THROW(s.unlock(), data_race_error);
  }
  EXPECT_EQ(words.a, 1);
  EXPECT_EQ(words.b, 2);
}

// ---- Modes ----

TEST(Selection, WordsAndNames) {
  using tolerate::mode;
  using tolerate::Selection;
  EXPECT_EQ(Selection::Parse("").ModeOf("x"), mode::deployment);
  EXPECT_EQ(Selection::Parse("testing").ModeOf("x"), mode::testing);
  EXPECT_EQ(Selection::Parse("off").ModeOf("x"), mode::off);
  const Selection some = Selection::Parse("cache::*;queue;*.cc:12");
  EXPECT_EQ(some.ModeOf("cache::index"), mode::deployment);
  EXPECT_EQ(some.ModeOf("queue"), mode::deployment);
  EXPECT_EQ(some.ModeOf("main.cc:12"), mode::deployment);
  EXPECT_EQ(some.ModeOf("queues"), mode::off);
  EXPECT_EQ(some.ModeOf("a queue"), mode::off);
  EXPECT_EQ(Selection::Parse("testing;queue").ModeOf("queue"), mode::testing);
  EXPECT_EQ(Selection::Parse("testing;queue").ModeOf("cache"), mode::off);
}

TEST_F(TolerateTest, OnlySectionsThatAreMeantAreTolerated) {
  tolerate::configure("meant");
  int word = 1;
  tolerant_mutex meant("meant"), other("other");
  tolerated<int&> v(meant, word);
  tolerated<int> w(other, 1);
  {
    std::scoped_lock lock(meant, other);
    v = 2;
    EXPECT_EQ(word, 1);
    w = 2;
    auto s = std::thread([&] { EXPECT_EQ(w, 2); });  // seen at once
    s.join();
  }
  EXPECT_EQ(meant.counted().sections, 1u);
  EXPECT_EQ(other.counted().sections, 0u);
  auto s = w.lock();  // the variable itself
  *s = 3;
  EXPECT_EQ(w, 3);
}

TEST_F(TolerateTest, WithoutANameTheMutexIsCalledByItsPlace) {
  tolerant_mutex m;
  EXPECT_EQ(m.title(), "tolerate_test.cc:" + std::to_string(__LINE__ - 1));
}

TEST_F(TolerateTest, TestingTellsToleratedChangesAndCountsAccessesFromOutside) {
  tolerate::configure("testing");
  int word = 1;
  tolerant_mutex m("tested");
  tolerated<int&> v(m, word);
  {
    std::lock_guard lock(m);
    EXPECT_EQ(v, 1);
    Intrude(word, 2);
  }
  EXPECT_EQ(word, 2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].result, outcome::tolerated);
  EXPECT_EQ(found[0].original, 1u);
  EXPECT_EQ(found[0].global, 2u);
  v = 3;
  EXPECT_EQ(v, 3);
  EXPECT_EQ(v, 3);
  EXPECT_EQ(m.counted().outside_writes, 1u);
  EXPECT_EQ(m.counted().outside_reads, 2u);
  EXPECT_EQ(m.counted().tolerated, 1u);
  tolerate::configure("deployment");
  v = 4;
  EXPECT_EQ(m.counted().outside_writes, 1u);
}

// ---- Bad use ----

using TolerateDeathTest = TolerateTest;

TEST_F(TolerateDeathTest, ASectionThatAnotherThreadExits) {
  EXPECT_DEATH(
      {
        tolerant_mutex m("mine");
        m.lock();
        std::thread([&] { m.unlock(); }).join();
      },
      "section 'mine'.*exited by a thread that has not entered it");
}

TEST_F(TolerateDeathTest, AMutexThatIsDestroyedWhileItIsHeld) {
  EXPECT_DEATH(
      {
        tolerant_mutex m("gone");
        m.lock();
      },
      "section 'gone'.*destroyed while it is held");
}

TEST_F(TolerateDeathTest, AMutexThatIsDestroyedBeforeItsVariables) {
  EXPECT_DEATH(
      {
        auto m = std::make_unique<tolerant_mutex>("gone");
        tolerated<int> v(*m, 1);
        m.reset();
      },
      "section 'gone'.*destroyed before the variables");
}

TEST_F(TolerateDeathTest, AVariableThatIsMadeOrDestroyedInASectionOfItsMutex) {
  EXPECT_DEATH(
      {
        tolerant_mutex m;
        std::lock_guard lock(m);
        tolerated<int> v(m, 1);
      },
      "made in a section of its own mutex");
  EXPECT_DEATH(
      {
        tolerant_mutex m;
        auto v = std::make_unique<tolerated<int>>(m, 1);
        m.lock();
        v.reset();
      },
      "destroyed in a section of its own mutex");
}

TEST_F(TolerateDeathTest, OtherMistakes) {
  tolerant_mutex m("m");
  EXPECT_DEATH(tolerated<int>(m, 1, on_conflict::merge), "needs a function");
  tolerated<int[3]> array(m);
  EXPECT_DEATH(array[3] = 1, "behind the end");
  tolerated<int> v(m, 1);
  EXPECT_DEATH(v.lock_shared(), "no shared lock");
  tolerated<int> fatal(m, 1, on_conflict::abort);
  EXPECT_DEATH(
      {
        tolerate::set_handler(nullptr);
        int word = 1;
        tolerated<int&> w(m, word, on_conflict::abort);
        std::lock_guard lock(m);
        w = 2;
        word = 3;
        m.unlock();
      },
      "the program is aborted");
}

}  // namespace
}  // namespace redflag
