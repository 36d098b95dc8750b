// What a program says of synchronization of its own making: edges, and locks (sanitizer/tsan_interface.h).
//
// Between a pre_ and a post_ call of a lock the program is inside the lock's own code: its accesses are not watched, and its atomic
// operations order nothing, so that a report shows what the lock means and not how it is made. pre_divert and post_divert enclose calls
// out of that code, which are watched again.
#include <cstdint>

#include "intercept/hooks.h"
#include "runtime/abi.h"
#include "runtime/announced.h"
#include "runtime/emit.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

// Values of the interface.
enum MutexFlag : unsigned {
  kLinkerInit = 1u << 0,
  kWriteReentrant = 1u << 1,
  kReadReentrant = 1u << 2,
  kReadLock = 1u << 3,
  kTryLock = 1u << 4,
  kTryLockFailed = 1u << 5,
  kRecursiveLock = 1u << 6,
  kRecursiveUnlock = 1u << 7,
  kNotStatic = 1u << 8,
};

LockMode ModeOf(unsigned flags) { return (flags & kReadLock) != 0 ? LockMode::kShared : LockMode::kExclusive; }

void Ignore(int change) {
  if (!Runtime::IsActive()) return;
  local.thread->mode.ignore += change;
  local.thread->ignore_sync += change;
}

}  // namespace
}  // namespace redflag::rt

using namespace redflag;      // NOLINT: this file is the outside of that namespace
using namespace redflag::rt;  // NOLINT

REDFLAG_ABI void __tsan_acquire(void* object) { AnnouncedAcquire(REDFLAG_CALLER, object); }
REDFLAG_ABI void __tsan_release(void* object) { AnnouncedRelease(REDFLAG_CALLER, object); }

// One that the linker initialized may have been used before its constructor ran: its past stays.
REDFLAG_ABI void __tsan_mutex_create(void* mutex, unsigned flags) {
  if ((flags & kLinkerInit) == 0) hooks::LockCreated(REDFLAG_CALLER, mutex);
  if ((flags & (kLinkerInit | kNotStatic)) == 0) return;
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().LockIsStatic(reinterpret_cast<uint64_t>(mutex), (flags & kLinkerInit) != 0);
  Runtime::Leave(t);
}
// The same at the end: others may still use it while static objects are destroyed. A destructor that knows that its object is not static must
// have had a constructor that knew it, too.
REDFLAG_ABI void __tsan_mutex_destroy(void* mutex, unsigned flags) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  const bool ends =
      Runtime::Get().EndsLock(reinterpret_cast<uint64_t>(mutex), (flags & kLinkerInit) != 0, (flags & kNotStatic) != 0);
  Runtime::Leave(t);
  if (ends) hooks::LockDestroyedByItself(REDFLAG_CALLER, mutex);
}

REDFLAG_ABI void __tsan_mutex_pre_lock(void* mutex, unsigned flags) {
  if ((flags & kTryLock) == 0) hooks::Wanting(REDFLAG_CALLER, mutex, ModeOf(flags));
  Ignore(+1);
}

REDFLAG_ABI void __tsan_mutex_post_lock(void* mutex, unsigned flags, int recursion) {
  Ignore(-1);
  if ((flags & kTryLockFailed) != 0) return;
  hooks::LockedByItself(REDFLAG_CALLER, mutex, ModeOf(flags),
                        (flags & kRecursiveLock) != 0 && recursion > 0 ? recursion : 1, true);
}

// Answers how many levels were given up, to be passed to post_lock when they are taken back.
REDFLAG_ABI int __tsan_mutex_pre_unlock(void* mutex, unsigned flags) {
  const int levels = hooks::UnlockingByItself(REDFLAG_CALLER, mutex, ModeOf(flags), (flags & kRecursiveUnlock) != 0);
  Ignore(+1);
  return levels;
}
REDFLAG_ABI void __tsan_mutex_post_unlock(void*, unsigned) { Ignore(-1); }

REDFLAG_ABI void __tsan_mutex_pre_signal(void*, unsigned) { Ignore(+1); }
REDFLAG_ABI void __tsan_mutex_post_signal(void*, unsigned) { Ignore(-1); }
REDFLAG_ABI void __tsan_mutex_pre_divert(void*, unsigned) { Ignore(-1); }
REDFLAG_ABI void __tsan_mutex_post_divert(void*, unsigned) { Ignore(+1); }

REDFLAG_ABI void __tsan_check_no_mutexes_held() {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  if (!t->locks.empty()) {
    Runtime::Get().Misused(*t, t->locks.begin()->address, wire::Flaw::kHeldInWrongContext, REDFLAG_CALLER);
  }
  Runtime::Leave(t);
}
