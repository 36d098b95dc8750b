#include "trace/binary_trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/trace/binary_fixture.h"
#include "trace/event_blocks.h"

namespace redflag {
namespace {

struct Stamped {
  Event event;
  uint64_t stamp = kNoStamp;
};
using Threads = std::vector<std::vector<Stamped>>;  // by Tid

bool SameEvents(const std::vector<Event>& a, const std::vector<Event>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Event)) == 0);
}

class BinaryTraceTest : public BinaryTest {
 protected:
  struct Outcome {
    std::string problem;  // of Open or of the stream
    std::vector<Event> events;
    std::vector<RecordedContext> contexts;
    std::string left_out;
  };

  static Outcome Read(const std::string& path, bool partial = false) {
    Outcome outcome;
    auto opened = BinaryTrace::Open(path, {.partial = partial});
    if (auto* problem = std::get_if<std::string>(&opened)) {
      EXPECT_NE(*problem, "");
      outcome.problem = *problem;
      return outcome;
    }
    const BinaryTrace& trace = *std::get<std::unique_ptr<BinaryTrace>>(opened);
    const auto stream = trace.Open();
    for (auto events = stream->Next(); !events.empty(); events = stream->Next()) {
      outcome.events.insert(outcome.events.end(), events.begin(), events.end());
    }
    EXPECT_TRUE(stream->Next().empty());
    outcome.problem = stream->error();
    if (outcome.problem.empty()) {
      EXPECT_LE(outcome.events.size(), trace.event_count());
    }
    outcome.contexts = stream->contexts();
    outcome.left_out = trace.left_out();
    return outcome;
  }

  // What a file with these blocks gives.
  Outcome ReadOf(const std::function<void(EventBlocks&, BinaryWriter&)>& fill) {
    const std::string path = Path("trace");
    {
      const auto writer = Create(path);
      EventBlocks blocks(*writer);
      fill(blocks, *writer);
      EXPECT_TRUE(blocks.Flush());
      EXPECT_TRUE(writer->Finish("done"));
    }
    return Read(path);
  }
  std::string ProblemOf(const Event& event) {
    return ReadOf([&](EventBlocks& blocks, BinaryWriter&) { blocks.Add(event, 1); }).problem;
  }
};

Event Access(uint32_t thread, uint64_t addr, uint32_t context = 1) {
  Event event = Event::OnMemory(EventKind::kRead, Tid{thread}, Addr{addr}, 8);
  event.position = PositionId{context};
  return event;
}

// Threads whose events are mostly accesses without a stamp; each address says which event it is.
Threads RandomThreads(std::mt19937_64& random, size_t events) {
  Threads threads(1 + random() % 6);
  uint64_t stamp = 0;
  for (size_t i = 0; i < events; ++i) {
    const auto thread = static_cast<uint32_t>(random() % threads.size());
    const bool has_stamp = threads[thread].empty() || random() % 4 == 0;
    stamp += 1 + random() % 3 * (random() % 100);
    Event event = Access(thread, 0x1000 + i * 8, static_cast<uint32_t>(random() % 50));
    if (has_stamp && random() % 2 == 0)
      event = Event::OnObject(EventKind::kSignal, Tid{thread}, static_cast<uint32_t>(random() % 100));
    threads[thread].push_back({event, has_stamp ? stamp : kNoStamp});
  }
  return threads;
}

// The rule, word by word.
std::vector<Event> NaiveMerge(const Threads& threads, uint64_t horizon = UINT64_MAX) {
  std::vector<size_t> next(threads.size());
  std::vector<Event> merged;
  for (;;) {
    size_t best = threads.size();
    for (size_t i = 0; i < threads.size(); ++i) {
      if (next[i] == threads[i].size()) continue;
      if (best == threads.size() || threads[i][next[i]].stamp < threads[best][next[best]].stamp) best = i;
    }
    if (best == threads.size() || threads[best][next[best]].stamp > horizon) return merged;
    const auto& thread = threads[best];
    size_t& at = next[best];
    do merged.push_back(thread[at++].event);
    while (at < thread.size() && thread[at].stamp == kNoStamp);
  }
}

