// Tolerated variables of all kinds, and how several words of them are read and published.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "redflag/tolerate.hpp"
#include "tests/tolerate/found.h"
#include "tests/tolerate/steps.h"

namespace redflag {
namespace {

using ToleratedTest = TolerateTest;

TEST_F(ToleratedTest, AllSizesOfScalars) {
  tolerant_mutex m;
  tolerated<bool> flag(m, false);
  tolerated<char> letter(m, 'a');
  tolerated<short> half(m, short{3});
  tolerated<float> single(m, 1.5f);
  tolerated<double> twice(m, 2.5);
  tolerated<int*> pointer(m, nullptr);
  tolerated<__int128> wide(m, 1);
  int target = 4;
  {
    std::lock_guard lock(m);
    flag = true;
    letter = 'b';
    half -= 1;
    single *= 2;
    twice = twice + 1;
    pointer = &target;
    wide = static_cast<__int128>(1) << 100;
    EXPECT_EQ(*pointer, 4);
  }
  EXPECT_TRUE(flag);
  EXPECT_EQ(letter, 'b');
  EXPECT_EQ(half, 2);
  EXPECT_EQ(single, 3.0f);
  EXPECT_EQ(twice, 3.5);
  EXPECT_EQ(pointer, &target);
  EXPECT_TRUE(wide == static_cast<__int128>(1) << 100);
}

// A target that is one word is settled in place, whatever its size; a conflict takes the long way.
template <class T>
class TargetOfOneWordTest : public TolerateTest {};
using Words = testing::Types<bool, char, short, float, double, int*, unsigned>;
TYPED_TEST_SUITE(TargetOfOneWordTest, Words);

TYPED_TEST(TargetOfOneWordTest, IsReadPublishedAndInConflict) {
  using T = TypeParam;
  const auto value = [](int number) -> T {
    if constexpr (std::is_pointer_v<T>) {
      static int targets[3];
      return &targets[number];
    } else if constexpr (std::is_same_v<T, bool>) {
      return number == 1;
    } else {
      return static_cast<T>(number);
    }
  };
  tolerant_mutex m;
  T word = value(0);
  {
    std::lock_guard lock(m);
    tolerated_target<T> target(m, word);
    EXPECT_EQ(target.read(), value(0));
  }
  EXPECT_EQ(m.counted().published, 0u);
  {
    std::lock_guard lock(m);
    tolerated_target<T> target(m, word);
    target = value(1);
    EXPECT_EQ(read_once(word), value(0));
    EXPECT_EQ(target.read(), value(1));
  }
  EXPECT_EQ(read_once(word), value(1));
  EXPECT_EQ(m.counted().published, 1u);
  {
    std::lock_guard lock(m);
    tolerated_target<T> target(m, word, on_conflict::other_wins);
    if constexpr (std::is_same_v<T, bool>) {
      target = false;
      EXPECT_EQ(m.counted().conflicts, 0u);
    } else {
      target = value(0);
      write_once(word, value(2));
    }
  }
  EXPECT_EQ(m.counted().conflicts, (std::is_same_v<T, bool> ? 0u : 1u));
  EXPECT_EQ(word, (std::is_same_v<T, bool> ? value(0) : value(2)));
}

// Ended in another order than that of their making, and by the section before they are destroyed.
TEST_F(ToleratedTest, TargetsThatOutliveEachOtherAndTheirSection) {
  tolerant_mutex m;
  long a = 1, b = 1;
  m.lock();
  auto first = std::make_unique<tolerated_target<long>>(m, a);
  auto second = std::make_unique<tolerated_target<long>>(m, b);
  *first = 2;
  *second = 3;
  first.reset();
  EXPECT_EQ(a, 2);
  EXPECT_EQ(b, 1);
  m.unlock();
  EXPECT_EQ(b, 3);
  second.reset();
  EXPECT_EQ(b, 3);
  EXPECT_EQ(m.counted().published, 2u);
}

// What every section looks at begins a cache line, and the lock is in it.
static_assert(alignof(tolerant_mutex) == 64 && sizeof(tolerant_mutex) == 256);

struct Person {
  int age;
  char name[21];
  double height;
  bool operator==(const Person&) const = default;
};

TEST_F(ToleratedTest, StructsByCopyByMemberAndAsAWhole) {
  tolerant_mutex m;
  tolerated<Person> v(m, Person{30, "Ada", 1.7});
  {
    auto s = v.lock();
    s->age = 31;
    (*s).name[0] = 'I';
    EXPECT_EQ(v.at(&Person::age), 31);
  }
  v.at(&Person::height) = 1.8;  // from outside
  EXPECT_EQ(v.at(&Person::age), 31);
  EXPECT_EQ(v.read(), (Person{31, "Ida", 1.8}));
  {
    std::lock_guard lock(m);
    v = Person{1, "x", 2};
  }
  EXPECT_EQ(v.read(), (Person{1, "x", 2}));
  EXPECT_TRUE(found.empty());
}

TEST_F(ToleratedTest, NeighboursOfAWordSurviveAWriteFromOutside) {
  tolerant_mutex m;
  tolerated<uint8_t[9]> v(m, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  v[3] = 40;
  v[8] = 90;
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(v[i], i == 3 ? 40 : i == 8 ? 90 : i + 1);
  {
    std::lock_guard lock(m);
    v[0] = 10;
    v[1] += v[0];
    EXPECT_EQ(v[1], 12);
  }
  EXPECT_EQ(v[1], 12);
}

TEST_F(ToleratedTest, TheTargetOfAPointerInsideOfASection) {
  struct Node {
    long value;
    Node* next;
  } node{1, nullptr};
  tolerant_mutex m;
  {
    std::lock_guard lock(m);
    tolerated_target<Node> target(m, node);
    target.at(&Node::value) = 2;
    target.get()->next = &node;
    EXPECT_EQ(node.value, 1);
    Intrude(node.value, 9L);
  }
  EXPECT_EQ(node.value, 2);
  EXPECT_EQ(node.next, &node);
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(ToleratedTest, ATargetIsCopiedAgainWhenTheSectionBeginsAgain) {
  long word = 1;
  tolerant_mutex m;
  std::unique_lock lock(m);
  tolerated_target<long> target(m, word);
  target = 2;
  lock.unlock();
  EXPECT_EQ(word, 2);
  word = 10;
  lock.lock();
  EXPECT_EQ(target, 10);
  target += 1;
  EXPECT_EQ(word, 10);
  lock.unlock();
  EXPECT_EQ(word, 11);
}

TEST_F(ToleratedTest, ATargetOfASectionThatIsNotMeantIsTheTargetItself) {
  tolerate::configure("off");
  long word = 1;
  tolerant_mutex m;
  std::lock_guard lock(m);
  tolerated_target<long> target(m, word);
  target = 2;
  EXPECT_EQ(word, 2);
  EXPECT_EQ(target.get(), &word);
}

// ---- Publication of several words, with somebody in between ----

using tolerate_tests::Mutex;
using tolerate_tests::Steps;

struct Two {
  long a, b;
};

// Steps of a section that writes both: four loads, two checks, two compare-exchanges.
template <class Policy>
Two AfterIntrusionBetweenTheWords(Policy policy, uint64_t* conflicts, long intruder) {
  Two words{1, 1};
  Mutex m;
  redflag::tolerated<Two&, tolerate_tests::Stepped> v(m, words, policy);
  Steps::Run(
      {7}, [&](size_t) { __atomic_store_n(&words.b, intruder, __ATOMIC_RELAXED); },
      [&] {
        std::lock_guard lock(m);
        v = Two{11, 21};
      });
  *conflicts = m.counted().conflicts;
  return words;
}

TEST_F(ToleratedTest, AConflictMidwayIsSettledByThePolicy) {
  uint64_t conflicts = 0;
  Two left = AfterIntrusionBetweenTheWords(on_conflict::report, &conflicts, 5);
  EXPECT_EQ(conflicts, 1u);
  EXPECT_EQ(left.a, 11);
  EXPECT_EQ(left.b, 21);
  left = AfterIntrusionBetweenTheWords(on_conflict::other_wins, &conflicts, 5);
  EXPECT_EQ(conflicts, 1u);
  EXPECT_EQ(left.a, 1);  // taken back
  EXPECT_EQ(left.b, 5);
  const auto add = [](const Two& original, const Two& mine, const Two& theirs) {
    return Two{theirs.a + (mine.a - original.a), theirs.b + (mine.b - original.b)};
  };
  left = AfterIntrusionBetweenTheWords(merge(add), &conflicts, 5);
  EXPECT_EQ(conflicts, 1u);
  EXPECT_EQ(left.a, 11);  // not added twice
  EXPECT_EQ(left.b, 25);
}

TEST_F(ToleratedTest, WhatASectionBeginsWithIsOfOneMoment) {
  Two words{1, 1};
  Mutex m;
  redflag::tolerated<Two&, tolerate_tests::Stepped> v(m, words);
  Two seen{};
  // Behind the first load of a: both change.
  Steps::Run(
      {1, 1}, [&](size_t i) { __atomic_store_n(i == 0 ? &words.a : &words.b, 2L, __ATOMIC_RELAXED); },
      [&] {
        std::lock_guard lock(m);
        seen = v.read();
      });
  EXPECT_EQ(seen.a, 2);
  EXPECT_EQ(seen.b, 2);
}

TEST_F(ToleratedTest, WordsThatNeverRestAreToldAndCounted) {
  Two words{1, 1};
  Mutex m;
  redflag::tolerated<Two&, tolerate_tests::Stepped> v(m, words);
  std::vector<size_t> gaps;
  for (size_t i = 0; i < 1000; ++i) gaps.push_back(i);
  Steps::Run(
      gaps, [&](size_t i) { __atomic_store_n(&words.a, static_cast<long>(i), __ATOMIC_RELAXED); },
      [&] { std::lock_guard lock(m); });
  EXPECT_EQ(m.counted().inconsistent, 1u);
  EXPECT_EQ(found.at(0).result, outcome::inconsistent);
}

}  // namespace
}  // namespace redflag
