// The cell of shared memory (clocks/packed_cell.h), as the runtime uses it where several threads change it at once: no schedule of two or three
// threads loses a race, or invents one.
//
// Threads here never order each other, but are all ordered after what is in the cell at first. So a byte has a race exactly if two of them
// access it, one writes, and not both are atomic: then at least one of them has to be told.
//
//   cells [PREEMPTIONS]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "clocks/opened_packed_cell.h"
#include "detectors/hb.h"
#include "explorer.h"

namespace redflag {
namespace {

using Detector = Hb<AtomicMem, PackedCell>;
using Cell = Detector::Cell;

constexpr AccessKind R = AccessKind::kRead, W = AccessKind::kWrite, AR = AccessKind::kAtomicRead,
                     AW = AccessKind::kAtomicWrite;

struct Step {
  AccessKind kind;
  unsigned bytes;
  bool at_new_time = false;  // the thread has released something before
};
using Script = std::vector<Step>;

struct Scenario {
  const char* name;
  std::vector<Script> before;  // each of a thread of its own, ended by now
  std::vector<Script> threads;
};

const Scenario kScenarios[] = {
    {"two writes", {}, {{{W, 0xff}}, {{W, 0xff}}}},
    {"write and read", {}, {{{W, 0xff}}, {{R, 0xff}}}},
    {"two reads", {}, {{{R, 0xff}}, {{R, 0xff}}}},
    {"halves of a granule", {}, {{{W, 0x0f}, {R, 0x0f}}, {{W, 0xf0}, {R, 0xf0}}}},
    {"bytes of a granule", {}, {{{W, 0x01}, {W, 0x02}}, {{W, 0x04}, {W, 0x02}}}},
    {"read twice, and a write", {}, {{{R, 0xff}, {R, 0xff, true}}, {{W, 0x10}}}},
    {"over what was written", {{{W, 0xff}}}, {{{R, 0xff}}, {{R, 0x0f}, {W, 0x01}}}},
    {"over a record", {{{W, 0x0f}}, {{W, 0xf0}}, {{R, 0x3c}}}, {{{R, 0xff}}, {{W, 0x80}}}},
    {"readers of a record",
     {{{R, 0x0f}}, {{R, 0xf0}}, {{R, 0xff}}},
     {{{R, 0xff}, {R, 0xff, true}}, {{R, 0xff}, {R, 0x0f, true}}}},
    {"a reader of a record is renewed", {{{R, 0x0f}}, {{R, 0xf0}}}, {{{R, 0xff}, {R, 0xff, true}}, {{W, 0xff}}}},
    {"renewed twice",
     {{{R, 0xff}}, {{W, 0x03}}},
     {{{R, 0xff}, {R, 0xff, true}, {R, 0xff, true}}, {{R, 0xff}, {W, 0x01}}}},
    {"a write is renewed", {}, {{{W, 0xff}, {W, 0xff, true}}, {{R, 0xff}}}},
    {"a read is renewed", {{{W, 0xff}}}, {{{R, 0xff}, {R, 0xff, true}}, {{W, 0x80}}}},
    {"a field is renewed beside another",
     {},
     {{{W, 0x0f}, {W, 0x0f, true}, {R, 0x0f, true}}, {{R, 0xf0}, {R, 0xf0, true}, {R, 0x01}}}},
    {"renewed beside an atomic", {}, {{{R, 0xff}, {R, 0xff, true}}, {{AW, 0xff}}}},
    {"atomic writes", {}, {{{AW, 0xff}, {AR, 0xff}}, {{AW, 0xff}, {AR, 0xff}}}},
    {"atomic and plain", {}, {{{AW, 0x0f}, {AR, 0x0f}}, {{R, 0x01}}}},
    {"atomic in a record", {{{AW, 0xff}}, {{AW, 0xff}}, {{AR, 0xff}}}, {{{AW, 0xff}}, {{R, 0xff}}}},
    {"raced already", {{{W, 0xff}}}, {{{W, 0x01}, {W, 0x02}}, {{W, 0x01}, {R, 0x02}}}},
    {"three readers", {{{W, 0xff}}}, {{{R, 0xff}}, {{R, 0x0f}}, {{R, 0xf0}}}},
    {"three, one writes", {}, {{{R, 0xff}}, {{R, 0x0f}}, {{W, 0x01}}}},
};

class World {
 public:
  World() {
    for (uint32_t i = 0; i < kThreads; ++i) threads_[i] = std::make_unique<Detector::Thread>(detector_, Tid{i});
    detector_.OnStart(*threads_[0]);
    // The earlier ones are known to the main thread, and so to whom it creates then.
    for (uint32_t i = kFirstEarlier; i < kThreads; ++i) {
      detector_.OnFork(*threads_[0], *threads_[i]);
      earlier_[i] = threads_[i]->clock.epoch();
      detector_.OnEnd(*threads_[i]);
      detector_.OnJoin(*threads_[0], *threads_[i]);
    }
    for (uint32_t i = 1; i < kFirstEarlier; ++i) detector_.OnFork(*threads_[0], *threads_[i]);
  }

