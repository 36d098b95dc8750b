// Locks, conditions and one-time initialization of GLib. On Linux GMutex, GCond and GOnce are made of atomic operations and futexes inside the
// library, which nobody sees; GRecMutex and GRWLock are made of those of pthreads, and need nothing.
//
// Types of GLib are not known here: what counts is addresses. Calls that GLib makes to itself do not come here.
#include <cstdint>

#include "intercept/calls.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {

// ---- GMutex ----

REDFLAG_INTERCEPT(void, g_mutex_init, void* mutex) {
  real::g_mutex_init(mutex);
  if (hooks::Active()) hooks::LockCreated(REDFLAG_CALLER, mutex);
}

REDFLAG_INTERCEPT(void, g_mutex_clear, void* mutex) {
  real::g_mutex_clear(mutex);
  if (hooks::Active()) hooks::LockDestroyed(REDFLAG_CALLER, mutex);
}

REDFLAG_INTERCEPT(void, g_mutex_lock, void* mutex) {
  real::g_mutex_lock(mutex);
  if (hooks::Active()) hooks::Locked(REDFLAG_CALLER, mutex, LockMode::kExclusive);
}

REDFLAG_INTERCEPT(int, g_mutex_trylock, void* mutex) {
  const int taken = real::g_mutex_trylock(mutex);
  if (taken != 0 && hooks::Active()) hooks::Locked(REDFLAG_CALLER, mutex, LockMode::kExclusive);
  return taken;
}

REDFLAG_INTERCEPT(void, g_mutex_unlock, void* mutex) {
  if (hooks::Active()) hooks::Unlocking(REDFLAG_CALLER, mutex, LockMode::kExclusive);
  real::g_mutex_unlock(mutex);
}

// ---- GCond ----

REDFLAG_INTERCEPT(void, g_cond_wait, void* condition, void* mutex) {
  if (!hooks::Active()) return real::g_cond_wait(condition, mutex);
  const int depth = hooks::Unlocking(REDFLAG_CALLER, mutex, LockMode::kExclusive, true);
  real::g_cond_wait(condition, mutex);
  if (depth > 0) hooks::Locked(REDFLAG_CALLER, mutex, LockMode::kExclusive, depth);
  hooks::Notified(REDFLAG_CALLER, condition);
}

REDFLAG_INTERCEPT(int, g_cond_wait_until, void* condition, void* mutex, int64_t end_time) {
  if (!hooks::Active()) return real::g_cond_wait_until(condition, mutex, end_time);
  const int depth = hooks::Unlocking(REDFLAG_CALLER, mutex, LockMode::kExclusive, true);
  const int signalled = real::g_cond_wait_until(condition, mutex, end_time);
  if (depth > 0) hooks::Locked(REDFLAG_CALLER, mutex, LockMode::kExclusive, depth);
  if (signalled != 0) hooks::Notified(REDFLAG_CALLER, condition);
  return signalled;
}

REDFLAG_INTERCEPT(void, g_cond_signal, void* condition) {
  if (hooks::Active()) hooks::Notifying(REDFLAG_CALLER, condition);
  real::g_cond_signal(condition);
}

REDFLAG_INTERCEPT(void, g_cond_broadcast, void* condition) {
  if (hooks::Active()) hooks::Notifying(REDFLAG_CALLER, condition);
  real::g_cond_broadcast(condition);
}

// ---- Bits of words as locks ----

REDFLAG_INTERCEPT(void, g_bit_lock, volatile int* word, int bit) {
  real::g_bit_lock(word, bit);
  if (hooks::Active()) hooks::Acquire(REDFLAG_CALLER, const_cast<int*>(word));
}

REDFLAG_INTERCEPT(int, g_bit_trylock, volatile int* word, int bit) {
  const int taken = real::g_bit_trylock(word, bit);
  if (taken != 0 && hooks::Active()) hooks::Acquire(REDFLAG_CALLER, const_cast<int*>(word));
  return taken;
}

REDFLAG_INTERCEPT(void, g_bit_unlock, volatile int* word, int bit) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, const_cast<int*>(word));
  real::g_bit_unlock(word, bit);
}

// ---- Once ----

// The macro of this name first looks at the word itself, by an atomic operation in the program. The object is that word.
REDFLAG_INTERCEPT(int, g_once_init_enter, volatile void* word) {
  const int is_first = real::g_once_init_enter(word);
  if (is_first == 0 && hooks::Active()) hooks::Acquire(REDFLAG_CALLER, const_cast<void*>(word));
  return is_first;
}

REDFLAG_INTERCEPT(void, g_once_init_leave, volatile void* word, uintptr_t value) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, const_cast<void*>(word));
  real::g_once_init_leave(word, value);
}

namespace {

struct OnceCall {
  hooks::Pc pc;
  void* (*function)(void*);
  void* argument;
  void* once;
};

void* RunOnce(void* argument) {
  const auto& call = *static_cast<OnceCall*>(argument);
  void* result = call.function(call.argument);
  hooks::Release(call.pc, call.once);
  return result;
}

}  // namespace

REDFLAG_INTERCEPT(void*, g_once_impl, void* once, void* (*function)(void*), void* argument) {
  REDFLAG_LEFT_BY_EXCEPTIONS;
  if (!hooks::Active()) return real::g_once_impl(once, function, argument);
  OnceCall once_call{.pc = REDFLAG_CALLER, .function = function, .argument = argument, .once = once};
  void* result;
  {
    const Call call(REDFLAG_CALLER);
    result = real::g_once_impl(once, RunOnce, &once_call);
  }
  hooks::Acquire(REDFLAG_CALLER, once);
  return result;
}

}  // namespace redflag
