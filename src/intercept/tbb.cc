// oneTBB: its algorithms are templates, and compiled with the program; its scheduler is a plain library, which hands tasks from thread to thread and
// memory from task to task. The names are those of the library's binary interface.
#include <cstddef>
#include <cstdint>

#include "intercept/first_call.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

// ---- Tasks ----

// The library calls `execute`, or `cancel`, once: after two destructors these are the next in a task's table.
using TaskFunction = void* (*)(void* task, void* data);
constexpr uint32_t kExecute = 2;
constexpr uint32_t kCancel = 3;

template <uint32_t which>
void* Begin(void* task, void* data) {
  const auto table = FirstCall::Restore(task);
  if (hooks::Active()) hooks::Acquire(0, task);
  return reinterpret_cast<TaskFunction>(table[which])(task, data);
}

void GiveAway(hooks::Pc pc, void* task) {
  if (!hooks::Active()) return;
  const FirstCall::Kind kind{.first = kExecute,
                             .second = kCancel,
                             .first_function = reinterpret_cast<void*>(Begin<kExecute>),
                             .second_function = reinterpret_cast<void*>(Begin<kCancel>)};
  if (FirstCall::Expect(task, kind)) hooks::ReleaseStore(pc, task);
}

// The count of what is still to be done, the second word of a wait_context. The templates count down by atomic operations, and the library reads.
void Done(hooks::Pc pc, void* wait_context) {
  if (hooks::Active()) hooks::Acquire(pc, static_cast<uint64_t*>(wait_context) + 1);
}

}  // namespace

REDFLAG_INTERCEPT(void, _ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE, void* task, void* context) {
  GiveAway(REDFLAG_CALLER, task);
  real::_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE(task, context);
}
REDFLAG_INTERCEPT(void, _ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt, void* task, void* context,
                  uint16_t slot) {
  GiveAway(REDFLAG_CALLER, task);
  real::_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt(task, context, slot);
}
REDFLAG_INTERCEPT(void, _ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm, void* task,
                  void* context, void* arena, uintptr_t as_critical) {
  GiveAway(REDFLAG_CALLER, task);
  real::_ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm(task, context, arena,
                                                                                       as_critical);
}
REDFLAG_INTERCEPT(void, _ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE, void* task, void* arena) {
  GiveAway(REDFLAG_CALLER, task);
  real::_ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE(task, arena);
}
REDFLAG_INTERCEPT(void, _ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE,
                  void* task, void* context, void* arena) {
  GiveAway(REDFLAG_CALLER, task);
  real::_ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE(task, context, arena);
}
REDFLAG_INTERCEPT(void,
                  _ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_,
                  void* task, void* context, void* wait, void* wait_group) {
  GiveAway(REDFLAG_CALLER, task);
  real::_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
      task, context, wait, wait_group);
  Done(REDFLAG_CALLER, wait);
}
REDFLAG_INTERCEPT(void, _ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE, void* wait,
                  void* context) {
  real::_ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(wait, context);
  Done(REDFLAG_CALLER, wait);
}

// ---- Memory ----

// The library has pools of its own: a block that it hands out has no past, whoever had it.
REDFLAG_INTERCEPT(void*, _ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm, void* pool, size_t bytes) {
  void* block = real::_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm(pool, bytes);
  if (hooks::Active()) hooks::HandedOut(REDFLAG_CALLER, block, bytes);
  return block;
}
REDFLAG_INTERCEPT(void*, _ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE, void* pool,
                  size_t bytes, void* data) {
  void* block =
      real::_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE(pool, bytes, data);
  if (hooks::Active()) hooks::HandedOut(REDFLAG_CALLER, block, bytes);
  return block;
}
REDFLAG_INTERCEPT(void*, _ZN3tbb6detail2r115allocate_memoryEm, size_t bytes) {
  void* block = real::_ZN3tbb6detail2r115allocate_memoryEm(bytes);
  if (hooks::Active()) hooks::HandedOut(REDFLAG_CALLER, block, bytes);
  return block;
}
REDFLAG_INTERCEPT(void*, _ZN3tbb6detail2r122cache_aligned_allocateEm, size_t bytes) {
  void* block = real::_ZN3tbb6detail2r122cache_aligned_allocateEm(bytes);
  if (hooks::Active()) hooks::HandedOut(REDFLAG_CALLER, block, bytes);
  return block;
}
REDFLAG_INTERCEPT(void*, _ZN3tbb6detail2r126allocate_bounded_queue_repEm, size_t bytes) {
  void* block = real::_ZN3tbb6detail2r126allocate_bounded_queue_repEm(bytes);
  if (hooks::Active()) hooks::HandedOut(REDFLAG_CALLER, block, bytes);
  return block;
}

