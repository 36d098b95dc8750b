// What is to be called at the exit of the process, or of a library: atexit, on_exit, and the destructors of static objects.
//
// Whoever had it called comes before the call: libc keeps the list under a lock of its own. The place where that was said is on the stack of the call,
// under the name that ThreadSanitizer has for it.
//
// atexit itself is part of each program and library, so that libc knows whose it is, and jumps to __cxa_atexit: the caller is that of atexit.
#include <cstddef>
#include <cstdlib>

#include "intercept/calls.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {

REDFLAG_REAL(void*, malloc, size_t bytes)
REDFLAG_REAL(void, free, void* block)

namespace {

// Freed by the call, of which there is one.
struct Installed {
  hooks::Pc pc;
  void* function;
  void* argument;
};

Installed* Install(hooks::Pc pc, void* function, void* argument) {
  if (function == nullptr || !hooks::Active()) return nullptr;
  auto* installed = static_cast<Installed*>(real::malloc(sizeof(Installed)));
  if (installed == nullptr) return nullptr;
  *installed = {.pc = pc, .function = function, .argument = argument};
  hooks::Release(pc, installed);
  return installed;
}

void Uninstall(Installed* installed) {
  if (hooks::Active()) hooks::Forget(installed->pc, installed);
  real::free(installed);
}

// Before the call. A pc of 0: the runtime does not listen any more.
Installed Take(void* data) {
  auto* installed = static_cast<Installed*>(data);
  Installed taken = *installed;
  if (hooks::Active()) {
    hooks::Acquire(taken.pc, installed);
  } else {
    taken.pc = 0;
  }
  Uninstall(installed);
  return taken;
}

template <class Function, class... Arguments>
[[gnu::always_inline]] inline void Run(const Installed& installed, Arguments... arguments) {
  auto* const function = reinterpret_cast<Function*>(installed.function);
  if (installed.pc == 0) return function(arguments...);
  const Call call(installed.pc);
  function(arguments...);
}

}  // namespace

// Never left by a jump: their names are on the stack. Of atexit, of a destructor, of on_exit.
extern "C" {
[[gnu::visibility("hidden"), gnu::noinline]] void at_exit_callback_installed_at(void* data) {
  REDFLAG_LEFT_BY_EXCEPTIONS;
  const Installed installed = Take(data);
  Run<void(void*)>(installed, installed.argument);
}
[[gnu::visibility("hidden"), gnu::noinline]] void cxa_at_exit_callback_installed_at(void* data) {
  REDFLAG_LEFT_BY_EXCEPTIONS;
  const Installed installed = Take(data);
  Run<void(void*)>(installed, installed.argument);
  asm volatile("");  // another function than the one before
}
[[gnu::visibility("hidden"), gnu::noinline]] void on_exit_callback_installed_at(int status, void* data) {
  REDFLAG_LEFT_BY_EXCEPTIONS;
  const Installed installed = Take(data);
  Run<void(int, void*)>(installed, status, installed.argument);
}
}

REDFLAG_INTERCEPT(int, __cxa_atexit, void (*function)(void*), void* argument, void* library) {
  Installed* installed = Install(REDFLAG_CALLER, reinterpret_cast<void*>(function), argument);
  if (installed == nullptr) return real::__cxa_atexit(function, argument, library);
  const auto callback = argument == nullptr ? at_exit_callback_installed_at : cxa_at_exit_callback_installed_at;
  const int error = real::__cxa_atexit(callback, installed, library);
  if (error != 0) Uninstall(installed);
  return error;
}

REDFLAG_INTERCEPT(int, on_exit, void (*function)(int, void*), void* argument) {
  Installed* installed = Install(REDFLAG_CALLER, reinterpret_cast<void*>(function), argument);
  if (installed == nullptr) return real::on_exit(function, argument);
  const int error = real::on_exit(on_exit_callback_installed_at, installed);
  if (error != 0) Uninstall(installed);
  return error;
}

}  // namespace redflag
