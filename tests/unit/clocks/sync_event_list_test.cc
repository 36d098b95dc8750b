#include "clocks/sync_event_list.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/mem.h"

namespace redflag {
namespace {

struct Limits {
  static constexpr uint32_t kBlockEvents = 4;
  static constexpr uint32_t kMaxBlocks = 3;
  static constexpr uint32_t kEventsPerHolder = 8;
};
using List = SyncEventList<PlainMem, Limits>;

class SyncEventListTest : public testing::Test {
 protected:
  // Events are told apart by the id of `to`.
  void Append(uint64_t first, uint64_t last) {
    for (uint64_t id = first; id <= last; ++id) {
      list_.Append(ThreadElement(Tid{0}), MakeElement(ElementKind::kCarried, id));
    }
  }
  std::vector<uint64_t> Walk(List::Position& position, uint64_t stop_at = 0) {
    std::vector<uint64_t> seen;
    list_.Walk(position, [&](const SyncEvent& event) {
      seen.push_back(IdOf(event.to));
      return seen.back() == stop_at;
    });
    return seen;
  }

  Arena<PlainMem> arena_;
  List list_{arena_};
};

TEST_F(SyncEventListTest, AWalkSeesEachEventOnceAndStopsWhereItIsTold) {
  List::Position position;
  list_.PlaceAtTail(position);
  Append(1, 6);
  EXPECT_EQ(Walk(position, 4), (std::vector<uint64_t>{1, 2, 3, 4}));
  Append(7, 9);
  EXPECT_EQ(Walk(position), (std::vector<uint64_t>{5, 6, 7, 8, 9}));
  EXPECT_EQ(Walk(position), (std::vector<uint64_t>{}));
  list_.Remove(position);
}

TEST_F(SyncEventListTest, ALookDoesNotMove) {
  List::Position position;
  Append(1, 2);
  list_.PlaceAtTail(position);
  Append(3, 12);
  std::vector<uint64_t> seen;
  list_.Look(position, 6, [&](const SyncEvent& event) {
    seen.push_back(IdOf(event.to));
    return false;
  });
  EXPECT_EQ(seen, (std::vector<uint64_t>{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(Walk(position).size(), 10u);
  list_.Remove(position);
}

TEST_F(SyncEventListTest, BlocksInWhichNobodyStandsGo) {
  List::Position a;
  List::Position b;
  Append(1, 5);
  list_.PlaceAtTail(a);
  Append(6, 13);
  list_.PlaceAtTail(b);
  Append(14, 20);
  EXPECT_EQ(list_.blocks(), 5u);
  EXPECT_EQ(list_.Trim(), 1u);
  const size_t before = arena_.in_use();
  list_.Remove(a);
  EXPECT_EQ(list_.Trim(), 2u);
  EXPECT_LT(arena_.in_use(), before);
  EXPECT_EQ(Walk(b).front(), 14u);
  list_.Remove(b);
  EXPECT_EQ(list_.Trim(), 1u);
  EXPECT_EQ(list_.blocks(), 1u) << "the tail stays";
}

TEST_F(SyncEventListTest, ALongListShowsItsFirstBlockAndWhoStandsThere) {
  List::Position position;
  Append(1, 1);
  list_.PlaceAtTail(position);
  Append(2, 14);
  EXPECT_FALSE(list_.IsTooLong(1)) << "room for 8 events more, because somebody stands in it";
  EXPECT_TRUE(list_.IsTooLong(0)) << "but not if he is of no use";
  EXPECT_EQ(list_.OldestHolder(), &position);
  std::vector<uint64_t> seen;
  list_.ForEachInFirstBlock(position, [&](const SyncEvent& event) { seen.push_back(IdOf(event.to)); });
  EXPECT_EQ(seen, (std::vector<uint64_t>{2, 3, 4}));
  list_.Remove(position);
  EXPECT_EQ(list_.OldestHolder(), nullptr);
  list_.DropFirstBlock();
  list_.PlaceAtHead(position);
  EXPECT_EQ(Walk(position).front(), 5u);
  list_.Remove(position);
}

TEST_F(SyncEventListTest, AnEventKnowsItsThread) {
  const Element lock = MakeElement(ElementKind::kExclusive, 5);
  EXPECT_EQ((SyncEvent{.from = lock, .to = ThreadElement(Tid{3})}.thread()), Tid{3});
  EXPECT_EQ((SyncEvent{.from = ThreadElement(Tid{4}), .to = lock}.thread()), Tid{4});
  EXPECT_TRUE((SyncEvent{.from = kNoElement, .to = lock}.takes_out()));
}

}  // namespace
}  // namespace redflag
