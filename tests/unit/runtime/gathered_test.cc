// Accesses to parts of a granule that wait to be recorded together.
#include "runtime/gathered.h"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

namespace redflag::rt {
namespace {

constexpr uint64_t kAddress = 0x1000;

template <int kSize>
void Add(Gathered& gathered, uint64_t addr, bool is_write, uint32_t context) {
  const uint64_t key = Gathered::KeyOf(addr, is_write);
  Gathered::Entry* found = gathered.Find(key);
  Gathered::Entry& entry = found != nullptr ? *found : gathered.Append(key);
  const auto first = static_cast<uint32_t>(addr % 8);
  entry.Add<kSize>(first, ((1u << kSize) - 1) << first, ContextId{context});
}

// All that is taken, by their keys.
std::vector<uint64_t> TakeAll(Gathered& gathered) {
  std::vector<uint64_t> keys;
  gathered.TakeAll([&](Gathered::Entry& entry) { keys.push_back(std::exchange(entry.key, 0)); });
  return keys;
}

using Part = std::tuple<uint32_t, uint32_t, uint32_t>;  // the first byte, how many, the context
std::vector<Part> PartsOf(const Gathered::Entry& entry) {
  std::vector<Part> parts;
  entry.ForEach(
      [&](uint32_t first, uint32_t size, ContextId context) { parts.emplace_back(first, size, Raw(context)); });
  return parts;
}

TEST(GatheredTest, EachIsGivenBackAsItWasMade) {
  Gathered gathered;
  Add<4>(gathered, kAddress + 4, true, 7);
  Add<1>(gathered, kAddress, true, 8);
  Add<2>(gathered, kAddress + 2, true, 9);
  const Gathered::Entry& entry = *gathered.Find(Gathered::KeyOf(kAddress, true));
  EXPECT_EQ(entry.granule(), kAddress);
  EXPECT_EQ(entry.kind(), AccessKind::kWrite);
  EXPECT_EQ(entry.bytes, 0xfd);
  EXPECT_EQ(PartsOf(entry), (std::vector<Part>{{0, 1, 8}, {2, 2, 9}, {4, 4, 7}}));
}

TEST(GatheredTest, WhatIsTakenIsGone) {
  Gathered gathered;
  Add<1>(gathered, kAddress, true, 1);
  Add<1>(gathered, kAddress, false, 2);
  Add<2>(gathered, kAddress + 8, false, 3);
  EXPECT_EQ(TakeAll(gathered), (std::vector<uint64_t>{kAddress + 1, kAddress, kAddress + 8})) << "as they came";
  EXPECT_TRUE(gathered.is_empty());
  EXPECT_EQ(gathered.Find(kAddress), nullptr);
  EXPECT_EQ(TakeAll(gathered), std::vector<uint64_t>{});
}

TEST(GatheredTest, WhatWasRecordedMeanwhileIsNotTaken) {
  Gathered gathered;
  for (uint64_t i = 0; i < 3; ++i) Add<1>(gathered, kAddress + 8 * i, false, 1);
  gathered.Find(kAddress + 8)->key = 0;
  EXPECT_EQ(gathered.Find(kAddress + 8), nullptr);
  EXPECT_EQ(TakeAll(gathered), (std::vector<uint64_t>{kAddress, kAddress + 16}));
}

// Who is visited may record all the others.
TEST(GatheredTest, TakingIsDoneOnceAlsoFromWithin) {
  Gathered gathered;
  for (uint64_t i = 0; i < 5; ++i) Add<1>(gathered, kAddress + 8 * i, false, 1);
  std::vector<uint64_t> outer;
  std::vector<uint64_t> inner;
  gathered.TakeAll([&](Gathered::Entry& entry) {
    outer.push_back(std::exchange(entry.key, 0));
    for (const uint64_t key : TakeAll(gathered)) inner.push_back(key);
  });
  EXPECT_EQ(outer, std::vector<uint64_t>{kAddress});
  EXPECT_EQ(inner, (std::vector<uint64_t>{kAddress + 8, kAddress + 16, kAddress + 24, kAddress + 32}));
  EXPECT_TRUE(gathered.is_empty());
}

// Granules whose places in the index are one: the later is found, none is lost.
TEST(GatheredTest, ManyAreKept) {
  Gathered gathered;
  std::vector<uint64_t> keys;
  while (!gathered.is_full()) {
    const uint64_t addr = kAddress + keys.size() * 8 * 64;
    Add<4>(gathered, addr, true, 1);
    keys.push_back(Gathered::KeyOf(addr, true));
    ASSERT_NE(gathered.Find(keys.back()), nullptr);
  }
  EXPECT_EQ(keys.size(), Gathered::kMost);
  EXPECT_EQ(TakeAll(gathered), keys);
  for (const uint64_t key : keys) EXPECT_EQ(gathered.Find(key), nullptr);
}

// An entry that was used before says nothing of that.
TEST(GatheredTest, APlaceIsUsedAgain) {
  Gathered gathered;
  Add<4>(gathered, kAddress, false, 1);
  Add<4>(gathered, kAddress + 4, false, 1);
  TakeAll(gathered);
  Add<1>(gathered, kAddress + 3, false, 5);
  EXPECT_EQ(PartsOf(*gathered.Find(kAddress)), (std::vector<Part>{{3, 1, 5}}));
}

TEST(GatheredTest, WhatWasWrittenCoversReads) {
  Gathered gathered;
  Add<2>(gathered, kAddress, true, 1);
  EXPECT_TRUE(gathered.HasWritten(kAddress, 0b11));
  EXPECT_TRUE(gathered.HasWritten(kAddress + 1, 0b10));
  EXPECT_FALSE(gathered.HasWritten(kAddress, 0b111));
  EXPECT_FALSE(gathered.HasWritten(kAddress + 8, 0b1));
  EXPECT_FALSE(gathered.HasWritten(kAddress + uint64_t{8} * 64, 0b1)) << "another granule at the same place";
}

}  // namespace
}  // namespace redflag::rt