TEST_F(BinaryTraceTest, ThreadsAreMergedByTheirStamps) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    const size_t size = seed % 10 == 0 ? 30'000 : random() % 300 + 1;
    const Threads threads = RandomThreads(random, size);
    const Outcome outcome = ReadOf([&](EventBlocks& blocks, BinaryWriter&) {
      std::vector<size_t> next(threads.size());
      for (size_t written = 0; written < size;) {
        const size_t thread = random() % threads.size();
        if (next[thread] == threads[thread].size()) continue;
        const Stamped& each = threads[thread][next[thread]++];
        ASSERT_TRUE(blocks.Add(each.event, each.stamp));
        if (random() % 40 == 0) blocks.Flush();
        ++written;
      }
    });
    ASSERT_EQ(outcome.problem, "") << "seed " << seed;
    ASSERT_TRUE(SameEvents(outcome.events, NaiveMerge(threads))) << "seed " << seed;
  }
}

TEST_F(BinaryTraceTest, ContextsAreDefinedByWhoeverUsesThemFirst) {
  const Outcome outcome = ReadOf([](EventBlocks& blocks, BinaryWriter&) {
    blocks.AddContext(Tid{5}, 7, 0, 0x77);  // a thread that does nothing else
    blocks.Add(Access(0, 0x1000, 2), 1);
    blocks.AddContext(Tid{1}, 2, 1, 0x22);
    blocks.AddContext(Tid{1}, 1, 0, 0x11);
    blocks.Add(Access(1, 0x1000, 2), 2);
  });
  ASSERT_EQ(outcome.problem, "");
  ASSERT_EQ(outcome.contexts.size(), 8u);
  EXPECT_EQ(outcome.contexts[2].place, 0x22u);
  EXPECT_EQ(outcome.contexts[2].caller, 1u);
  EXPECT_EQ(outcome.contexts[1].place, 0x11u);
  EXPECT_EQ(outcome.contexts[7].place, 0x77u);
  EXPECT_EQ(outcome.contexts[3].place, 0u);
}

TEST_F(BinaryTraceTest, MessagesAndTheEndingAreKept) {
  const std::string path = Path("trace");
  {
    const auto writer = Create(path);
    const std::string first = "one", second = "another";
    ASSERT_TRUE(writer->AddMessage(std::as_bytes(std::span(first))));
    ASSERT_TRUE(writer->AddMessage(std::as_bytes(std::span(second))));
    ASSERT_TRUE(writer->Finish("killed by signal 9"));
  }
  auto opened = BinaryTrace::Open(path, {});
  const BinaryTrace& trace = *std::get<std::unique_ptr<BinaryTrace>>(opened);
  ASSERT_EQ(trace.messages().size(), 2u);
  EXPECT_EQ(trace.messages()[1].size(), 7u);
  EXPECT_EQ(trace.ending(), "killed by signal 9");
  EXPECT_EQ(trace.left_out(), "");
  EXPECT_EQ(trace.name(), path);
  EXPECT_FALSE(trace.has_names());
  EXPECT_NE(std::get<std::string>(trace.Load()).find("without the names"), std::string::npos);
}

TEST_F(BinaryTraceTest, EventsThatCannotBeAreRefused) {
  using K = EventKind;
  const auto on_memory = [&](K kind, uint64_t addr, uint64_t size) {
    return ProblemOf(Event::OnMemory(kind, Tid{1}, Addr{addr}, size));
  };
  const auto on_object = [&](K kind, uint32_t object) { return ProblemOf(Event::OnObject(kind, Tid{1}, object)); };
  EXPECT_EQ(on_memory(K::kRead, 0x10, 1 << 28), "");
  EXPECT_NE(on_memory(K::kRead, 0x10, (1 << 28) + 1), "");
  EXPECT_NE(on_memory(K::kWrite, 0x10, 0), "");
  EXPECT_EQ(on_memory(K::kWrite, UINT64_MAX - 8, 8), "");
  EXPECT_NE(on_memory(K::kWrite, UINT64_MAX - 7, 8), "");
  EXPECT_EQ(on_memory(K::kAlloc, 0x10, uint64_t{1} << 40), "");
  EXPECT_NE(on_memory(K::kAlloc, 0x10, (uint64_t{1} << 40) + 1), "");
  EXPECT_NE(on_memory(K::kForget, 0x10, 0), "");
  EXPECT_EQ(on_memory(K::kAtomicLoad, 0x10, 16), "");
  for (const uint64_t size : {0, 3, 17, 32}) EXPECT_NE(on_memory(K::kAtomicLoad, 0x10, size), "") << size;
  EXPECT_EQ(on_memory(K::kTold, 0x10, 255), "");
  EXPECT_NE(on_memory(K::kTold, 0x10, 256), "");
  EXPECT_NE(on_memory(K::kTold, 0x10, 0), "");
  EXPECT_EQ(on_object(K::kLock, BinaryTrace::kMaxObject - 1), "");
  EXPECT_NE(on_object(K::kLock, BinaryTrace::kMaxObject), "");
  EXPECT_EQ(on_object(K::kThreadFork, kMaxRecordedThread - 1), "");
  EXPECT_NE(on_object(K::kThreadFork, kMaxRecordedThread), "");
  EXPECT_NE(on_object(K::kBarrierArrive, 1), "") << "no parties";
  Event far = Access(1, 0x10, BinaryTrace::kMaxContext);
  EXPECT_NE(ProblemOf(far), "");
  far.position = kNoPosition;
  EXPECT_EQ(ProblemOf(far), "");
  Event flagged = Event::OnObject(K::kLock, Tid{1}, 1);
  flagged.flag = EventFlag::kNotify;
  EXPECT_NE(ProblemOf(flagged), "");
  // Accesses have a short form, and may come in the long one.
  uint8_t record[kMaxRecord];
  BlockState state{};
  flagged.kind = K::kRead;
  flagged.size = 8;
  const auto bytes = std::as_bytes(std::span<const uint8_t>(record, PutOther(state, record, flagged, 1)));
  EXPECT_NE(ReadOf([&](EventBlocks&, BinaryWriter& writer) { writer.AddEvents(Tid{1}, 1, 1, 1, bytes); }).problem, "");
  flagged.kind = K::kWait;
  EXPECT_EQ(ProblemOf(flagged), "");
}

