#include "intercept/file_places.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/hash_map.h"

namespace redflag {
namespace {

uint32_t PlaceOf(FilePlaces& places, uint64_t key) {
  bool is_new = false;
  return places.PlaceOf(key, is_new);
}

TEST(FilePlacesTest, AFileKeepsItsPlace) {
  const auto places = std::make_unique<FilePlaces>();
  bool is_new = false;
  const uint32_t place = places->PlaceOf(HashKey(5), is_new);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(places->PlaceOf(HashKey(5), is_new), place);
  EXPECT_FALSE(is_new);
}

TEST(FilePlacesTest, TenThousandFilesHaveAPlaceEach) {
  const auto places = std::make_unique<FilePlaces>();
  std::set<uint32_t> taken;
  for (uint64_t i = 1; i <= 10'000; ++i) taken.insert(PlaceOf(*places, HashKey(i)));
  EXPECT_EQ(taken.size(), 10'000u);
}

TEST(FilePlacesTest, WhatWasNotUsedForLongestIsTakenOver) {
  const auto places = std::make_unique<FilePlaces>();
  constexpr uint64_t kSet = uint64_t{7} << FilePlaces::kSetShift;
  std::vector<uint32_t> of;
  for (uint64_t i = 0; i < FilePlaces::kWays; ++i) of.push_back(PlaceOf(*places, kSet + i));  // all of one set
  EXPECT_EQ(std::set<uint32_t>(of.begin(), of.end()).size(), FilePlaces::kWays);
  PlaceOf(*places, kSet);  // used again: the second is the oldest now
  bool is_new = false;
  EXPECT_EQ(places->PlaceOf(kSet + 100, is_new), of[1]);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(PlaceOf(*places, kSet), of[0]);
}

TEST(FilePlacesTest, ThreadsThatComeAtOnceAgree) {
  const auto places = std::make_unique<FilePlaces>();
  constexpr uint64_t kFiles = 10'000;
  std::vector<std::vector<uint32_t>> found(4, std::vector<uint32_t>(kFiles));
  std::vector<std::thread> threads;
  for (std::vector<uint32_t>& mine : found) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kFiles; ++i) mine[i] = PlaceOf(*places, HashKey(i + 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<uint32_t>& mine : found) EXPECT_EQ(mine, found[0]);
}

}  // namespace
}  // namespace redflag
