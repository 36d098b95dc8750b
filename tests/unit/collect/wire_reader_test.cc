#include "collect/wire_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "collect/wire_writer.h"

namespace redflag {
namespace {

RawStack Stack(std::initializer_list<uint64_t> frames) { return {.frames = frames, .truncated = false}; }

RaceMessage Race() {
  RawAccess write;
  write.address = 0x1004;
  write.size = 4;
  write.thread = 2;
  write.kind = AccessKind::kWrite;
  write.value = 42;
  write.stack = {.frames = {0x400100, 0x400200}, .truncated = true};
  write.locks = {{.address = 0x9000, .shared = false, .taken_at = Stack({0x400300})},
                 {.address = 0x9100, .shared = true, .taken_at = {}}};
  RawAccess freed;
  freed.address = 0x1000;
  freed.size = 64;
  freed.kind = AccessKind::kWrite;
  freed.origin = AccessOrigin::kFree;
  freed.vptr = freed.bit_field = freed.locks_unknown = true;
  freed.known = RawKnown{.how = wire::Handover::kUnlock, .object = 0x9000, .place = 0x400600, .caller = 0x400650};
  freed.weak = RawWeak{.object = 0x9200,
                       .store_place = 0x400700,
                       .load_place = 0x400800,
                       .store_order = MemoryOrder::kRelaxed,
                       .load_order = MemoryOrder::kAcquire};
  freed.owners = RawOwners{.owners = {{.kind = wire::OwnerKind::kThread, .object = 3},
                                      {.kind = wire::OwnerKind::kLock, .object = 0x9000},
                                      {.kind = wire::OwnerKind::kTransaction, .object = 0}},
                           .more = 2};
  RawBlock block{.begin = 0x1000,
                 .bytes = 64,
                 .thread = 1,
                 .place = wire::Place::kHeap,
                 .freed = true,
                 .allocated_at = Stack({0x400400})};
  return {
      .sequence = 9, .address = 0x1004, .bytes = 4, .accesses_found = 5, .block = block, .accesses = {write, freed}};
}

RaceMessage OnStack(size_t slots = 2, size_t returns = 2) {
  RawCalls calls{.slots = std::vector<uint64_t>(slots, 0x7000), .returns = {}};
  for (uint64_t i = 0; i < returns; ++i) {
    calls.returns.push_back({.address = 0x6000 - 8 * i, .value = 0x400900 + i, .below = 0x7000});
  }
  RaceMessage race = Race();
  race.block = RawBlock{.begin = 0,
                        .bytes = 0,
                        .thread = 1,
                        .place = wire::Place::kStack,
                        .freed = false,
                        .allocated_at = {},
                        .calls = std::move(calls)};
  return race;
}

std::vector<WireMessage> Examples() {
  ThreadMessage thread;
  thread.id = 3;
  thread.creator = 1;
  thread.os_id = 777;
  thread.detached = true;
  thread.name = "worker";
  thread.created_at = Stack({0x400500});
  RaceMessage bare = Race();
  bare.block.reset();
  bare.accesses.resize(1);
  RaceMessage observed = Race();
  observed.observed = RawObserved{.before = 1,
                                  .after = 2,
                                  .paused_ns = 3'000'000,
                                  .size = 4,
                                  .unknown_writer = false,
                                  .unwatched = true,
                                  .looks = wire::Looks::kSafeFlag};
  return {ProcessMessage{.pid = 12, .start_time = 34, .command = "./app --all", .watch_ms = 56},
          ModuleMessage{.begin = 0x400000, .end = 0x500000, .bias = 0, .path = "/bin/app", .gone = false},
          ModuleMessage{.begin = 0x400000, .end = 0x500000, .bias = 0x1000, .path = "/lib/lib.so", .gone = true},
          thread,
          Race(),
          bare,
          OnStack(),
          observed,
          NoteMessage{.severity = 1, .text = ""},
          NoteMessage{.severity = 2, .text = "eight..."},
          SuppressionsMessage{.is_file = true, .wants_usage = false, .text = "/etc/races"},
          SuppressionsMessage{.is_file = false, .wants_usage = true, .text = "race:f\n"},
          RepeatsMessage{.sequence = 7, .count = 1000},
          WatchedMessage{.sequence = 7, .accesses = Race().accesses},
          FlushMessage{},
          MisuseMessage{.sequence = 8,
                        .object = 0x7000,
                        .thread = 2,
                        .flaw = wire::Flaw::kDestroyHeld,
                        .where = Stack({0x400100, 0x400200}),
                        .taken_at = Stack({0x400300}),
                        .made_at = {},
                        .waiters = {},
                        .place = wire::Place::kStack,
                        .place_thread = 3,
                        .number = 11},
          MisuseMessage{.sequence = 9,
                        .object = 0x7000,
                        .thread = 2,
                        .flaw = wire::Flaw::kLockOrder,
                        .where = Stack({0x400100}),
                        .taken_at = {},
                        .made_at = {},
                        .waiters = {{.held = 0x7000,
                                     .wanted = 0x7040,
                                     .thread = 1,
                                     .held_shared = true,
                                     .wanted_shared = false,
                                     .held_at = Stack({0x400100}),
                                     .wanted_at = Stack({0x400200, 0x400300}),
                                     .made_at = {}},
                                    {.held = 0x7040,
                                     .wanted = 0x7000,
                                     .thread = 2,
                                     .held_shared = false,
                                     .wanted_shared = true,
                                     .held_at = {},
                                     .wanted_at = Stack({0x400400}),
                                     .made_at = Stack({0x400500})}}},
          ToleratedMessage{.sequence = 7, .local = 1, .global = 2, .words = "section 'x': both"},
          TagMessage{.number = 3, .object_type = "NSArray", .header = ""},
          EndMessage{}};
}

bool Decodes(std::span<const std::byte> bytes) { return std::holds_alternative<WireMessage>(DecodeMessage(bytes)); }

// Whether two messages are the same, by their bytes: equal structs encode alike.
TEST(WireReaderTest, WhatIsWrittenIsRead) {
  for (const WireMessage& message : Examples()) {
    const auto decoded = DecodeMessage(EncodeMessage(message));
    const auto* error = std::get_if<WireError>(&decoded);
    ASSERT_EQ(error, nullptr) << error->what << " at " << error->offset;
    EXPECT_EQ(EncodeMessage(std::get<WireMessage>(decoded)), EncodeMessage(message));
  }
  const auto decoded = DecodeMessage(EncodeMessage(Race()));
  EXPECT_EQ(std::get<RaceMessage>(std::get<WireMessage>(decoded)), Race());
  RaceMessage caught = Race();
  caught.observed = RawObserved{.before = 5, .unknown_writer = true};
  const auto again = DecodeMessage(EncodeMessage(caught));
  EXPECT_EQ(std::get<RaceMessage>(std::get<WireMessage>(again)), caught);
  const auto on_stack = DecodeMessage(EncodeMessage(OnStack()));
  EXPECT_EQ(std::get<RaceMessage>(std::get<WireMessage>(on_stack)), OnStack());
}

TEST(WireReaderTest, CountersArriveEach) {
  CountersMessage counters;
  counters.counters = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto decoded = DecodeMessage(EncodeMessage(counters));
  const auto& back = std::get<CountersMessage>(std::get<WireMessage>(decoded));
  EXPECT_EQ(std::memcmp(&back.counters, &counters.counters, sizeof counters.counters), 0);
}

TEST(WireReaderTest, EveryTruncationIsAnError) {
  for (const WireMessage& message : Examples()) {
    const std::vector<std::byte> bytes = EncodeMessage(message);
    for (size_t size = 0; size < bytes.size(); ++size) {
      std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_FALSE(Decodes(cut)) << size;
      if (size < 8) continue;
      const auto claimed = static_cast<uint32_t>(size);  // also if the header says so
      std::memcpy(cut.data(), &claimed, sizeof claimed);
      EXPECT_FALSE(Decodes(cut)) << size;
    }
  }
}

TEST(WireReaderTest, WhatFollowsTheEndIsAnError) {
  for (const WireMessage& message : Examples()) {
    std::vector<std::byte> bytes = EncodeMessage(message);
    bytes.resize(bytes.size() + 8);
    const auto claimed = static_cast<uint32_t>(bytes.size());
    std::memcpy(bytes.data(), &claimed, sizeof claimed);
    EXPECT_FALSE(Decodes(bytes));
  }
}

TEST(WireReaderTest, ValuesThatMeanNothingAreErrors) {
  const auto spoilt = [](const WireMessage& message, size_t offset, uint8_t value) {
    std::vector<std::byte> bytes = EncodeMessage(message);
    bytes.at(offset) = std::byte{value};
    return !Decodes(bytes);
  };
  RaceMessage race = Race();
  race.block.reset();
  const size_t access = sizeof(wire::MessageHeader) + sizeof(wire::Race);
  EXPECT_TRUE(spoilt(race, offsetof(wire::MessageHeader, version), 9));
  EXPECT_TRUE(spoilt(race, offsetof(wire::MessageHeader, type), 0));
  EXPECT_TRUE(spoilt(race, offsetof(wire::MessageHeader, type), 99));
  EXPECT_TRUE(spoilt(race, access + offsetof(wire::AccessHead, kind), 4));
  EXPECT_TRUE(spoilt(race, access + offsetof(wire::AccessHead, origin), 4));
  EXPECT_TRUE(spoilt(race, access - sizeof(wire::Race) + offsetof(wire::Race, parts), 4));
  EXPECT_TRUE(spoilt(race, access - sizeof(wire::Race) + offsetof(wire::Race, access_count), 0));
  EXPECT_TRUE(spoilt(Race(), access + offsetof(wire::Block, place), 7));
  EXPECT_TRUE(spoilt(OnStack(), access + offsetof(wire::Block, has_calls), 2));
  const size_t calls = access + sizeof(wire::Block);
  EXPECT_TRUE(
      spoilt(OnStack(), calls + offsetof(wire::Calls, slot_count), 1));  // the others are taken for something else
  EXPECT_TRUE(spoilt(OnStack(), calls + offsetof(wire::Calls, return_count), 255));
  const size_t owners = EncodeMessage(Race()).size() - 3 * sizeof(wire::Owner);
  EXPECT_TRUE(spoilt(Race(), owners + offsetof(wire::Owner, kind), 5));
  EXPECT_TRUE(spoilt(Race(), owners - sizeof(wire::Owners) + offsetof(wire::Owners, count), 9));
  const size_t end = owners - sizeof(wire::Owners);
  EXPECT_TRUE(spoilt(Race(), end - sizeof(wire::Weak) + offsetof(wire::Weak, store_order), 5));
  EXPECT_TRUE(spoilt(Race(), end - sizeof(wire::Weak) + offsetof(wire::Weak, load_order), 255));
  EXPECT_TRUE(spoilt(Race(), end - sizeof(wire::Weak) - sizeof(wire::Known) + offsetof(wire::Known, how), 8));
  EXPECT_TRUE(spoilt(ModuleMessage{.begin = 0, .end = 1, .bias = 0, .path = {}, .gone = false}, 8, 2));
}

TEST(WireReaderTest, MoreCallsThanTheFormatAllowsAreErrors) {
  EXPECT_TRUE(Decodes(EncodeMessage(OnStack(wire::kMaxSlots, wire::kMaxReturns))));
  EXPECT_TRUE(Decodes(EncodeMessage(OnStack(0, 0))));
  EXPECT_FALSE(Decodes(EncodeMessage(OnStack(wire::kMaxSlots + 1, 1))));
  EXPECT_FALSE(Decodes(EncodeMessage(OnStack(1, wire::kMaxReturns + 1))));
}

TEST(WireReaderTest, StacksDeeperThanTheFormatAllowsAreErrors) {
  RaceMessage race = Race();
  race.accesses[0].stack.frames.assign(wire::kMaxFrames, 1);
  EXPECT_TRUE(Decodes(EncodeMessage(race)));
  race.accesses[0].stack.frames.push_back(1);
  EXPECT_FALSE(Decodes(EncodeMessage(race)));
}

TEST(WireReaderTest, RandomFlipsNeverCrash) {
  std::mt19937_64 random(7);
  for (const WireMessage& message : Examples()) {
    const std::vector<std::byte> bytes = EncodeMessage(message);
    for (int round = 0; round < 20'000; ++round) {
      std::vector<std::byte> flipped = bytes;
      for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
        // The size is checked by the ring; leave it, so that more gets through to the rest.
        flipped[4 + random() % (flipped.size() - 4)] ^= static_cast<std::byte>(1u << (random() % 8));
      }
      const auto decoded = DecodeMessage(flipped);
      if (const auto* good = std::get_if<WireMessage>(&decoded)) {
        EXPECT_EQ(EncodeMessage(*good).size(), flipped.size());
      }
    }
  }
}

}  // namespace
}  // namespace redflag