  void Begin(const Scenario& scenario) {
    detector_.Forget(*cell());
    std::memset(cell_, 0, sizeof cell_);
    raced_ = 0;
    for (size_t i = 0; i < scenario.before.size(); ++i) {
      for (const auto& step : scenario.before[i]) {
        const HistoryEntry entry{.epoch = earlier_[kFirstEarlier + i],
                                 .context = ContextId{static_cast<uint32_t>(i) + 1},
                                 .bytes = ByteMask{static_cast<uint8_t>(step.bytes)},
                                 .kind = step.kind};
        Cell::Opened(*cell()).Record(arena_, Nothing{}, entry);
      }
    }
  }

  // As abi_access.cc and Runtime::AccessCell do it in memory that several threads share.
  void Run(const Script& script, uint32_t number) {
    Detector::Thread& t = *threads_[number];
    uint32_t context = number * 16;
    for (const Step& step : script) {
      if (step.at_new_time) t.clock.Tick();
      Do(t, step.kind, ByteMask{static_cast<uint8_t>(step.bytes)}, ContextId{++context});
    }
  }

  bool IsRight(const Scenario& scenario) const {
    uint8_t expected = 0;
    for (size_t i = 0; i < scenario.threads.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        for (const Step& a : scenario.threads[i]) {
          for (const Step& b : scenario.threads[j]) {
            if (Conflicts(a.kind, b.kind)) expected |= static_cast<uint8_t>(a.bytes & b.bytes);
          }
        }
      }
    }
    return raced_ == expected;
  }
  uint8_t raced() const { return raced_; }
  interleave::Shared range() const {
    const auto begin = reinterpret_cast<uint64_t>(cell_);
    return {.begin = begin, .end = begin + sizeof cell_};
  }
  uint64_t times() const { return Raw(TimeOf(threads_[1]->clock.epoch())); }

 private:
  static constexpr uint32_t kFirstEarlier = 4, kThreads = 8;
  // Whoever puts the cell into its first state: knows nothing, so that nothing is taken away.
  struct Nothing {
    static bool Knows(Slot, Time) { return false; }
  };

  Cell* cell() { return reinterpret_cast<Cell*>(cell_); }

  void Do(Detector::Thread& t, AccessKind kind, ByteMask bytes, ContextId context) {
    const PackedAccess mine(t.clock.epoch(), kind, bytes, context);
    Cell& at = *cell();
    if (at.Covers(mine)) return;
    if (!IsAtomic(kind)) {
      const Cell::Words words = at.Load();
      const Renewed which =
          kind == W ? RenewedBy<AccessKind::kWrite>(mine, words) : RenewedBy<AccessKind::kRead>(mine, words);
      if (which != Renewed::kNone && at.Renews(words, which, mine, false)) return;
    }
    if (kind == R && at.RecordsQuickly<AccessKind::kRead>(t.clock, mine, false)) return;
    if (kind == W && at.RecordsQuickly<AccessKind::kWrite>(t.clock, mine, false)) return;
    if (!IsWrite(kind) && at.Refresh(t.clock, mine, false)) return;
    const auto mix = [](ContextId, ContextId fresh, ByteMask) { return fresh; };
    if (detector_.TakesShortcut(t, at, mine, mix, false)) return;
    RaceRecord record;
    const Access access{.granule = Addr{0x1000}, .bytes = bytes, .kind = kind, .context = context};
    raced_ |= Raw(detector_.OnAccess(t, at, access, record));
  }

  alignas(16) unsigned char cell_[sizeof(Cell)] = {};
  Arena<AtomicMem> arena_;
  Detector detector_;
  std::unique_ptr<Detector::Thread> threads_[kThreads];
  Epoch earlier_[kThreads] = {};
  uint8_t raced_ = 0;
};

int Main(int preemptions) {
  // Where base/arena.h has its memory: records, and clocks, which nobody else changes.
  constexpr interleave::Shared kArena{.begin = 0x4000'0000'0000, .end = 0x5000'0000'0000};
  uint64_t total = 0;
  for (const Scenario& scenario : kScenarios) {
    auto world = std::make_unique<World>();
    interleave::Plan plan;
    plan.preemptions = preemptions;
    plan.shared = {world->range(), kArena};
    plan.begin = [&] { world->Begin(scenario); };
    for (uint32_t i = 0; i < scenario.threads.size(); ++i) {
      plan.threads.emplace_back([&, i] { world->Run(scenario.threads[i], i + 1); });
    }
    plan.is_right = [&] { return world->IsRight(scenario); };
    const interleave::Outcome outcome = interleave::Explore(plan);
    total += outcome.schedules;
    if (!interleave::Tell(scenario.name, outcome)) {
      std::printf("raced on %#x\n", world->raced());
      return 1;
    }
  }
  std::printf("%llu schedules with up to %d preemptions: no race was lost, and none invented\n",
              static_cast<unsigned long long>(total), preemptions);
  return 0;
}

}  // namespace
}  // namespace redflag

int main(int argc, char** argv) { return redflag::Main(argc > 1 ? std::atoi(argv[1]) : 2); }
