// Threads of pthreads and of C11.
//
// Birth. The creator and the child meet before pthread_create returns: the child waits until the creator has told the
// runtime the child's handle, the creator until the child has begun. So the handle is known before anybody can use it,
// even if the child ends at once and a third thread gets the same handle; and what the child needs to know can lie on
// the creator's stack.
//
// A signal handler that runs in the child before it has begun would be taken for a thread that nobody created: signals are
// blocked from before the real call until then, in the creator too, from whom the child has its mask.
//
// Death. A thread ends by returning, by pthread_exit or by cancellation, and goes on running the program's code while
// it does: thread locals' destructors, and those of thread-specific data. All three ways lead through the latter, in up
// to PTHREAD_DESTRUCTOR_ITERATIONS rounds as long as some value is set. A key of ours keeps setting its own value, and
// the last round is the end.
//
// Not interposed: pthread_exit and thrd_exit (see above), pthread_cancel, pthread_kill.
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <threads.h>

#include <climits>

#include "base/arch.h"
#include "base/check.h"
#include "base/signal_mask.h"
#include "intercept/hooks.h"
#include "intercept/owned_threads.h"
#include "intercept/real.h"

namespace redflag {
namespace {

// ---- The end ----

constinit bool end_key_made = false;
constinit pthread_key_t end_key = 0;

void EndsIn(uintptr_t rounds) { pthread_setspecific(end_key, reinterpret_cast<void*>(rounds)); }

void EndOfRound(void* value) {
  const auto rounds = reinterpret_cast<uintptr_t>(value);
  if (rounds > 1) return EndsIn(rounds - 1);
  OwnedThreads::Ending();
  if (hooks::Active()) hooks::ThreadEnds();
}

// Before the first thread is created, so there is one thread that may call this. The first thread's end is watched as
// well: it can leave by pthread_exit while others go on.
[[gnu::constructor(101)]] void MakeEndKey() {
  if (end_key_made) return;
  end_key_made = true;
  REDFLAG_CHECK(pthread_key_create(&end_key, EndOfRound) == 0);
  EndsIn(PTHREAD_DESTRUCTOR_ITERATIONS);
}

// ---- The beginning ----

enum Stage : uint32_t { kStarting, kCreated, kBegun };

// What a child needs to know; on its creator's stack.
template <class Result>
struct Start {
  Result (*routine)(void*);
  void* argument;
  hooks::Child* child;
  const void* owner;  // owned_threads.h
  bool inherits_mask;
  SignalMask mask;  // the creator's, then the child's
  uint32_t stage;
};

void Reach(uint32_t* stage, Stage reached) {
  __atomic_store_n(stage, reached, __ATOMIC_RELEASE);
  arch::Syscall(SYS_futex, reinterpret_cast<intptr_t>(stage), FUTEX_WAKE_PRIVATE, 1);
}

void Await(const uint32_t* stage, Stage wanted) {
  for (uint32_t now; (now = __atomic_load_n(stage, __ATOMIC_ACQUIRE)) < wanted;) {
    arch::Syscall(SYS_futex, reinterpret_cast<intptr_t>(stage), FUTEX_WAIT_PRIVATE, now);
  }
}

// The stack is memory that another thread may have had: it has no past.
void TellOfStack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* stack = nullptr;
  size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &stack, &bytes) == 0) hooks::Mapped(REDFLAG_CALLER, stack, bytes);
  pthread_attr_destroy(&attributes);
}

template <class Result>
Result Run(void* argument) {
  auto& start = *static_cast<Start<Result>*>(argument);
  Await(&start.stage, kCreated);
  const auto routine = start.routine;
  void* const routine_argument = start.argument;
  OwnedThreads::Begun(start.owner);
  hooks::ThreadBegins(start.child, __builtin_dwarf_cfa());
  TellOfStack();
  EndsIn(PTHREAD_DESTRUCTOR_ITERATIONS);
  if (start.inherits_mask) SignalMask::Replace(start.mask);
  Reach(&start.stage, kBegun);  // start is gone from here on
  return routine(routine_argument);
}

bool IsDetached(const pthread_attr_t* attributes) {
  int state = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &state);
  return state == PTHREAD_CREATE_DETACHED;
}

bool InheritsMask(const pthread_attr_t* attributes) {
  sigset_t mask;
  return attributes == nullptr || pthread_attr_getsigmask_np(attributes, &mask) == PTHREAD_ATTR_NO_SIGMASK_NP;
}

