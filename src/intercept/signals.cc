// Signal handlers: one runs on top of whatever it interrupted, and its stack in reports says so. In place of the program's handler the
// kernel gets one of ours, which puts the interrupted place on the stack of calls and calls the program's; asked for a handler, we
// answer the program's.
//
// Setting a handler comes before its runs. Sending a signal orders nothing that its handler does: no standard says so. But who waits for one (sigwait)
// comes after who has sent it.
//
// A signal that arrives while its thread is in the runtime is handled at once, and what its handler does is not watched.
#include <signal.h>

#include <cerrno>

#include "base/arch.h"
#include "intercept/calls.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {

REDFLAG_REAL(int, sigaction, int signal, const struct sigaction* action, struct sigaction* old)

namespace {

using Handler = void (*)(int);
using InfoHandler = void (*)(int, siginfo_t*, void*);

// The program's handlers, by signal.
constinit void* handlers[NSIG] = {};

// Frames hold the places that calls return to: the one behind the interrupted instruction's first byte does for it.
hooks::Pc PlaceOf(const void* context) { return arch::InterruptedAt(context) + 1; }

// By the first byte of the handler.
void TellSpoilt(uintptr_t handler, int signal) {
  if (hooks::Active()) hooks::ErrnoSpoilt(handler + 1, signal);
}

// Is it about what the thread did at this very instruction, or does it end the program?
bool IsFault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP ||
         signal == SIGSYS || signal == SIGABRT;
}

[[gnu::noinline]] void Handle(int signal, siginfo_t*, void* context) {
  REDFLAG_LEFT_BY_EXCEPTIONS;
  const Call call(PlaceOf(context));
  const hooks::Ignored interrupted = hooks::HandlerBegins(IsFault(signal));
  if (hooks::Active()) hooks::Acquire(PlaceOf(context), &handlers[signal]);
  const auto handler = reinterpret_cast<Handler>(__atomic_load_n(&handlers[signal], __ATOMIC_ACQUIRE));
  const int error = errno;
  handler(signal);
  if (errno != error) TellSpoilt(reinterpret_cast<uintptr_t>(handler), signal);
  hooks::HandlerEnds(interrupted);
}

[[gnu::noinline]] void HandleWithInfo(int signal, siginfo_t* info, void* context) {
  REDFLAG_LEFT_BY_EXCEPTIONS;
  const Call call(PlaceOf(context));
  const hooks::Ignored interrupted = hooks::HandlerBegins(IsFault(signal));
  if (hooks::Active()) hooks::Acquire(PlaceOf(context), &handlers[signal]);
  const auto handler = reinterpret_cast<InfoHandler>(__atomic_load_n(&handlers[signal], __ATOMIC_ACQUIRE));
  const int error = errno;
  handler(signal, info, context);
  if (errno != error) TellSpoilt(reinterpret_cast<uintptr_t>(handler), signal);
  hooks::HandlerEnds(interrupted);
}

bool IsFunction(Handler handler) {
  return handler != SIG_DFL && handler != SIG_IGN && handler != SIG_ERR && handler != SIG_HOLD;
}

// What the kernel answered, in the program's terms.
void Translate(struct sigaction& action, void* handler) {
  if (action.sa_sigaction != Handle && action.sa_sigaction != HandleWithInfo) return;
  if (action.sa_sigaction == Handle) action.sa_flags &= ~SA_SIGINFO;
  action.sa_handler = reinterpret_cast<Handler>(handler);
}

int SetAction(hooks::Pc pc, int signal, const struct sigaction* action, struct sigaction* old) {
  if (signal <= 0 || signal >= NSIG) return real::sigaction(signal, action, old);
  void* const before = __atomic_load_n(&handlers[signal], __ATOMIC_ACQUIRE);
  struct sigaction ours;
  const struct sigaction* given = action;
  if (action != nullptr && IsFunction(action->sa_handler)) {
    ours = *action;
    ours.sa_sigaction = (action->sa_flags & SA_SIGINFO) != 0 ? HandleWithInfo : Handle;
    ours.sa_flags |= SA_SIGINFO;
    if (hooks::Active()) hooks::Release(pc, &handlers[signal]);
    __atomic_store_n(&handlers[signal], reinterpret_cast<void*>(action->sa_handler), __ATOMIC_RELEASE);
    given = &ours;
  }
  const int result = real::sigaction(signal, given, old);
  if (result == 0 && old != nullptr) Translate(*old, before);
  if (result != 0 && given == &ours) __atomic_store_n(&handlers[signal], before, __ATOMIC_RELEASE);
  return result;
}

