// How processes begin and end.
//
// fork is told from inside, through pthread_atfork: the program's own handlers, which may lock and unlock what they
// like, then run outside of the time in which the runtime holds its breath; and daemon() and forkpty(), which do not
// call the fork that one can interpose, are told as well.
//
// vfork is left alone, and posix_spawn with it: the child runs on its parent's memory and stack until it calls exec or
// _exit, so to everybody else it is the parent for that while; and no function can stand in for one that returns twice
// on one stack.
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "base/arch.h"
#include "base/check.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {

REDFLAG_REAL(void, exit, int status)
REDFLAG_REAL(int, on_exit, void (*function)(int, void*), void* argument)

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local hooks::Pc fork_pc = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool fork_told = false;

// Which process the runtime is in.
constinit int64_t process = 0;

void Prepare() {
  fork_told = hooks::Active();
  if (fork_told) hooks::BeforeFork(fork_pc);
}

void InParent() {
  if (fork_told) hooks::AfterForkInParent();
}

void InChild() {
  process = arch::Syscall(SYS_getpid);
  if (fork_told) hooks::AfterForkInChild();
}

// Asked whether active or not, for the end may come in a thread that has ended already: the last one to leave by
// pthread_exit ends the process. But a child of vfork that ends after a failed exec must not end its parent, whose
// memory this is.
int FinalStatus(int status) { return arch::Syscall(SYS_getpid) == process ? hooks::Exiting(status) : status; }

// The end of main and exit come to the same list of handlers, and this is one of the last: it was put there before main
// and before the program's static objects were made. Calling exit from a handler goes on with the rest of the list,
// with another status.
void AtExit(int status, void* /*unused*/) {
  const int final_status = FinalStatus(status);
  if (final_status != status) real::exit(final_status);
}

[[gnu::constructor(101)]] void Register() {
  process = arch::Syscall(SYS_getpid);
  REDFLAG_CHECK(pthread_atfork(Prepare, InParent, InChild) == 0);
  REDFLAG_CHECK(real::on_exit(AtExit, nullptr) == 0);
}

}  // namespace

REDFLAG_INTERCEPT(pid_t, fork, void) {
  fork_pc = REDFLAG_CALLER;
  const pid_t child = real::fork();
  fork_pc = 0;
  return child;
}

// clone, where it makes a process that has its memory to itself: a fork whose child begins in a function. What shares its memory is a
// thread, or like the child of vfork.
namespace {

struct Cloned {
  int (*function)(void*);
  void* argument;
};

int RunCloned(void* argument) {
  const Cloned cloned = *static_cast<const Cloned*>(argument);
  process = arch::Syscall(SYS_getpid);
  hooks::AfterForkInChild();
  return cloned.function(cloned.argument);
}

}  // namespace

// Variadic in the headers: both architectures pass all arguments alike, and they are read only where they were given.
REDFLAG_INTERCEPT(int, clone, int (*function)(void*), void* stack, int flags, void* argument, void* parent, void* tls,
                  void* child) {
  if ((flags & CLONE_VM) != 0 || !hooks::Active())
    return real::clone(function, stack, flags, argument, parent, tls, child);
  Cloned cloned{.function = function, .argument = argument};
  hooks::BeforeFork(REDFLAG_CALLER);
  const int result = real::clone(RunCloned, stack, flags, &cloned, parent, tls, child);
  hooks::AfterForkInParent();
  return result;
}

// ---- The ends that run no handlers, or other ones ----

REDFLAG_INTERCEPT(void, _exit, int status) { real::_exit(FinalStatus(status)); }

REDFLAG_INTERCEPT(void, _Exit, int status) { real::_Exit(FinalStatus(status)); }

REDFLAG_INTERCEPT(void, quick_exit, int status) { real::quick_exit(FinalStatus(status)); }

}  // namespace redflag
