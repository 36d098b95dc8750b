#include "runtime/benign.h"

#include "base/arena.h"
#include "base/mem.h"

namespace redflag::rt {
namespace {

struct Range {
  uint64_t begin, end;
};

// Few, and asked for rarely: a list.
constinit AtomicMem::Lock lock;
constinit Range* ranges = nullptr;
constinit uint32_t count = 0;
constinit uint64_t capacity = 0;

void Add(Range range) {
  if (range.begin >= range.end) return;
  if (count == capacity) {
    const uint64_t larger = capacity == 0 ? 4096 / sizeof(Range) : 2 * capacity;
    auto* moved = static_cast<Range*>(MapPages(larger * sizeof(Range)));
    for (uint32_t i = 0; i < count; ++i) moved[i] = ranges[i];
    if (capacity != 0) UnmapPages(ranges, capacity * sizeof(Range));
    ranges = moved;
    capacity = larger;
  }
  ranges[count++] = range;
}

bool Contains(uint64_t addr) {
  for (uint32_t i = 0; i < count; ++i) {
    if (addr >= ranges[i].begin && addr < ranges[i].end) return true;
  }
  return false;
}

}  // namespace

void AddBenign(uint64_t addr, uint64_t bytes) {
  ScopedLock guard(lock);
  for (uint32_t i = 0; i < count; ++i) {
    if (ranges[i].begin <= addr && addr + bytes <= ranges[i].end) return;
  }
  Add({addr, addr + bytes});
}

void ForgetBenign(uint64_t addr, uint64_t bytes) {
  if (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0) return;
  ScopedLock guard(lock);
  for (uint32_t i = count; i-- > 0;) {
    const Range range = ranges[i];
    if (range.end <= addr || range.begin >= addr + bytes) continue;
    ranges[i] = ranges[--count];
    Add({range.begin, addr});
    Add({addr + bytes, range.end});
  }
}

bool IsBenign(const RaceRecord& record) {
  if (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0) return false;
  ScopedLock guard(lock);
  for (uint64_t i = 0; i < kGranule; ++i) {
    if ((Raw(record.bytes) >> i & 1) != 0 && !Contains(Raw(record.granule) + i)) return false;
  }
  return true;
}

}  // namespace redflag::rt