TEST_F(BinaryTraceTest, StampsThatCannotBeAreRefused) {
  const auto problem = [&](const std::function<void(EventBlocks&, BinaryWriter&)>& fill) {
    return ReadOf(fill).problem;
  };
  EXPECT_NE(problem([](auto& blocks, auto&) { blocks.Add(Access(0, 0x10)); }).find("has no stamp"), std::string::npos);
  EXPECT_NE(problem([](auto& blocks, auto&) {
              blocks.Add(Access(0, 0x10), 5);
              blocks.Add(Access(1, 0x10), 5);
            }).find("another thread"),
            std::string::npos);
  EXPECT_NE(problem([](auto& blocks, auto&) {
              blocks.Add(Access(0, 0x10), 5);
              blocks.Flush();
              blocks.Add(Access(0, 0x10), 4);
            }).find("follows 5"),
            std::string::npos);
  // A header that promises a greater stamp than the block has would put it into the wrong place.
  uint8_t record[kMaxRecord];
  BlockState state{};
  const uint8_t* const end = PutAccess(state, record, false, 0x10, 8, 1, 3);
  const auto bytes = std::as_bytes(std::span<const uint8_t>(record, end));
  EXPECT_NE(problem([&](auto&, auto& writer) { writer.AddEvents(Tid{0}, 4, 4, 1, bytes); }), "");
  EXPECT_EQ(problem([&](auto&, auto& writer) { writer.AddEvents(Tid{0}, 2, 4, 1, bytes); }), "");
  EXPECT_NE(problem([&](auto&, auto& writer) { writer.AddEvents(Tid{0}, 3, 3, 0, bytes); }), "")
      << "more events than it says";
  EXPECT_NE(problem([&](auto&, auto& writer) { writer.AddEvents(Tid{kMaxRecordedThread}, 3, 3, 1, bytes); }), "");
}

TEST_F(BinaryTraceTest, ASmallFileDefinesNoContextFarAway) {
  EXPECT_NE(ReadOf([](auto& blocks, auto&) { blocks.AddContext(Tid{0}, BinaryTrace::kMaxContext - 1, 0, 1); }).problem,
            "");
  EXPECT_NE(ReadOf([](auto& blocks, auto&) { blocks.AddContext(Tid{0}, 0, 0, 1); }).problem, "");
}

