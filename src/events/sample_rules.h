// The rules of a sample (DataCollider 3.2), for both who keep them: the handler in the program (trap/sampler.cc), and who stops threads from outside
// (sample/outside_sampler.cc).
//
// In-process rules.
#pragma once

#include <cstdint>

#include "events/sample_page.h"

namespace redflag::sampling {

inline constexpr uint64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;
inline constexpr uint64_t kShortest = 200 * kMicrosecond;  // the longest pause at a place that is met all the time
inline constexpr uint64_t kGrace =
    2 * kMillisecond;  // for a data breakpoint that was met, and word of which is under way
// A pause ends early if no thread of the process gets anything done (3.2.3): they may all wait for the one that is stopped.
inline constexpr uint64_t kPatience = 4;  // slices without progress
inline constexpr uint64_t kSlice = kMillisecond;
inline constexpr uint64_t kProgress = 20 * kMicrosecond;  // of processor time in a slice

inline constexpr uint32_t kNoSite = UINT32_MAX;
inline constexpr uint32_t kMostWatchedBytes = 8;  // of one data breakpoint

inline SampleSite* SitesOf(SamplePage* page) {
  return reinterpret_cast<SampleSite*>(reinterpret_cast<uint8_t*>(page) + page->sites_offset);
}
inline uint8_t* StatesOf(SamplePage* page) { return reinterpret_cast<uint8_t*>(page) + page->states_offset; }
inline uint32_t* ArmedOf(SamplePage* page) {
  return reinterpret_cast<uint32_t*>(reinterpret_cast<uint8_t*>(page) + page->armed_offset);
}

// The place at an address of the process; kNoSite: there is none.
inline uint32_t FindSite(SamplePage* page, uint64_t address) {
  const SampleSite* sites = SitesOf(page);
  const uint32_t count = __atomic_load_n(&page->module_count, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i) {
    const SampleModule& module = page->modules[i];
    if (address < module.begin || address >= module.end) continue;
    uint32_t low = module.first_site, high = module.first_site + module.count;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (sites[middle].address < address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low < module.first_site + module.count && sites[low].address == address) return low;
  }
  return kNoSite;
}

// That its breakpoint was met and is gone. Nobody is woken for it: the sampling process looks often enough.
inline void TellFired(SamplePage* page, uint32_t index) {
  __atomic_store_n(&StatesOf(page)[index], uint8_t{0}, __ATOMIC_RELEASE);
  const uint32_t at = __atomic_fetch_add(&page->fired_head, 1, __ATOMIC_ACQ_REL) % SamplePage::kFiredRing;
  __atomic_store_n(&page->fired[at], index + 1, __ATOMIC_RELEASE);
}

// How long to stop there, at random (3.2.3), up to an upper bound. A place that was met as soon as it had its breakpoint is met all the time, and so
// is, likely, its partner: a short pause is enough. One that took long is worth a long one. `now` in nanoseconds of CLOCK_MONOTONIC.
inline uint64_t ChooseDelay(SamplePage* page, uint32_t index, uint64_t now, uint64_t random) {
  const uint64_t armed = ArmedOf(page)[index];
  const uint64_t waited = static_cast<uint32_t>(now / kMillisecond - armed) * kMillisecond;
  uint64_t most = waited / 4;
  if (most < kShortest) most = kShortest;
  if (const uint64_t limit = page->most_delay_us * kMicrosecond; most > limit) most = limit;
  return most == 0 ? 0 : random % most + 1;
}

// Pays for a pause before it begins; false: what threads may be stopped for is used up.
inline bool Pay(SamplePage* page, uint64_t delay) {
  if (__atomic_sub_fetch(&page->pause_left_ns, static_cast<int64_t>(delay), __ATOMIC_RELAXED) >= 0) return true;
  __atomic_add_fetch(&page->pause_left_ns, static_cast<int64_t>(delay), __ATOMIC_RELAXED);
  return false;
}
// It took another time than was paid for.
inline void Settle(SamplePage* page, uint64_t delay, uint64_t paused) {
  __atomic_fetch_add(&page->counters.paused_ns, paused, __ATOMIC_RELAXED);
  __atomic_add_fetch(&page->pause_left_ns, static_cast<int64_t>(delay) - static_cast<int64_t>(paused),
                     __ATOMIC_RELAXED);
}

// A record that nobody has; kRecords: there is none.
inline uint32_t TakeRecord(SamplePage* page, uint32_t site) {
  for (uint32_t i = 0; i < SamplePage::kRecords; ++i) {
    uint32_t free = SampleRecord::kFree;
    if (__atomic_compare_exchange_n(&page->records[i].state, &free, SampleRecord::kTaken, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      page->records[i].site = site;
      page->records[i].has_second = 0;
      page->records[i].second_waits = 0;
      return i;
    }
  }
  return SamplePage::kRecords;
}

// Are the bytes after the pause other than before?
inline bool HasChanged(const SampleRecord& record) {
  const auto* before = reinterpret_cast<const uint8_t*>(record.before);
  const auto* after = reinterpret_cast<const uint8_t*>(record.after);
  bool changed = false;
  for (uint32_t i = 0; i < record.size; ++i) changed |= before[i] != after[i];
  return changed;
}

// How many bytes from an address one data breakpoint can take: a power of two, aligned.
inline uint32_t PieceAt(uint64_t address, uint32_t left) {
  uint32_t piece = kMostWatchedBytes;
  while (piece > left || address % piece != 0) piece /= 2;
  return piece;
}

// Which of the free data breakpoints to take for bytes, a bit each; 0: not enough are free. `watched`: of the bytes, how many.
inline uint32_t ChooseWatches(uint32_t free, uint32_t count, uint64_t address, uint32_t size, uint32_t& watched) {
  uint32_t pieces = 0;
  watched = 0;
  for (uint32_t at = 0; at < size && pieces < count; ++pieces) {
    at += PieceAt(address + at, size - at);
    watched = at;
  }
  uint32_t mask = 0;
  for (uint32_t i = 0; i < pieces && free != 0; ++i) {
    mask |= free & -free;
    free &= free - 1;
  }
  return static_cast<uint32_t>(__builtin_popcount(mask)) == pieces ? mask : 0;
}

}  // namespace redflag::sampling