Handler SetHandler(hooks::Pc pc, int signal, Handler handler, int flags) {
  if (handler == SIG_ERR || signal <= 0 || signal >= NSIG) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if ((flags & SA_NODEFER) == 0) sigaddset(&action.sa_mask, signal);
  struct sigaction old = {};
  return SetAction(pc, signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

}  // namespace

REDFLAG_EXPORT(int, sigaction, int signal, const struct sigaction* action, struct sigaction* old) {
  return SetAction(REDFLAG_CALLER, signal, action, old);
}

REDFLAG_EXPORT(Handler, signal, int signal, Handler handler) {
  return SetHandler(REDFLAG_CALLER, signal, handler, SA_RESTART);
}
REDFLAG_EXPORT(Handler, bsd_signal, int signal, Handler handler) {
  return SetHandler(REDFLAG_CALLER, signal, handler, SA_RESTART);
}
REDFLAG_EXPORT(Handler, ssignal, int signal, Handler handler) {
  return SetHandler(REDFLAG_CALLER, signal, handler, SA_RESTART);
}
REDFLAG_EXPORT(Handler, sysv_signal, int signal, Handler handler) {
  return SetHandler(REDFLAG_CALLER, signal, handler, SA_RESETHAND | SA_NODEFER);
}
REDFLAG_EXPORT(Handler, __sysv_signal, int signal, Handler handler) {
  return SetHandler(REDFLAG_CALLER, signal, handler, SA_RESETHAND | SA_NODEFER);
}

// ---- Signals that are waited for ----

namespace {

// Addresses that stand for what was sent, by signal.
constinit char sent[NSIG] = {};

void Sending(hooks::Pc pc, int signal) {
  if (signal > 0 && signal < NSIG && hooks::Active()) hooks::Release(pc, &sent[signal]);
}

void Received(hooks::Pc pc, int signal) {
  if (signal > 0 && signal < NSIG && hooks::Active()) hooks::Acquire(pc, &sent[signal]);
}

}  // namespace

// If a thread sends one to itself, the handler runs before these return.
#define REDFLAG_SEND(name, parameters, arguments)           \
  REDFLAG_INTERCEPT(int, name, REDFLAG_UNPACK parameters) { \
    REDFLAG_LEFT_BY_EXCEPTIONS;                             \
    Sending(REDFLAG_CALLER, signal);                        \
    const Call call(REDFLAG_CALLER);                        \
    return real::name arguments;                            \
  }
#define REDFLAG_UNPACK(...) __VA_ARGS__
REDFLAG_SEND(kill, (pid_t process, int signal), (process, signal))
REDFLAG_SEND(pthread_kill, (pthread_t thread, int signal), (thread, signal))
REDFLAG_SEND(sigqueue, (pid_t process, int signal, sigval value), (process, signal, value))
REDFLAG_SEND(pthread_sigqueue, (pthread_t thread, int signal, sigval value), (thread, signal, value))
#undef REDFLAG_SEND

REDFLAG_INTERCEPT(int, sigwait, const sigset_t* signals, int* came) {
  const int error = real::sigwait(signals, came);
  if (error == 0) Received(REDFLAG_CALLER, *came);
  return error;
}
REDFLAG_INTERCEPT(int, sigwaitinfo, const sigset_t* signals, siginfo_t* info) {
  const int came = real::sigwaitinfo(signals, info);
  Received(REDFLAG_CALLER, came);
  return came;
}
REDFLAG_INTERCEPT(int, sigtimedwait, const sigset_t* signals, siginfo_t* info, const timespec* time) {
  const int came = real::sigtimedwait(signals, info, time);
  Received(REDFLAG_CALLER, came);
  return came;
}

}  // namespace redflag
