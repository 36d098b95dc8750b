// Signal handlers: one runs on top of whatever it interrupted, and its stack in reports says so. In place of the program's handler the
// kernel gets one of ours, which puts the interrupted place on the stack of calls and calls the program's; asked for a handler, we
// answer the program's.
//
// Setting a handler comes before its runs. Sending a signal orders nothing: no standard says that it does.
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

}  // namespace redflag
