#include "runtime/race_stop.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "runtime/abi.h"
#include "runtime/emit.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"

REDFLAG_ABI redflag_race_info redflag_race;
constinit redflag_race_info redflag_race = {};

namespace redflag::rt {
namespace {

constinit AtomicMem::Lock stop_lock;  // of redflag_race; and one stop at a time
LockLog::Entry stop_entry;

constexpr uint32_t kMaxFrames = sizeof redflag_race.accesses[0].frames / sizeof(uint64_t);
constexpr uint32_t kMaxLocks = sizeof redflag_race.accesses[0].locks / sizeof(uint64_t);
static_assert(sizeof redflag_race.accesses / sizeof *redflag_race.accesses == RaceRecord::kMaxEarlier + 1);

void ShowAccess(Runtime& runtime, redflag_race_info& race, const AccessRecord& record, uint64_t address, uint64_t bytes,
                const HeldAt* locks, uint32_t lock_count) {
  redflag_race_access& shown = race.accesses[race.access_count++];
  shown = {};
  shown.address = address;
  shown.bytes = static_cast<uint32_t>(bytes);
  shown.kind = Raw(record.kind);
  shown.thread = Raw(record.thread);
  shown.os_thread = record.thread == kNoThread ? 0 : runtime.InfoOf(record.thread).os_id;
  const ContextTree& tree = runtime.contexts();
  for (ContextId at = tree.PartsOf(record.context).calls; at != kNoContext && shown.frame_count < kMaxFrames;
       at = tree.CallerOf(at)) {
    shown.frames[shown.frame_count++] = tree.PlaceOf(at) & kPlaceMask;
  }
  for (uint32_t i = 0; i < lock_count && i < kMaxLocks; ++i) {
    shown.locks[shown.lock_count++] = locks[i].address;
  }
}

// Under the lock.
void Show(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes, redflag_race_info& shown) {
  const RaceRecord& race = t.record;
  shown.version = 1;
  shown.access_count = 0;
  shown.address = Raw(race.granule) + static_cast<uint64_t>(__builtin_ctz(Raw(race.bytes) | 0x100));
  ShowAccess(runtime, shown, race.access, addr, bytes, t.locks.begin(), static_cast<uint32_t>(t.locks.size()));
  for (uint32_t i = 0; i < race.earlier_count; ++i) {
    const AccessRecord& earlier = race.earlier[i];
    const ContextId chain = runtime.contexts().PartsOf(earlier.context).chain;
    const bool has_locks = chain != kNoContext && runtime.FindLocks(earlier, chain, stop_entry);
    const uint32_t held = stop_entry.count < LockLog::kMaxLocks ? stop_entry.count : LockLog::kMaxLocks;
    ShowAccess(runtime, shown, earlier,
               Raw(race.granule) + static_cast<uint64_t>(__builtin_ctz(Raw(earlier.bytes) | 0x100)),
               static_cast<uint64_t>(__builtin_popcount(Raw(earlier.bytes))), stop_entry.locks, has_locks ? held : 0);
  }
}

void RaiseHere(int signal) { arch::Syscall(SYS_tgkill, arch::Syscall(SYS_getpid), arch::Syscall(SYS_gettid), signal); }

// The keyboard's way: the whole process, until somebody continues it.
void StopProcess(const Flags& flags) {
  TellNote(0, "stopped at this race: attach a debugger (gdb -p), then continue there; or go on with kill -CONT");
  FlushReports(flags);
  arch::Syscall(SYS_kill, arch::Syscall(SYS_getpid), SIGSTOP);
}

// By the system itself, whatever the program has made of that signal.
[[noreturn]] void Abort() {
  constexpr int64_t kSetBytes = 8;
  const uint64_t by_default[8] = {};  // the system's struct sigaction
  const uint64_t abort_only = uint64_t{1} << (SIGABRT - 1);
  arch::Syscall(SYS_rt_sigaction, SIGABRT, reinterpret_cast<int64_t>(by_default), 0, kSetBytes);
  arch::Syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, reinterpret_cast<int64_t>(&abort_only), 0, kSetBytes);
  for (;;) RaiseHere(SIGABRT);
}

// As large a core file as the user may write.
void AllowCore() {
  rlimit limit = {};
  arch::Syscall(SYS_prlimit64, 0, RLIMIT_CORE, 0, reinterpret_cast<int64_t>(&limit));
  limit.rlim_cur = limit.rlim_max;
  arch::Syscall(SYS_prlimit64, 0, RLIMIT_CORE, reinterpret_cast<int64_t>(&limit), 0);
}

}  // namespace

void Describe(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes, redflag_race_info& race) {
  ScopedLock guard(stop_lock);
  Show(runtime, t, addr, bytes, race);
}

bool LooksSuppressed(const Flags& flags) {
  ScopedLock guard(stop_lock);
  const uint64_t suppressed = SuppressedRaces();
  FlushReports(flags);
  return SuppressedRaces() != suppressed;
}

void StopAtRace(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes, OnRace action) {
  const Flags& flags = runtime.flags();
  if (flags.halt_on_error && action == OnRace::kReport) action = OnRace::kEnd;
  if (action == OnRace::kReport) {
    if (flags.sync_reports) FlushReports(flags);
    return;
  }
  ScopedLock guard(stop_lock);
  const uint64_t suppressed = SuppressedRaces();
  FlushReports(flags);
  if (SuppressedRaces() != suppressed) return;
  Show(runtime, t, addr, bytes, redflag_race);
  switch (action) {
    case OnRace::kReport:
    case OnRace::kThrow:
    case OnRace::kStopThread:
    case OnRace::kCallback:
      return;
    case OnRace::kEnd:
      arch::Syscall(SYS_exit_group, Runtime::FinishProcess(1));
      return;
    case OnRace::kStop:
      return IsTraced() ? RaiseHere(SIGTRAP) : StopProcess(flags);
    case OnRace::kCore:
      AllowCore();
      [[fallthrough]];
    case OnRace::kAbort:
      Runtime::FinishProcess(1);
      Abort();
  }
}

}  // namespace redflag::rt
