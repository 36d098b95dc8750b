// Races that are harmless more often than not, recognised by the instructions around their accesses and by the values that were seen (DataCollider
// 3.3). What looks so is put last and never left out. Two writes of flags are never taken for harmless: one may undo the other (Figure 1).
//
// Knows files of code and values, no process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "collider/code_file.h"
#include "events/access.h"
#include "events/wire.h"

namespace redflag {

// What one access is about, from a few instructions before and after it.
struct Intent {
  bool increments = false;               // the old value and a positive number make the new one
  std::optional<uint64_t> read_bits{};   // only these are looked at
  std::optional<uint64_t> write_bits{};  // only these are changed
};
Intent IntentOf(const CodeFile& file, uint64_t address);

// Of a read and a write: are they about different bits?
bool IsSafeFlagUpdate(const Intent& reader, const Intent& writer, uint64_t before, uint64_t after);

// Of counters, by address: what was seen of each.
class CounterHistory {
 public:
  static constexpr uint32_t kEnough = 3;

  // One more conflict. Values, in the order of time.
  void Add(uint64_t address, uint64_t before, uint64_t after);
  // Was it seen often enough, and did it never become smaller?
  bool OnlyGrows(uint64_t address) const;
  bool IsEnough(uint64_t address) const;

 private:
  struct Seen {
    uint32_t times = 0;
    uint64_t last = 0;
    bool shrank = false;
  };
  std::map<uint64_t, Seen> seen_;
};

}  // namespace redflag
