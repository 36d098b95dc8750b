// Counts the instructions of hot paths (hot_paths.h): run under callgrind, each path dumps its own count. tools/hot_paths.py runs it
// and compares the counts with bench/golden/.
//
//   valgrind --tool=callgrind --collect-atstart=no build/release/bench/hot_paths
#include "bench/hot_paths.h"

#include <utility>

#include "detectors/all.h"

namespace redflag::bench {
namespace {

constexpr uint64_t kData = 0x10'0000;
constexpr uint32_t kLock = 0;
constexpr uint32_t kSignal = 1;

Event Touch(EventKind kind, uint32_t thread, uint64_t word) {
  return Event::OnMemory(kind, Tid{thread}, Addr{kData + word * 8}, 8);
}
Event Sync(EventKind kind, uint32_t thread, uint32_t object) { return Event::OnObject(kind, Tid{thread}, object); }
Event Rmw(uint32_t thread) {
  return Event::OnMemory(EventKind::kAtomicRmw, Tid{thread}, Addr{kData}, 8, MemoryOrder::kAcqRel);
}

}  // namespace

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

#define REDFLAG_DETECTOR(Class, name) extern template void Count<Class<PlainMem>>();
#include "detectors/list.inc"
#undef REDFLAG_DETECTOR

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
