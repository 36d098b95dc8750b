// An endless stream of events, made once and played round and round: what a busy program looks like to a detector. Each
// thread works in turn: a critical section on data that its lock guards, reads of data that everybody reads, work on
// memory of its own, and now and then an atomic or a signal. No races, so detectors do their full work.
#pragma once

#include <cstdint>
#include <vector>

#include "events/event.h"

namespace redflag::bench {

struct Stream {
  std::vector<Tid> initial_threads;
  std::vector<Event> warm_up;  // once
  std::vector<Event> round;    // again and again
};

inline Stream MakeStream(uint32_t threads, uint32_t turns_per_thread = 4) {
  constexpr uint64_t kShared = 0x10'0000;  // guarded data, a block for each lock
  constexpr uint64_t kTable = 0x20'0000;   // read by all
  constexpr uint64_t kAtomic = 0x30'0000;
  constexpr uint64_t kPrivate = 0x4000'0000;
  constexpr uint32_t kLocks = 16;

  Stream stream;
  stream.initial_threads = {Tid{0}};
  for (uint64_t i = 0; i < 64; ++i) {
    stream.warm_up.push_back(Event::OnMemory(EventKind::kWrite, Tid{0}, Addr{kTable + i * 8}, 8));
  }
  for (uint32_t t = 1; t < threads; ++t) stream.warm_up.push_back(Event::OnObject(EventKind::kThreadFork, Tid{0}, t));

  uint64_t random = 1;
  const auto next = [&random](uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  for (uint32_t turn = 0; turn < turns_per_thread; ++turn) {
    for (uint32_t t = 0; t < threads; ++t) {
      const Tid tid{t};
      const auto lock = static_cast<uint32_t>(next(kLocks));
      const auto touch = [&](EventKind kind, uint64_t addr) {
        stream.round.push_back(Event::OnMemory(kind, tid, Addr{addr}, 8));
      };
      stream.round.push_back(Event::OnObject(EventKind::kLock, tid, lock));
      for (int i = 0; i < 8; ++i) {
        touch(i % 2 == 0 ? EventKind::kRead : EventKind::kWrite, kShared + lock * 4096 + next(32) * 8);
      }
      stream.round.push_back(Event::OnObject(EventKind::kUnlock, tid, lock));
      for (int i = 0; i < 8; ++i) touch(EventKind::kRead, kTable + next(64) * 8);
      for (int i = 0; i < 40; ++i) {
        touch(i % 3 == 0 ? EventKind::kWrite : EventKind::kRead, kPrivate + t * uint64_t{4096} + next(128) * 8);
      }
      if (next(4) == 0) {
        stream.round.push_back(
            Event::OnMemory(EventKind::kAtomicRmw, tid, Addr{kAtomic + next(4) * 64}, 8, MemoryOrder::kAcqRel));
      }
    }
  }
  return stream;
}

}  // namespace redflag::bench