// `create` makes the real call with the routine and the argument that it is given.
template <class Result, class Create>
int CreateThread(hooks::Pc pc, const pthread_attr_t* attributes, pthread_t* handle, Result (*routine)(void*),
                 void* argument, Create create) {
  MakeEndKey();
  Start<Result> start{.routine = routine,
                      .argument = argument,
                      .child = hooks::ThreadCreating(pc, IsDetached(attributes)),
                      .owner = OwnedThreads::Creating(),
                      .inherits_mask = InheritsMask(attributes),
                      .mask = {},
                      .stage = kStarting};
  hooks::CreationBegins();
  start.mask = SignalMask::Replace({SignalMask::kAll});
  const int error = create(Run<Result>, &start);
  SignalMask::Replace(start.mask);
  hooks::CreationEnds();
  if (error != 0) {
    OwnedThreads::NotCreated(start.owner);
    hooks::ThreadNotCreated(start.child);
    return error;
  }
  hooks::ThreadCreated(start.child, *handle);
  Reach(&start.stage, kCreated);
  Await(&start.stage, kBegun);
  return 0;
}

template <class Real, class... Rest>
int Join(hooks::Pc pc, const Real& real, pthread_t thread, Rest... rest) {
  if (!hooks::Active()) return real(thread, rest...);
  hooks::Child* const child = hooks::ThreadJoining(thread);
  const int error = real(thread, rest...);
  if (error == 0) hooks::ThreadJoined(pc, child);
  return error;
}

// Told before: afterwards the handle may already be another thread's.
template <class Real>
int Detach(hooks::Pc pc, const Real& real, pthread_t thread) {
  if (hooks::Active()) hooks::ThreadDetached(pc, thread);
  return real(thread);
}

}  // namespace

// ---- pthreads ----

REDFLAG_INTERCEPT(int, pthread_create, pthread_t* handle, const pthread_attr_t* attributes, void* (*routine)(void*),
                  void* argument) {
  if (!hooks::Active()) return real::pthread_create(handle, attributes, routine, argument);
  return CreateThread(REDFLAG_CALLER, attributes, handle, routine, argument, [=](void* (*run)(void*), void* start) {
    return real::pthread_create(handle, attributes, run, start);
  });
}

REDFLAG_INTERCEPT(int, pthread_join, pthread_t thread, void** result) {
  return Join(REDFLAG_CALLER, real::pthread_join, thread, result);
}

REDFLAG_INTERCEPT(int, pthread_tryjoin_np, pthread_t thread, void** result) {
  return Join(REDFLAG_CALLER, real::pthread_tryjoin_np, thread, result);
}

REDFLAG_INTERCEPT(int, pthread_timedjoin_np, pthread_t thread, void** result, const timespec* until) {
  return Join(REDFLAG_CALLER, real::pthread_timedjoin_np, thread, result, until);
}

REDFLAG_INTERCEPT(int, pthread_clockjoin_np, pthread_t thread, void** result, clockid_t clock, const timespec* until) {
  return Join(REDFLAG_CALLER, real::pthread_clockjoin_np, thread, result, clock, until);
}

REDFLAG_INTERCEPT(int, pthread_detach, pthread_t thread) {
  return Detach(REDFLAG_CALLER, real::pthread_detach, thread);
}

REDFLAG_INTERCEPT(int, pthread_setname_np, pthread_t thread, const char* name) {
  if (!hooks::Active()) return real::pthread_setname_np(thread, name);
  const int error = real::pthread_setname_np(thread, name);
  if (error == 0) hooks::ThreadNamed(thread, name);
  return error;
}

// ---- C11: functions of their own in libc, which do not come through those above ----

static_assert(sizeof(thrd_t) == sizeof(pthread_t));

REDFLAG_INTERCEPT(int, thrd_create, thrd_t* handle, thrd_start_t routine, void* argument) {
  if (!hooks::Active()) return real::thrd_create(handle, routine, argument);
  return CreateThread(REDFLAG_CALLER, nullptr, handle, routine, argument,
                      [=](thrd_start_t run, void* start) { return real::thrd_create(handle, run, start); });
}

REDFLAG_INTERCEPT(int, thrd_join, thrd_t thread, int* result) {
  return Join(REDFLAG_CALLER, real::thrd_join, thread, result);
}

REDFLAG_INTERCEPT(int, thrd_detach, thrd_t thread) { return Detach(REDFLAG_CALLER, real::thrd_detach, thread); }

}  // namespace redflag
