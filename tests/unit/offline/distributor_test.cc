#include "offline/distributor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "trace/trace.h"

namespace redflag {
namespace {

constexpr uint32_t kShards = 3;

// What each shard is dealt, as places in the trace.
std::vector<std::vector<uint64_t>> DealtOut(const Trace& trace, Distributor::Dealing dealing) {
  const TraceSource source(trace);
  Distributor distributor(source, kShards, dealing, {});
  std::vector<std::vector<uint64_t>> dealt(kShards);
  std::vector<std::thread> threads;
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    threads.emplace_back([&, shard] {
      while (const ShardBatch* batch = distributor.Next(shard)) {
        for (size_t i = 0; i < batch->events.size(); ++i) {
          EXPECT_EQ(batch->events[i].addr, trace.events[batch->indices[i]].addr);
          dealt[shard].push_back(batch->indices[i]);
        }
      }
      EXPECT_EQ(distributor.event_count(), trace.events.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return dealt;
}

Event Read(uint64_t addr, uint64_t size = 8) { return Event::OnMemory(EventKind::kRead, Tid{1}, Addr{addr}, size); }

// More than all batches together hold, so that the reader has to wait.
Trace ManyReads() {
  Trace trace;
  for (uint64_t i = 0; i < 300'000; ++i) trace.events.push_back(Read(i % 1000 * 64));
  return trace;
}

TEST(Distributor, AnAccessGoesToItsOwnerInOrder) {
  const Trace trace = ManyReads();
  const auto dealt = DealtOut(trace, Distributor::Dealing::kToOwners);
  size_t total = 0;
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(std::ranges::is_sorted(dealt[shard]));
    total += dealt[shard].size();
    const Shard owner{.index = shard, .count = kShards};
    EXPECT_TRUE(std::ranges::all_of(dealt[shard], [&](uint64_t i) { return owner.Owns(trace.events[i].addr); }));
  }
  EXPECT_EQ(total, trace.events.size());
}

TEST(Distributor, WhatConcernsSeveralGoesToAll) {
  Trace trace;
  for (uint64_t line = 1; line < 100; ++line) trace.events.push_back(Read(line * 64 - 4));
  trace.events.push_back(Event::OnObject(EventKind::kLock, Tid{1}, 7));
  for (const auto& each : DealtOut(trace, Distributor::Dealing::kToOwners)) EXPECT_EQ(each.size(), 100u);
}

TEST(Distributor, AccessesToPublishedMemorySynchronizeAndGoToAll) {
  Trace trace;
  trace.events.push_back(Event::OnMemory(EventKind::kPublish, Tid{1}, Addr{64}, 8));
  for (int i = 0; i < 10; ++i) trace.events.push_back(Read(64));
  for (const auto& each : DealtOut(trace, Distributor::Dealing::kToOwners)) EXPECT_EQ(each.size(), 11u);
}

TEST(Distributor, EverythingGoesToAllIfThatIsAskedFor) {
  const Trace trace = ManyReads();
  for (const auto& each : DealtOut(trace, Distributor::Dealing::kToAll)) EXPECT_EQ(each.size(), trace.events.size());
}

TEST(Distributor, WhoLeavesHoldsNobodyUp) {
  const Trace trace = ManyReads();
  const TraceSource source(trace);
  Distributor distributor(source, 2, Distributor::Dealing::kToAll, {});
  EXPECT_NE(distributor.Next(0), nullptr);
  distributor.Leave(0);
  size_t seen = 0;
  while (const ShardBatch* batch = distributor.Next(1)) seen += batch->events.size();
  EXPECT_EQ(seen, trace.events.size());
}

TEST(Distributor, AllMayLeaveAtOnce) {
  const Trace trace = ManyReads();
  const TraceSource source(trace);
  Distributor distributor(source, 2, Distributor::Dealing::kToAll, {});
  EXPECT_NE(distributor.Next(1), nullptr);
}

}  // namespace
}  // namespace redflag