// ---- queuing_rw_mutex, the one lock that is in the library ----

namespace {

// A scoped_lock begins with the mutex that it holds.
void* MutexOf(void* scoped_lock) { return *static_cast<void**>(scoped_lock); }

LockMode ModeOf(bool is_writer) { return is_writer ? LockMode::kExclusive : LockMode::kShared; }

void GivenUp(hooks::Pc pc, void* scoped_lock) {
  if (!hooks::Active()) return;
  if (hooks::Unlocking(pc, MutexOf(scoped_lock), LockMode::kExclusive) == 0) {
    hooks::Unlocking(pc, MutexOf(scoped_lock), LockMode::kShared);
  }
}

}  // namespace

REDFLAG_INTERCEPT(void, _ZN3tbb6detail2r17acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb, void* mutex,
                  void* scoped_lock, bool is_writer) {
  real::_ZN3tbb6detail2r17acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb(mutex, scoped_lock, is_writer);
  if (hooks::Active()) hooks::Locked(REDFLAG_CALLER, mutex, ModeOf(is_writer));
}
REDFLAG_INTERCEPT(bool, _ZN3tbb6detail2r111try_acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb, void* mutex,
                  void* scoped_lock, bool is_writer) {
  const bool taken = real::_ZN3tbb6detail2r111try_acquireERNS0_2d116queuing_rw_mutexERNS3_11scoped_lockEb(
      mutex, scoped_lock, is_writer);
  if (taken && hooks::Active()) hooks::Locked(REDFLAG_CALLER, mutex, ModeOf(is_writer));
  return taken;
}
REDFLAG_INTERCEPT(void, _ZN3tbb6detail2r17releaseERNS0_2d116queuing_rw_mutex11scoped_lockE, void* scoped_lock) {
  GivenUp(REDFLAG_CALLER, scoped_lock);
  real::_ZN3tbb6detail2r17releaseERNS0_2d116queuing_rw_mutex11scoped_lockE(scoped_lock);
}
REDFLAG_INTERCEPT(bool, _ZN3tbb6detail2r117upgrade_to_writerERNS0_2d116queuing_rw_mutex11scoped_lockE,
                  void* scoped_lock) {
  GivenUp(REDFLAG_CALLER, scoped_lock);
  const bool without_others =
      real::_ZN3tbb6detail2r117upgrade_to_writerERNS0_2d116queuing_rw_mutex11scoped_lockE(scoped_lock);
  if (hooks::Active()) hooks::Locked(REDFLAG_CALLER, MutexOf(scoped_lock), LockMode::kExclusive);
  return without_others;
}
REDFLAG_INTERCEPT(bool, _ZN3tbb6detail2r119downgrade_to_readerERNS0_2d116queuing_rw_mutex11scoped_lockE,
                  void* scoped_lock) {
  GivenUp(REDFLAG_CALLER, scoped_lock);
  const bool done = real::_ZN3tbb6detail2r119downgrade_to_readerERNS0_2d116queuing_rw_mutex11scoped_lockE(scoped_lock);
  if (hooks::Active()) hooks::Locked(REDFLAG_CALLER, MutexOf(scoped_lock), LockMode::kShared);
  return done;
}

}  // namespace redflag
