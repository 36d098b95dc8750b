// The interface for languages whose memory is moved by a collector of garbage, as Java virtual machines use it. The heap of the language
// is a range of the program's memory; objects in it begin, end and move when the collector says so, and it says so while the world
// is stopped. That an object ends orders nothing and is no access: what the program does with it afterwards would be to another object.
//
// An object that moves takes the locks and other synchronization inside it along. Accesses to it are forgotten: whoever reaches it at
// its new place has met the collector since.
#include <cstdint>

#include "intercept/hooks.h"
#include "runtime/abi.h"
#include "runtime/announced.h"
#include "runtime/gate.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

const void* Object(uint64_t address) { return reinterpret_cast<const void*>(address); }

}  // namespace
}  // namespace redflag::rt

using namespace redflag;      // NOLINT: this file is the outside of that namespace
using namespace redflag::rt;  // NOLINT

REDFLAG_ABI void __tsan_java_preinit(const char*) { Runtime::IsActive(); }

// Whatever the range was used for before is no business of the language's.
REDFLAG_ABI void __tsan_java_init(uint64_t heap, uint64_t bytes) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().BeginAnew(*t, heap, bytes);
  Runtime::Leave(t);
}

REDFLAG_ABI int __tsan_java_fini() { return hooks::Exiting(0); }

REDFLAG_ABI void __tsan_java_alloc(uint64_t object, uint64_t bytes) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().Allocated(*t, object, bytes, REDFLAG_CALLER);
  Runtime::Leave(t);
}

// All that is in the range.
REDFLAG_ABI void __tsan_java_free(uint64_t object, uint64_t bytes) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().Collected(*t, object, bytes);
  Runtime::Leave(t);
}

// The first object that begins in [*from, to): its size, and *from is where it begins. 0: none.
REDFLAG_ABI uint64_t __tsan_java_find(uint64_t* from, uint64_t to) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return 0;
  BlockInfo block = {};
  const bool found = Runtime::Get().NextBlock(*from, to, block);
  Runtime::Leave(t);
  if (!found) return 0;
  *from = block.begin;
  return block.bytes;
}

REDFLAG_ABI void __tsan_java_move(uint64_t from, uint64_t to, uint64_t bytes) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().Moved(*t, from, to, bytes);
  Runtime::Leave(t);
}

// The thread is about to run finalizers of objects that nobody can reach: whatever was done to them is past.
REDFLAG_ABI void __tsan_java_finalize() {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  if (Gate::Close(*t)) Runtime::Get().LearnAll(*t);
  Gate::Open(*t);
  Runtime::Leave(t);
}

REDFLAG_ABI void __tsan_java_mutex_lock(uint64_t lock) {
  hooks::Locked(REDFLAG_CALLER, Object(lock), LockMode::kExclusive);
}
REDFLAG_ABI void __tsan_java_mutex_unlock(uint64_t lock) {
  hooks::Unlocking(REDFLAG_CALLER, Object(lock), LockMode::kExclusive);
}
REDFLAG_ABI void __tsan_java_mutex_read_lock(uint64_t lock) {
  hooks::Locked(REDFLAG_CALLER, Object(lock), LockMode::kShared);
}
REDFLAG_ABI void __tsan_java_mutex_read_unlock(uint64_t lock) {
  hooks::Unlocking(REDFLAG_CALLER, Object(lock), LockMode::kShared);
}
// All levels at once, for a wait inside: unlock_rec answers how many, and lock_rec takes them back.
REDFLAG_ABI void __tsan_java_mutex_lock_rec(uint64_t lock, int levels) {
  hooks::Locked(REDFLAG_CALLER, Object(lock), LockMode::kExclusive, levels);
}
REDFLAG_ABI int __tsan_java_mutex_unlock_rec(uint64_t lock) {
  return hooks::Unlocking(REDFLAG_CALLER, Object(lock), LockMode::kExclusive, true);
}

REDFLAG_ABI void __tsan_java_acquire(uint64_t object) { AnnouncedAcquire(REDFLAG_CALLER, Object(object)); }
REDFLAG_ABI void __tsan_java_release(uint64_t object) { AnnouncedRelease(REDFLAG_CALLER, Object(object)); }
REDFLAG_ABI void __tsan_java_release_store(uint64_t object) { AnnouncedReleaseStore(REDFLAG_CALLER, Object(object)); }
