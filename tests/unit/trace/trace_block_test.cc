// The encoding of events/trace_block.h, both directions.
#include "events/trace_block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace redflag {
namespace {

struct Record {
  bool is_context = false;
  Event event{};
  uint64_t stamp = kNoStamp;
  uint32_t context = 0, caller = 0;
  uint64_t place = 0;
};

// Numbers of every length, the extremes often.
uint64_t AnyNumber(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return UINT64_MAX;
    case 2:
      return uint64_t{1} << (random() % 64);
    default:
      return random() >> (random() % 64);
  }
}

Record AnyRecord(std::mt19937_64& random, uint64_t& stamp) {
  Record record;
  if (random() % 10 == 0) {
    record.is_context = true;
    record.context = static_cast<uint32_t>(AnyNumber(random));
    record.caller = static_cast<uint32_t>(AnyNumber(random));
    record.place = AnyNumber(random);
    return record;
  }
  Event& event = record.event;
  event.kind = random() % 2 == 0 ? EventKind{static_cast<uint8_t>(random() % 2)}
                                 : EventKind{static_cast<uint8_t>(random() % kEventKindCount)};
  event.addr = Addr{AnyNumber(random)};
  event.position = PositionId{static_cast<uint32_t>(AnyNumber(random))};
  event.size = random() % 2 == 0 ? uint64_t{1} << (random() % 5) : AnyNumber(random);
  if (event.kind > EventKind::kWrite) {
    event.order = MemoryOrder{static_cast<uint8_t>(random() % 5)};
    event.mode = LockMode{static_cast<uint8_t>(random() % 2)};
    event.flag = EventFlag{static_cast<uint8_t>(random() % 3)};
    event.object = static_cast<uint32_t>(AnyNumber(random));
  }
  event.thread = Tid{7};
  if (random() % 3 == 0) {
    const uint64_t step = 1 + (AnyNumber(random) >> 8);
    if (step <= UINT64_MAX - stamp) record.stamp = stamp += step;
  }
  return record;
}

uint8_t* Put(BlockState& state, uint8_t* to, const Record& record) {
  if (record.is_context) return PutContext(to, record.context, record.caller, record.place);
  const Event& event = record.event;
  if (event.kind > EventKind::kWrite) return PutOther(state, to, event, record.stamp);
  return PutAccess(state, to, event.kind == EventKind::kWrite, Raw(event.addr), event.size, Raw(event.position),
                   record.stamp);
}

std::vector<uint8_t> Encode(const std::vector<Record>& records) {
  BlockState state{};
  std::vector<uint8_t> bytes;
  for (const Record& record : records) {
    uint8_t buffer[kMaxRecord];
    const uint8_t* const end = Put(state, buffer, record);
    EXPECT_LE(static_cast<size_t>(end - buffer), kMaxRecord);
    bytes.insert(bytes.end(), buffer, const_cast<uint8_t*>(end));
  }
  return bytes;
}

// Exactly as many bytes as there are, so that AddressSanitizer sees a step past them.
struct Exact {
  explicit Exact(const std::vector<uint8_t>& bytes, size_t count) : size(count), data(new uint8_t[count]) {
    if (count != 0) std::memcpy(data.get(), bytes.data(), count);
  }
  size_t size;
  std::unique_ptr<uint8_t[]> data;
};

bool SameBytes(const Event& a, const Event& b) { return std::memcmp(&a, &b, sizeof(Event)) == 0; }

TEST(TraceBlockTest, WhatIsPutIsRead) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    uint64_t stamp = 0;
    std::vector<Record> records;
    for (int i = 0; i < 200; ++i) records.push_back(AnyRecord(random, stamp));
    const std::vector<uint8_t> bytes = Encode(records);
    const Exact exact(bytes, bytes.size());
    BlockReader reader(exact.data.get(), exact.data.get() + exact.size, Tid{7});
    Event event{};
    for (const Record& record : records) {
      if (record.is_context) {
        ASSERT_EQ(reader.Next(event), BlockReader::Item::kContext);
        EXPECT_EQ(reader.context, record.context);
        EXPECT_EQ(reader.caller, record.caller);
        EXPECT_EQ(reader.place, record.place);
      } else {
        ASSERT_EQ(reader.Next(event), BlockReader::Item::kEvent);
        EXPECT_TRUE(SameBytes(event, record.event)) << "seed " << seed << " kind " << int{Raw(record.event.kind)};
        EXPECT_EQ(reader.stamp, record.stamp);
      }
    }
    EXPECT_EQ(reader.Next(event), BlockReader::Item::kEnd);
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.Next(event), BlockReader::Item::kEnd);
  }
}

TEST(TraceBlockTest, AnAccessThatRepeatsTakesOneByte) {
  BlockState state{};
  uint8_t buffer[4 * kMaxRecord];
  uint8_t* at = PutAccess(state, buffer, false, 0x1000, 8, 5, kNoStamp);
  at = PutAccess(state, at, false, 0x1000, 8, 5, kNoStamp);
  EXPECT_EQ(PutAccess(state, at, false, 0x1000, 8, 5, kNoStamp) - at, 1);
}

TEST(TraceBlockTest, BytesThatBreakOffAreNeverReadPast) {
  std::mt19937_64 random(1);
  uint64_t stamp = 0;
  std::vector<Record> records;
  for (int i = 0; i < 60; ++i) records.push_back(AnyRecord(random, stamp));
  const std::vector<uint8_t> bytes = Encode(records);
  for (size_t length = 0; length <= bytes.size(); ++length) {
    const Exact exact(bytes, length);
    BlockReader reader(exact.data.get(), exact.data.get() + length, Tid{7});
    Event event{};
    size_t items = 0;
    while (reader.Next(event) != BlockReader::Item::kEnd) ++items;
    EXPECT_LE(items, records.size());
  }
}

TEST(TraceBlockTest, AnyBytesAreReadToAnEnd) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<uint8_t> bytes(random() % 100);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const Exact exact(bytes, bytes.size());
    BlockReader reader(exact.data.get(), exact.data.get() + exact.size, Tid{7});
    Event event{};
    size_t items = 0;
    while (reader.Next(event) != BlockReader::Item::kEnd) {
      ++items;
      ASSERT_LT(Raw(event.kind), kEventKindCount);
    }
    EXPECT_LE(items, bytes.size());
  }
}

TEST(TraceBlockTest, WhatIsNoRecordIsAFault) {
  const std::vector<std::vector<uint8_t>> faults = {
      {0x80 | 2, 0, 0},                                                                // an unknown bit
      {2, kEventKindCount, 0},                                                         // an unknown kind
      {2, 2, 5},                                                                       // an unknown order
      {6 << 2 | 0x40 | 0x80},                                                          // an unknown size
      {0x20 | 0xc0, 0},                                                                // a stamp that does not go on
      {7, 1, 1, 1},                                                                    // an unknown bit of a context
      {3, 0xff, 0xff, 0xff, 0xff, 0x1f, 1, 1},                                         // a number of more than 32 bits
      {3, 1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},  // a number without an end
  };
  for (const auto& bytes : faults) {
    BlockReader reader(bytes.data(), bytes.data() + bytes.size(), Tid{0});
    Event event{};
    EXPECT_EQ(reader.Next(event), BlockReader::Item::kEnd);
    EXPECT_FALSE(reader.ok());
  }
}

}  // namespace
}  // namespace redflag