// A small file that has every type of block, and what is in it up to a checkpoint.
class DamageTest : public BinaryTraceTest {
 protected:
  DamageTest() {
    std::mt19937_64 random(3);
    threads_ = RandomThreads(random, 40);
    const auto writer = Create(path_);
    EventBlocks blocks(*writer);
    std::vector<size_t> next(threads_.size());
    const std::string message = "message";
    // Everything up to a stamp, then a checkpoint, then more.
    for (const uint64_t until : {uint64_t{600}, uint64_t{1200}, UINT64_MAX}) {
      for (size_t i = 0; i < threads_.size(); ++i) {
        while (next[i] < threads_[i].size() &&
               (threads_[i][next[i]].stamp == kNoStamp || threads_[i][next[i]].stamp <= until)) {
          const Stamped& each = threads_[i][next[i]++];
          blocks.Add(each.event, each.stamp);
        }
      }
      blocks.Flush();
      writer->AddMessage(std::as_bytes(std::span(message)));
      if (until != UINT64_MAX) {
        writer->AddCheckpoint(until);
        checkpoints_.push_back({until, Contents(path_).size()});
      }
    }
    writer->Finish("done");
    bytes_ = Contents(path_);
  }

  ~DamageTest() override { close(memory_); }

  // What must be there if all blocks before `offset` are.
  std::vector<Event> Consistent(size_t offset) const {
    uint64_t horizon = 0;
    for (const auto& [stamp, end] : checkpoints_) {
      if (end <= offset) horizon = stamp;
    }
    return NaiveMerge(threads_, horizon);
  }

  const std::string path_ = Path("whole");
  const int memory_ = memfd_create("damaged", MFD_CLOEXEC);  // there are thousands of files to write
  const std::string damaged_ = fmt::format("/proc/self/fd/{}", memory_);
  Threads threads_;
  std::vector<std::pair<uint64_t, size_t>> checkpoints_;
  std::string bytes_;
};

TEST_F(DamageTest, AFileThatBreaksOffAnywhereIsRefusedOrReadAsFarAsItIsConsistent) {
  // What comes after the last checkpoint may lack what it depends on.
  ASSERT_TRUE(SameEvents(Read(path_).events, Consistent(bytes_.size())));
  ASSERT_LT(Consistent(bytes_.size()).size(), 40u);
  ASSERT_GT(Consistent(checkpoints_[0].second).size(), 5u);
  for (size_t length = 0; length < bytes_.size(); ++length) {
    Put(damaged_, bytes_.substr(0, length));
    const Outcome refused = Read(damaged_);
    ASSERT_NE(refused.problem, "") << length;
    ASSERT_TRUE(refused.events.empty()) << length;
    const Outcome partial = Read(damaged_, true);
    if (length < kFileHeaderBytes) {
      ASSERT_NE(partial.problem, "") << length;
      continue;
    }
    ASSERT_NE(refused.problem.find("--partial"), std::string::npos) << refused.problem;
    ASSERT_EQ(partial.problem, "") << length;
    ASSERT_NE(partial.left_out, "") << length;
    ASSERT_TRUE(SameEvents(partial.events, Consistent(length))) << length;
  }
}

TEST_F(DamageTest, EveryBitCounts) {
  const std::vector<Event> whole = NaiveMerge(threads_);
  for (size_t bit = 0; bit < bytes_.size() * 8; ++bit) {
    std::string bytes = bytes_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    Put(damaged_, bytes);
    const Outcome outcome = Read(damaged_);
    ASSERT_NE(outcome.problem, "") << "bit " << bit;
    ASSERT_LE(outcome.events.size(), whole.size());
    if (bit % 5 != 0 || bit / 8 < kFileHeaderBytes) continue;
    const Outcome partial = Read(damaged_, true);
    ASSERT_EQ(partial.problem, "") << "bit " << bit;
    // Damage is in the block that the byte is in: what counts are the checkpoints before that.
    ASSERT_TRUE(SameEvents(partial.events, Consistent(bit / 8))) << "bit " << bit;
  }
}

TEST_F(DamageTest, MessagesNameThePlace) {
  Put(damaged_, bytes_.substr(0, checkpoints_[0].second));
  EXPECT_EQ(Read(damaged_).problem, fmt::format("{}: breaks off at byte {}: the file ends without the block that ends "
                                                "a trace. There are {} whole blocks before "
                                                "that: --partial reads what is consistent of them",
                                                damaged_, checkpoints_[0].second, threads_.size() + 2));
  Put(damaged_, bytes_ + "x");
  EXPECT_NE(Read(damaged_).problem.find("bytes after the end"), std::string::npos);
  std::string bytes = bytes_;
  bytes[kFileHeaderBytes + kBlockHeaderBytes] ^= 1;
  Put(damaged_, bytes);
  EXPECT_NE(Read(damaged_).problem.find("damaged at byte 32, in a block of thread"), std::string::npos)
      << Read(damaged_).problem;
}

