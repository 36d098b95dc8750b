// What a program that is sampled shares with the process that samples it (`redflag sample`, `src/sample`): which places are sampled, which of them
// have breakpoints, what was found. Two kinds of shared memory, both made by the sampling process:
//
//   SampleDoor   one for all processes of a run; a process that wants to be sampled says so there, and learns where its page is
//   SamplePage   one for each process: this header, then tables whose places and sizes it gives
//
// The sampling process writes breakpoints and says how long threads may be stopped. The handler of a breakpoint (src/trap) takes it away, stops
// the thread for a while, and writes down what came. Words that both sides write are atomic.
//
// In-process rules; the sampling process believes nothing that would hurt it: indices are checked before use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "events/memory_access.h"

namespace redflag {

struct SampleDoor {
  static constexpr uint32_t kEntries = 256;
  enum State : uint32_t { kFree, kAsking, kWelcome, kRefused };
  struct Entry {
    uint32_t state;  // futex
    uint32_t pid;
    uint32_t page_fd;  // kWelcome: a descriptor of the sampling process
    uint32_t reserved;
  };
  uint32_t bell;  // futex of the sampling process: counts what it should look at
  uint32_t sampler_pid;
  Entry entries[kEntries];
};

// A place that may get a breakpoint, by address in the process.
struct SampleSite {
  uint64_t address;
  MemoryAccess access;
  uint8_t original[4];  // what the breakpoint takes the place of; x86-64: the first
};
static_assert(sizeof(SampleSite) == 24);

struct SampleModule {
  uint64_t begin, end;         // of its code
  uint32_t first_site, count;  // in the table, by address
};

// Where a thread was.
struct SampleStop {
  static constexpr uint32_t kStackBytes = 16384;
  static constexpr uint32_t kRegisters = 33;  // as MemoryAccess numbers them; arm64: 32 is free
  uint32_t tid;
  uint32_t stack_bytes;
  uint64_t pc;
  uint64_t is_before;  // 1: the access is at `pc`; 0: it is the instruction that ends there
  uint64_t registers[kRegisters];
  uint64_t stack_begin;
  std::byte stack[kStackBytes];
};

// One conflict.
struct SampleRecord {
  enum State : uint32_t { kFree, kTaken, kPublished };
  uint32_t state;
  uint32_t site;
  uint64_t address;
  uint32_t size;
  uint32_t has_second;    // 1: the thread that came is in `second`
  uint32_t watched;       // how many bytes of the access were watched; 0: repeated read only
  uint32_t second_waits;  // futex; 1: that thread waits until it is 0, for the user to find it there
  uint64_t before[8], after[8];
  uint64_t paused_ns;
  SampleStop first, second;
};

struct SampleCounters {
  uint64_t fired;        // breakpoints that were met
  uint64_t sampled;      // of these, the thread was stopped
  uint64_t over_budget;  // of these, the time that threads may be stopped was used up
  uint64_t unreadable;   // the memory could not be read: the access will fault
  uint64_t unwatched;    // sampled without data breakpoints: none was free
  uint64_t no_record;    // nowhere to write to
  uint64_t hits;         // conflicts seen by a data breakpoint
  uint64_t collisions;   // conflicts of two threads that were both stopped at breakpoints
  uint64_t changed;      // conflicts seen by the value only
  uint64_t stale;        // data breakpoints that were met after their sample had ended
  uint64_t late;         // data breakpoints that were met while SIGTRAP was blocked
  uint64_t cut_short;    // pauses that ended because nothing moved
  uint64_t paused_ns;    // of all threads together
  uint64_t cost_ns;      // processor time in the handler, of all threads together
  uint64_t elsewhere;    // breakpoints that a forked process met
  uint64_t foreign;      // SIGTRAP that is not ours
  uint64_t self_tried;   // self-check: samples whose own access was watched
  uint64_t self_met;     // of these, the thread met it, at the address that was worked out
  uint64_t self_wrong;   // of these, it met something else
};

struct SamplePage {
  static constexpr uint64_t kMagic = 0x33656c706d6173;  // "sample3"
  static constexpr uint32_t kModules = 1024;
  static constexpr uint32_t kRecords = 16;
  static constexpr uint32_t kFiredRing = 1u << 16;
  static constexpr uint32_t kWatches = 4;
  static constexpr uint32_t kMet = 1u << 12;
  static constexpr uint32_t kThreads = 1u << 12;
  static constexpr uint64_t kPriceUnit = 1024;

  // How far the two are.
  enum Phase : uint32_t { kNew, kReady, kGo, kLeave, kLeft };
  enum Why : uint32_t { kNoReason, kSeccomp, kEnding };

  uint64_t magic;
  uint64_t tables_bytes;   // of all, this header included
  uint64_t sites_offset;   // SampleSite[site_capacity]
  uint64_t states_offset;  // uint8_t[site_capacity], 1: has a breakpoint
  uint64_t armed_offset;   // uint32_t[site_capacity], when it got it: sampling::ArmedWord
  uint32_t site_capacity;
  uint32_t phase;  // futex. Process: kNew -> kReady; kGo -> kLeave. Sampling process: kReady -> kGo; kLeave -> kLeft
  uint32_t why;    // of kLeave
  uint32_t pid;
  uint32_t watches;      // data breakpoints that work
  int32_t watch_error;   // why there are none: an errno, 0: they open and never fire
  uint32_t off;          // 1: breakpoints are taken away when met, and that is all
  uint32_t self_check;   // 1: threads are not stopped; each watches its own access
  uint32_t hold_second;  // 1: a thread that came waits
  uint32_t most_delay_us;
  uint32_t module_count;  // published after the module
  uint32_t repeated_read_only;
  uint32_t own_fd;       // of this page, in the sampling process
  uint32_t is_threaded;  // 1: a thread that is not the first one has met a breakpoint
  // What threads may still be stopped for; the sampling process adds. The second: only before accesses to bytes that are known to be shared.
  alignas(64) int64_t pause_left_ns;
  int64_t shared_left_ns;
  // For how long a thread goes on for each nanosecond that it was stopped, in parts of kPriceUnit; 0: no thread is limited for itself.
  uint64_t pause_price;
  // Of each thread, by its number: when its pauses are paid for (events/sample_rules.h), CLOCK_MONOTONIC; for how long it was stopped.
  uint64_t thread_due_ns[kThreads];
  uint64_t thread_paused_ns[kThreads];
  alignas(64) uint64_t met[kMet];   // bytes that were met, and by whom (events/sample_rules.h); by hash of the address
  alignas(64) uint32_t fired_head;  // next to be written in `fired`; never wraps to 0 of meaning, only modulo
  uint32_t fired[kFiredRing];       // index of a site + 1; 0: read, or not yet written
  SampleModule modules[kModules];
  alignas(64) SampleCounters counters;
  SampleRecord records[kRecords];
};

}  // namespace redflag
