// The paths that decide how fast a detector is, one at a time, for counting instructions: run under callgrind, each path
// dumps its own count. tools/hot_paths.py runs it and compares the counts with bench/golden/.
//
//   valgrind --tool=callgrind --collect-atstart=no build/release/bench/hot_paths
#include <valgrind/callgrind.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/mem.h"
#include "detectors/all.h"
#include "events/event.h"
#include "offline/replay.h"

namespace redflag::bench {
namespace {

constexpr uint64_t kData = 0x10'0000;
constexpr uint32_t kLock = 0;
constexpr uint32_t kSignal = 1;

// Events that are played again and again. What a path costs is given for each of its `operations`.
struct Path {
  const char* name;
  std::vector<Event> round;
  uint64_t operations;
};

Event Touch(EventKind kind, uint32_t thread, uint64_t word) {
  return Event::OnMemory(kind, Tid{thread}, Addr{kData + word * 8}, 8);
}
Event Sync(EventKind kind, uint32_t thread, uint32_t object) { return Event::OnObject(kind, Tid{thread}, object); }
Event Rmw(uint32_t thread) {
  return Event::OnMemory(EventKind::kAtomicRmw, Tid{thread}, Addr{kData}, 8, MemoryOrder::kAcqRel);
}

// Threads 0 to 3 are there from the start. Thread 0 signals to begin a new segment.
std::vector<Path> Paths() {
  std::vector<Path> paths;
  const auto add = [&](const char* name, std::vector<Event> round, uint64_t operations) {
    paths.push_back({name, std::move(round), operations});
  };

  std::vector<Event> hit;
  for (uint64_t i = 0; i < 64; ++i) hit.push_back(Touch(EventKind::kRead, 0, i));
  add("access hit", hit, 64);

  std::vector<Event> miss = {Sync(EventKind::kSignal, 0, kSignal)};
  for (uint64_t i = 0; i < 64; ++i) miss.push_back(Touch(EventKind::kWrite, 0, i));
  add("access miss", miss, 64);

  std::vector<Event> shared;
  for (uint32_t t = 0; t < 4; ++t) {
    shared.push_back(Sync(EventKind::kSignal, t, kSignal + t));
    for (uint64_t i = 0; i < 64; ++i) shared.push_back(Touch(EventKind::kRead, t, i));
  }
  add("shared read", shared, 256);

  std::vector<Event> ping_pong;
  for (uint32_t t = 0; t < 2; ++t) {
    ping_pong.push_back(Sync(EventKind::kLock, t, kLock));
    ping_pong.push_back(Touch(EventKind::kWrite, t, 0));
    ping_pong.push_back(Sync(EventKind::kUnlock, t, kLock));
  }
  add("ping-pong write under a lock", ping_pong, 2);

  add("lock and unlock", {Sync(EventKind::kLock, 0, kLock), Sync(EventKind::kUnlock, 0, kLock)}, 1);
  add("atomic read-modify-write", {Rmw(0), Rmw(1)}, 2);
  return paths;
}

template <class D>
void Count() {
  constexpr int kRounds = 200;
  for (const Path& path : Paths()) {
    Replay<D> replay({Tid{0}, Tid{1}, Tid{2}, Tid{3}});
    uint64_t index = 0;
    const auto play = [&](int rounds) {
      for (int i = 0; i < rounds; ++i) {
        for (const Event& event : path.round) replay.Step(event, index++);
      }
    };
    play(kRounds);  // tables have grown to their size
    CALLGRIND_ZERO_STATS;
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_TOGGLE_COLLECT;
    play(kRounds);
    CALLGRIND_TOGGLE_COLLECT;
    const std::string name = std::string(D::kName) + "/" + path.name + "/" + std::to_string(path.operations * kRounds);
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    if (!replay.races().empty()) std::printf("%s: %zu races where none is\n", name.c_str(), replay.races().size());
  }
}

}  // namespace
}  // namespace redflag::bench

int main() {
  if (RUNNING_ON_VALGRIND == 0) {
    std::fputs("hot_paths: counts nothing unless run under callgrind (tools/hot_paths.py does)\n", stderr);
    return 2;
  }
#define REDFLAG_DETECTOR(Class, name) redflag::bench::Count<redflag::Class<redflag::PlainMem>>();
#include "detectors/list.inc"
#undef REDFLAG_DETECTOR
  return 0;
}
