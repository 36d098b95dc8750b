// Accesses to parts of a granule that wait to be recorded together.
#include "runtime/gathered.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace redflag::rt {
namespace {

constexpr uint64_t kAddress = 0x1000;

template <int kSize>
void Add(Gathered& gathered, uint64_t addr, bool is_write, uint32_t context) {
  const uint32_t index = Gathered::IndexOf(addr, is_write);
  Gathered::Entry& entry = gathered.entries[index];
  if (entry.key == 0) entry.Begin(Gathered::KeyOf(addr, is_write));
  const auto first = static_cast<uint32_t>(addr % 8);
  entry.Add<kSize>(first, ((1u << kSize) - 1) << first, ContextId{context});
  gathered.used |= 1u << index;
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
  const Gathered::Entry& entry = gathered.entries[Gathered::IndexOf(kAddress, true)];
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
  std::vector<uint64_t> granules;
  gathered.TakeAll([&](const Gathered::Entry& entry) { granules.push_back(entry.key); });
  EXPECT_EQ(granules, (std::vector<uint64_t>{kAddress, kAddress + 8, kAddress + 1}));
  EXPECT_EQ(gathered.used, 0u);
  gathered.TakeAll([&](const Gathered::Entry&) { FAIL(); });
}

// An entry that was used before says nothing of that.
TEST(GatheredTest, APlaceIsUsedAgain) {
  Gathered gathered;
  Add<4>(gathered, kAddress, false, 1);
  Add<4>(gathered, kAddress + 4, false, 1);
  gathered.TakeAll([](const Gathered::Entry&) {});
  Add<1>(gathered, kAddress + 3, false, 5);
  EXPECT_EQ(PartsOf(gathered.entries[Gathered::IndexOf(kAddress, false)]), (std::vector<Part>{{3, 1, 5}}));
}

TEST(GatheredTest, WhatWasWrittenCoversReads) {
  Gathered gathered;
  Add<2>(gathered, kAddress, true, 1);
  EXPECT_TRUE(gathered.HasWritten(kAddress, 0b11));
  EXPECT_TRUE(gathered.HasWritten(kAddress + 1, 0b10));
  EXPECT_FALSE(gathered.HasWritten(kAddress, 0b111));
  EXPECT_FALSE(gathered.HasWritten(kAddress + 8, 0b1));
  EXPECT_FALSE(gathered.HasWritten(kAddress + 8 * Gathered::kOfEach, 0b1)) << "another granule at the same place";
}

}  // namespace
}  // namespace redflag::rt