TEST_F(DamageTest, ABlockThatIsMissingIsNoticed) {
  const size_t first = kFileHeaderBytes;
  const auto stored = static_cast<uint8_t>(bytes_[first + 36]) + size_t{static_cast<uint8_t>(bytes_[first + 37])} * 256;
  std::string bytes = bytes_;
  bytes.erase(first, kBlockHeaderBytes + stored);
  Put(damaged_, bytes);
  EXPECT_NE(Read(damaged_).problem.find("block 1 where block 0 was expected"), std::string::npos)
      << Read(damaged_).problem;
}

// Events of two threads, most of them accesses; and what they come to for each of some shards, by the rule as it is told.
TEST_F(BinaryTraceTest, APartHasWhatItsShardOwnsAndAllThatIsNoAccess) {
  constexpr uint32_t kShards = 3;
  for (const bool has_published : {false, true}) {
    const std::string path = Path(has_published ? "published" : "trace");
    {
      const auto writer = Create(path);
      EventBlocks blocks(*writer);
      std::mt19937_64 random(7);
      for (uint64_t i = 1; i <= 40'000; ++i) {
        Event event = Access(static_cast<uint32_t>(i / 100 % 2), 0x1000 + random() % 4096);
        event.size = uint64_t{1} << random() % 4;
        if (i % 50 == 0) event = Event::OnObject(EventKind::kLock, event.thread, 7);
        if (has_published && i == 20'000) event = Event::OnMemory(EventKind::kPublish, event.thread, Addr{0x1000}, 64);
        ASSERT_TRUE(blocks.Add(event, i % 100 <= 1 ? i : kNoStamp));
      }
      ASSERT_TRUE(blocks.Flush());
      ASSERT_TRUE(writer->Finish("done"));
    }
    auto opened = BinaryTrace::Open(path, {});
    const BinaryTrace& trace = *std::get<std::unique_ptr<BinaryTrace>>(opened);
    const std::vector<Event> all = Read(path).events;
    ASSERT_EQ(all.size(), 40'000u);
    for (uint32_t index = 0; index < kShards; ++index) {
      const Shard shard{.index = index, .count = kShards};
      std::vector<uint64_t> expected;
      bool is_published = false;
      for (size_t i = 0; i < all.size(); ++i) {
        is_published = is_published || all[i].kind == EventKind::kPublish;
        const Addr last = all[i].addr + (all[i].size - 1);
        if (all[i].kind > EventKind::kWrite || is_published || shard.Owns(all[i].addr) || shard.Owns(last) ||
            Raw(all[i].addr) / kShardBytes != Raw(last) / kShardBytes) {
          expected.push_back(i);
        }
      }
      std::vector<uint64_t> found;
      const auto stream = trace.OpenPart(shard);
      for (auto events = stream->Next(); !events.empty(); events = stream->Next()) {
        ASSERT_EQ(stream->places().size(), events.size());
        for (size_t i = 0; i < events.size(); ++i) {
          found.push_back(stream->places()[i]);
          EXPECT_TRUE(SameEvents({events[i]}, {all[found.back()]}));
        }
      }
      EXPECT_EQ(found, expected);
      EXPECT_LT(found.size(), all.size());
      EXPECT_EQ(stream->passed(), all.size());
    }
  }
}

TEST_F(BinaryTraceTest, StreamsOfOneTraceAreIndependent) {
  std::mt19937_64 random(9);
  const Threads threads = RandomThreads(random, 20'000);
  ASSERT_EQ(ReadOf([&](EventBlocks& blocks, BinaryWriter&) {
              for (const auto& thread : threads) {
                for (const Stamped& each : thread) blocks.Add(each.event, each.stamp);
              }
            }).problem,
            "");
  auto opened = BinaryTrace::Open(Path("trace"), {});
  auto trace = std::get<std::unique_ptr<BinaryTrace>>(std::move(opened));
  const auto one = trace->Open();
  const auto other = trace->Open();
  trace.reset();  // streams keep what they need
  const std::vector<Event> wanted = NaiveMerge(threads);
  std::vector<Event> first, second;
  for (bool more = true; more;) {
    const auto a = one->Next();
    first.insert(first.end(), a.begin(), a.end());
    const auto b = other->Next();
    second.insert(second.end(), b.begin(), b.end());
    more = !a.empty() || !b.empty();
  }
  EXPECT_TRUE(SameEvents(first, wanted));
  EXPECT_TRUE(SameEvents(second, wanted));
}

}  // namespace
}  // namespace redflag
