// The rules of a sample (DataCollider 3.2), for both who keep them: the handler in the program (trap/sampler.cc), and who stops threads from outside
// (sample/outside_sampler.cc).
//
// In-process rules.
#pragma once

#include <cstdint>

#include "events/sample_page.h"

namespace redflag::sampling {

inline constexpr uint64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;
// The longest pause at a place that is met all the time. To set one up and to end it takes a fifth of a millisecond of processor time, most of it in threads
// that are interrupted for it: with shorter ones, more of a budget goes into that.
inline constexpr uint64_t kShortest = 1600 * kMicrosecond;
inline constexpr uint64_t kFirst = 2 * kMillisecond;  // the longest pause, at least, at a place that was never met
inline constexpr uint64_t kGrace =
    2 * kMillisecond;  // for a data breakpoint that was met, and word of which is under way
// A pause ends early if no thread of the process gets anything done (3.2.3): they may all wait for the one that is stopped.
inline constexpr uint64_t kPatience = 8;  // slices without progress: a process whose threads sleep has none either
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

// When a place got its breakpoint, in milliseconds of CLOCK_MONOTONIC; the lowest bit: it was never met before.
inline uint32_t ArmedWord(uint64_t milliseconds, bool never_met) {
  return static_cast<uint32_t>(milliseconds & ~uint64_t{1}) | (never_met ? 1 : 0);
}

// What is known of the bytes that a thread is about to access, from whom breakpoints have met there before. Not of all bytes, and not for long: it
// tells where a pause is worth most, and nothing that is reported depends on it.
enum class Sharing : uint32_t {
  kUnknown,  // nobody was met there
  kNone,     // by one thread only, or nobody has written them
  kShared,   // by several threads, and they were written
};

inline Sharing NoteMet(SamplePage* page, uint64_t address, bool writes, uint32_t tid) {
  constexpr uint64_t kWritten = 1, kSeveral = 2;
  constexpr unsigned kWhoShift = 2, kWhoBits = 16, kKeyShift = kWhoShift + kWhoBits;
  const uint64_t key = address / 8;
  uint64_t& entry = page->met[(key * 0x9e3779b97f4a7c15) >> 52];
  static_assert(SamplePage::kMet == 1u << (64 - 52));
  const uint64_t who = (tid & ((1u << kWhoBits) - 1)) << kWhoShift;
  const uint64_t fresh = key << kKeyShift | who | (writes ? kWritten : 0);
  const uint64_t seen = __atomic_load_n(&entry, __ATOMIC_RELAXED);
  if ((seen ^ fresh) >> kKeyShift != 0 || seen == 0) {
    __atomic_store_n(&entry, fresh, __ATOMIC_RELAXED);
    return Sharing::kUnknown;
  }
  const bool same = ((seen ^ fresh) >> kWhoShift) == 0;
  const uint64_t now = seen | (fresh & kWritten) | (same ? 0 : kSeveral);
  if (now != seen) __atomic_store_n(&entry, now, __ATOMIC_RELAXED);
  return (now & (kWritten | kSeveral)) == (kWritten | kSeveral) ? Sharing::kShared : Sharing::kNone;
}

// How long to stop there, at random (3.2.3), up to an upper bound. A place that was met as soon as it had its breakpoint is met all the time, and so
// is, likely, its partner: a short pause is enough. One that took long is worth a long one; one that was never met has not waited, it is new; and where
// nobody else was ever met, a short one is enough. `now` in nanoseconds of CLOCK_MONOTONIC.
inline uint64_t ChooseDelay(SamplePage* page, uint32_t index, Sharing sharing, uint64_t now, uint64_t random) {
  const uint32_t armed = ArmedOf(page)[index];
  const auto waited = static_cast<uint32_t>(now / kMillisecond - (armed & ~1u)) * kMillisecond;
  uint64_t most = sharing == Sharing::kNone ? 0 : waited / 4;
  if (most < kShortest) most = kShortest;
  const bool is_threaded = __atomic_load_n(&page->is_threaded, __ATOMIC_RELAXED) != 0;
  if (is_threaded && (armed & 1) != 0 && most < kFirst) most = kFirst;
  if (const uint64_t limit = page->most_delay_us * kMicrosecond; most > limit) most = limit;
  const uint64_t least = most / 4;
  return most == 0 ? 0 : least + random % (most - least) + 1;
}

// A pause that was paid for before it began.
struct Paid {
  int64_t* from = nullptr;  // null: what threads may be stopped for is used up
  uint64_t* thread = nullptr;
  uint64_t delay = 0;
};

// No thread is stopped for more than its share of its own time, however many there are beside it that sleep. It pays with time in which it goes on;
// some of what it did not use is kept for one long pause.
inline bool PayAsThread(SamplePage* page, uint64_t* due, uint64_t delay, uint64_t now) {
  const uint64_t kept = page->most_delay_us * kMicrosecond * page->pause_price / SamplePage::kPriceUnit;
  const uint64_t oldest = now > kept ? now - kept : 0;
  uint64_t then = __atomic_load_n(due, __ATOMIC_RELAXED);
  if (then < oldest) then = oldest;
  then += delay * page->pause_price / SamplePage::kPriceUnit;
  if (then > now) return false;
  __atomic_store_n(due, then, __ATOMIC_RELAXED);
  return true;
}

inline bool PayFrom(int64_t* left, uint64_t delay, int64_t keep) {
  const auto price = static_cast<int64_t>(delay);
  if (__atomic_sub_fetch(left, price, __ATOMIC_RELAXED) >= keep) return true;
  __atomic_add_fetch(left, price, __ATOMIC_RELAXED);
  return false;
}

// Half of the time that threads may be stopped is for bytes that are shared, so that the many that are not don't use it up; the other half is for
// whoever comes first. A process that begins with one thread keeps some for the others. `now` in nanoseconds of CLOCK_MONOTONIC.
inline Paid Pay(SamplePage* page, uint32_t tid, Sharing sharing, uint64_t delay, uint64_t now) {
  uint64_t* thread = &page->thread_due_ns[tid % SamplePage::kThreads];
  const uint64_t before = __atomic_load_n(thread, __ATOMIC_RELAXED);
  if (!PayAsThread(page, thread, delay, now)) return {};
  if (sharing == Sharing::kShared && PayFrom(&page->shared_left_ns, delay, 0)) {
    return {.from = &page->shared_left_ns, .thread = thread, .delay = delay};
  }
  const bool is_threaded = __atomic_load_n(&page->is_threaded, __ATOMIC_RELAXED) != 0;
  const int64_t keep = is_threaded ? 0 : static_cast<int64_t>(page->most_delay_us * kMicrosecond / 2);
  if (PayFrom(&page->pause_left_ns, delay, keep)) {
    return {.from = &page->pause_left_ns, .thread = thread, .delay = delay};
  }
  __atomic_store_n(thread, before, __ATOMIC_RELAXED);
  return {};
}
// It took another time than was paid for.
inline void Settle(SamplePage* page, const Paid& paid, uint64_t paused) {
  __atomic_fetch_add(&page->counters.paused_ns, paused, __ATOMIC_RELAXED);
  __atomic_add_fetch(paid.from, static_cast<int64_t>(paid.delay) - static_cast<int64_t>(paused), __ATOMIC_RELAXED);
  const auto more = (static_cast<int64_t>(paused) - static_cast<int64_t>(paid.delay)) *
                    static_cast<int64_t>(page->pause_price) / static_cast<int64_t>(SamplePage::kPriceUnit);
  __atomic_add_fetch(paid.thread, static_cast<uint64_t>(more), __ATOMIC_RELAXED);
  __atomic_add_fetch(&page->thread_paused_ns[paid.thread - page->thread_due_ns], paused, __ATOMIC_RELAXED);
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
