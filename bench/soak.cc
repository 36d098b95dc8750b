// Does a detector's memory follow what is alive, or how long it runs? Plays a stream with threads that come and go and
// memory that is allocated and freed, for as many events as asked, and prints the state ten times on the way.
//
//   soak [--events N] [--detector NAME]
//
// Exit code 1 if a detector's state at the end is more than 10 % above what it was after a tenth of the run (plus what a
// thread that ever was may cost: 64 bytes).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/mem.h"
#include "bench/stream.h"
#include "detectors/all.h"
#include "offline/replay.h"

namespace redflag::bench {
namespace {

// One life of the program: a worker is created, does a turn on a block of its own, hands it over, and is joined.
std::vector<Event> Generation(uint32_t worker, uint64_t block) {
  std::vector<Event> events;
  const Tid main{0};
  const Tid tid{worker};
  const Addr addr{0x5000'0000 + block * 4096};
  events.push_back(Event::OnMemory(EventKind::kAlloc, main, addr, 256));
  events.push_back(Event::OnObject(EventKind::kThreadFork, main, worker));
  for (uint64_t i = 0; i < 32; ++i) events.push_back(Event::OnMemory(EventKind::kWrite, tid, addr + i * 8, 8));
  events.push_back(Event::OnMemory(EventKind::kAtomicRmw, tid, addr + 64, 8, MemoryOrder::kRelease));
  events.push_back(Event::OnMemory(EventKind::kTxWrite, tid, addr + 128, 8));
  events.push_back(Event::OnThread(EventKind::kTxCommit, tid));
  events.push_back(Event::OnThread(EventKind::kThreadEnd, tid));
  events.push_back(Event::OnObject(EventKind::kThreadJoin, main, worker));
  events.push_back(Event::OnMemory(EventKind::kFree, main, addr, 256));
  return events;
}

template <class D>
bool Soak(uint64_t total) {
  const Stream stream = MakeStream(16, 16);
  Replay<D> replay(stream.initial_threads);
  uint64_t index = 0;
  const auto step = [&](const Event& event) { replay.Step(event, static_cast<uint32_t>(index++)); };
  for (const Event& event : stream.warm_up) step(event);
  uint32_t worker = 16;
  size_t early = 0;
  for (int tenth = 1; tenth <= 10; ++tenth) {
    while (index < total / 10 * static_cast<uint64_t>(tenth)) {
      for (const Event& event : stream.round) step(event);
      for (uint64_t i = 0; i < 64; ++i) {
        for (const Event& event : Generation(worker++, i)) step(event);
      }
      replay.races().clear();
    }
    std::printf("%-11s %14llu events  %12zu bytes of state\n", D::kName, static_cast<unsigned long long>(index),
                replay.MemoryInUse());
    std::fflush(stdout);
    if (tenth == 1) early = replay.MemoryInUse();
  }
  const size_t allowed = early + early / 10 + size_t{worker} * 64;
  if (replay.MemoryInUse() <= allowed) return true;
  std::printf("%-11s grows with the length of the run\n", D::kName);
  return false;
}

int Main(int argc, char** argv) {
  uint64_t events = 20'000'000;
  std::string_view only;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--events") events = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--detector") only = argv[i + 1];
  }
  bool flat = true;
#define REDFLAG_DETECTOR(Class, name) \
  if (only.empty() || only == #name) flat &= Soak<Class<PlainMem>>(events);
#include "detectors/list.inc"
#undef REDFLAG_DETECTOR
  return flat ? 0 : 1;
}

}  // namespace
}  // namespace redflag::bench

int main(int argc, char** argv) { return redflag::bench::Main(argc, argv); }
