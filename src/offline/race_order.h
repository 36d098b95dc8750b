// The order in which one engine finds races: by which those of shards are put together (trace/shard.h).
#pragma once

#include <cstdint>
#include <tuple>

#include "events/race_record.h"

namespace redflag {

inline bool ComesBefore(const RaceRecord& a, const RaceRecord& b) {
  const auto key = [](const RaceRecord& race) {
    return std::tuple(race.event, race.part, Raw(race.granule), __builtin_ctz(uint32_t{Raw(race.bytes)} | 0x100));
  };
  return key(a) < key(b);
}

}  // namespace redflag
