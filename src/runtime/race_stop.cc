#include "runtime/race_stop.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "runtime/abi.h"
#include "runtime/emit.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

// The layout is known to tools/redflag-gdb.py, which goes by `version`.
struct RaceInMemory {
  static constexpr uint32_t kMaxFrames = 64, kMaxLocks = 8, kMaxAccesses = RaceRecord::kMaxEarlier + 1;

  struct Access {
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint32_t os_thread = 0;  // as the system numbers it
    uint32_t thread = 0;     // as reports number it
    uint32_t kind = 0;       // AccessKind
    uint32_t frame_count = 0;
    uint32_t lock_count = 0;
    uint64_t frames[kMaxFrames] = {};  // return addresses, innermost first
    uint64_t locks[kMaxLocks] = {};
  };

  uint32_t version = 0;  // 0: there was no race
  uint32_t access_count = 0;
  uint64_t address = 0;                // of the first racy byte
  Access accesses[kMaxAccesses] = {};  // the completing one first
};

}  // namespace
}  // namespace redflag::rt

REDFLAG_ABI redflag::rt::RaceInMemory redflag_race;
constinit redflag::rt::RaceInMemory redflag_race;

namespace redflag::rt {
namespace {

constinit AtomicMem::Lock stop_lock;  // of redflag_race; and one stop at a time
LockLog::Entry stop_entry;

void ShowAccess(Runtime& runtime, const AccessRecord& record, uint64_t address, uint64_t bytes, const HeldAt* locks,
                uint32_t lock_count) {
  RaceInMemory::Access& shown = redflag_race.accesses[redflag_race.access_count++];
  shown = {};
  shown.address = address;
  shown.bytes = static_cast<uint32_t>(bytes);
  shown.kind = Raw(record.kind);
  shown.thread = Raw(record.thread);
  shown.os_thread = record.thread == kNoThread ? 0 : runtime.InfoOf(record.thread).os_id;
  const ContextTree& tree = runtime.contexts();
  for (ContextId at = tree.PartsOf(record.context).calls;
       at != kNoContext && shown.frame_count < RaceInMemory::kMaxFrames; at = tree.CallerOf(at)) {
    shown.frames[shown.frame_count++] = tree.PlaceOf(at) & kPlaceMask;
  }
  for (uint32_t i = 0; i < lock_count && i < RaceInMemory::kMaxLocks; ++i) {
    shown.locks[shown.lock_count++] = locks[i].address;
  }
}

void Show(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes) {
  const RaceRecord& race = t.record;
  redflag_race.version = 1;
  redflag_race.access_count = 0;
  redflag_race.address = Raw(race.granule) + static_cast<uint64_t>(__builtin_ctz(Raw(race.bytes) | 0x100));
  ShowAccess(runtime, race.access, addr, bytes, t.locks.begin(), static_cast<uint32_t>(t.locks.size()));
  for (uint32_t i = 0; i < race.earlier_count; ++i) {
    const AccessRecord& earlier = race.earlier[i];
    const ContextId chain = runtime.contexts().PartsOf(earlier.context).chain;
    const bool has_locks = chain != kNoContext && runtime.FindLocks(earlier, chain, stop_entry);
    const uint32_t held = stop_entry.count < LockLog::kMaxLocks ? stop_entry.count : LockLog::kMaxLocks;
    ShowAccess(runtime, earlier, Raw(race.granule) + static_cast<uint64_t>(__builtin_ctz(Raw(earlier.bytes) | 0x100)),
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

void StopAtRace(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes) {
  const Flags& flags = runtime.flags();
  const OnRace action = flags.halt_on_error && flags.on_race == OnRace::kReport ? OnRace::kEnd : flags.on_race;
  if (action == OnRace::kReport) {
    if (flags.sync_reports) FlushReports(flags);
    return;
  }
  ScopedLock guard(stop_lock);
  const uint64_t suppressed = SuppressedRaces();
  FlushReports(flags);
  if (SuppressedRaces() != suppressed) return;
  Show(runtime, t, addr, bytes);
  switch (action) {
    case OnRace::kReport:
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
