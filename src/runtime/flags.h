// The options of REDFLAG_OPTIONS, from one table: name, type, default and what it is for. `redflag run` reads the same table.
//
//   REDFLAG_FLAG(type, name, default, "what it does")
#pragma once

#include <cstdint>

namespace redflag::rt {

// clang-format off
#define REDFLAG_FLAGS(FLAG)                                                                                             \
  FLAG(int, exitcode, 66, "exit status of the program if anything was reported; 0: its own")                            \
  FLAG(bool, halt_on_error, false, "end the program at the first report")                                               \
  FLAG(OnRace, on_race, OnRace::kReport, "at a race: report (go on), stop (for a debugger), core, abort, end; throw, stop-thread, callback (docs/race-errors.md)") \
  FLAG(OnRace, throw_else, OnRace::kReport, "what on_race=throw and stop-thread do where nothing can be thrown: report, stop, core, abort, end") \
  FLAG(bool, throw_unproven, false, "throw also where nobody is known to catch it: the program may end in std::terminate")  \
  FLAG(Transactions, transactions, Transactions::kCommon, "which transactions are in order: common (that have a byte in common), reads (that read what another wrote), all") \
  FLAG(int, watch_ms, 200, "hold a report back so long, to say what is done to the variable after the race; 0: don't")          \
  FLAG(bool, sync_reports, false, "go on only when a report is written; in the form of ThreadSanitizer: true")              \
  FLAG(bool, report_bugs, true, "report what is found")                                                                 \
  FLAG(bool, report_mutex_bugs, true, "report locks that are used as none may be: unlocked while not held, destroyed while held")   \
  FLAG(bool, report_destroy_locked, true, "among these, locks that are destroyed while they are held")                   \
  FLAG(bool, detect_deadlocks, true, "report locks that threads take in orders in which they may wait for one another for ever")   \
  FLAG(bool, deadlocks_by_order, false, "also if one thread alone took them, or all for reading; in the form of ThreadSanitizer: true") \
  FLAG(int, longest_deadlock, 0, "only if it has no more locks than this, 0: any number; in the form of ThreadSanitizer: 20") \
  FLAG(bool, second_deadlock_stack, true, "say of each also where the lock that was held had been taken; in the form of ThreadSanitizer: false") \
  FLAG(bool, report_thread_leaks, false, "report threads that ended, were not joined nor detached; in the form of ThreadSanitizer: true") \
  FLAG(bool, report_signal_unsafe, true, "report signal handlers that change errno, or allocate or free memory")                                     \
  FLAG(bool, report_use_after_free, true, "report that memory is used after it was freed, also if that is ordered after the free") \
  FLAG(bool, report_barrier_in_use, false, "report that a barrier is destroyed before all who waited there are known to have left, for which libc waits; in the form of ThreadSanitizer: true") \
  FLAG(bool, ignore_noninstrumented_modules, true, "what code that was not compiled for race detection has libc do is no access; in the form of ThreadSanitizer: false") \
  FLAG(bool, die_after_fork, false, "end the child of a process that has several threads when it creates one; in the form of ThreadSanitizer: true") \
  FLAG(bool, strict_called_from_lib, false, "end the program if a rule called_from_lib is about two libraries, or about one that is unloaded; in the form of ThreadSanitizer: true") \
  FLAG(bool, report_atomic_races, true, "report races between an atomic access and one that is not")                       \
  FLAG(bool, print_full_thread_history, false, "reports say where the threads that created the threads in question were created, and so on") \
  FLAG(bool, print_stats, false, "print counters at the end")                                                           \
  FLAG(int, memory_limit_mb, 0, "forget old accesses when the process uses more memory than this; 0: no limit")          \
  FLAG(int, slot_times, 0, "for tests: how many releases a thread has before it needs another slot; 0: a million")        \
  FLAG(int, verbosity, 0, "1: say what the runtime does at start and end")                                              \
  FLAG(int, flush_timeout_ms, 5000, "at the end, wait so long for reports to be written")                                \
  FLAG(Path, suppressions, {}, "a file of suppressions; several: with semicolons in between, or given again")              \
  FLAG(bool, print_suppressions, false, "at the end, list which suppressions were of use and which were not")            \
  FLAG(Path, tolerate, {}, "tolerant sections: testing, deployment, off, or the names of those that are meant, with semicolons in between") \
  FLAG(Path, tolerate_log, {}, "a file for what tolerant sections find in a program that is not watched, as JSON")
// clang-format on

// The later ones are for every racy access, not for reports alone (runtime/policy.h).
enum class OnRace : uint8_t { kReport, kStop, kCore, kAbort, kEnd, kThrow, kStopThread, kCallback };

// How transactions are ordered (Goldilocks, the end of section 3).
enum class Transactions : uint8_t { kCommon, kAll, kReads };

struct Path {
  char text[1024];
};

struct Flags {
#define REDFLAG_DECLARE(type, name, initial, help) type name = initial;
  REDFLAG_FLAGS(REDFLAG_DECLARE)
#undef REDFLAG_DECLARE
};

// Reads "name=value:name=value" (separated by colons, spaces or commas; a value may be in quotes of either kind). What it does not understand is passed to `complain`, with the
// nearest name if there is one.
void ParseFlags(const char* text, Flags& flags, void (*complain)(const char* word, const char* nearest));

}  // namespace redflag::rt
