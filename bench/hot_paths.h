// The paths that decide how fast a detector is, one at a time, for counting instructions. Each detector's are compiled by
// themselves, as everywhere: what the compiler makes of one must not depend on the others.
#pragma once

#include <valgrind/callgrind.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/mem.h"
#include "events/event.h"
#include "offline/replay.h"

namespace redflag::bench {

// Events that are played again and again. What a path costs is given for each of its `operations`.
struct Path {
  const char* name;
  std::vector<Event> round;
  uint64_t operations;
};
std::vector<Path> Paths();

// Plays each path, and has callgrind dump its count.
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

}  // namespace redflag::bench
