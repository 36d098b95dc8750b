// Functions of libc in whose place ours come, so that breakpoints and the program do not get in each other's way:
//   a breakpoint that is met while SIGTRAP is blocked kills the process, so that no mask of the program blocks it;
//   the handler of SIGTRAP stays ours, and the program's own is called for what is not ours;
//   before the program restricts its system calls, breakpoints are withdrawn.
// In a process that is not sampled they do what libc's do.
#include <dlfcn.h>
#include <linux/prctl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "trap/library.h"

#define REDFLAG_EXPORT extern "C" __attribute__((visibility("default")))

namespace redflag::trap {
namespace {

template <class Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// A set of signals without SIGTRAP.
class Without {
 public:
  explicit Without(const sigset_t* set) {
    if (set == nullptr || !IsSampled()) {
      set_ = set;
      return;
    }
    copy_ = *set;
    sigdelset(&copy_, SIGTRAP);
    set_ = &copy_;
  }
  operator const sigset_t*() const { return set_; }

 private:
  sigset_t copy_;
  const sigset_t* set_;
};

// Of a thread's mask, SIG_UNBLOCK and questions are as they were.
template <class Function>
int ChangeMask(Function* real, int how, const sigset_t* set, sigset_t* before) {
  if (how == SIG_UNBLOCK) return real(how, set, before);
  return real(how, Without(set), before);
}

}  // namespace
}  // namespace redflag::trap

using redflag::trap::IsSampled;
using redflag::trap::Real;
using redflag::trap::Without;

REDFLAG_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* before) {
  const auto real = redflag::trap::RealSigaction() != nullptr
                        ? redflag::trap::RealSigaction()
                        : Real<int(int, const struct sigaction*, struct sigaction*)>("sigaction");
  if (!IsSampled() || signal < 1 || signal > SIGRTMAX) return real(signal, action, before);
  if (signal == SIGTRAP) {
    struct sigaction& programs = redflag::trap::ProgramsAction();
    const struct sigaction was = programs;
    if (action != nullptr) programs = *action;
    if (before != nullptr) *before = was;
    return 0;
  }
  if (action == nullptr) return real(signal, action, before);
  struct sigaction without = *action;
  sigdelset(&without.sa_mask, SIGTRAP);
  return real(signal, &without, before);
}

REDFLAG_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (!IsSampled() || number != SIGTRAP) return Real<sighandler_t(int, sighandler_t)>("signal")(number, handler);
  struct sigaction action = {}, before = {};
  action.sa_handler = handler;
  sigaction(number, &action, &before);
  return before.sa_handler;
}

REDFLAG_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return redflag::trap::ChangeMask(Real<int(int, const sigset_t*, sigset_t*)>("sigprocmask"), how, set, before);
}

REDFLAG_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return redflag::trap::ChangeMask(Real<int(int, const sigset_t*, sigset_t*)>("pthread_sigmask"), how, set, before);
}

REDFLAG_EXPORT int sigsuspend(const sigset_t* set) { return Real<int(const sigset_t*)>("sigsuspend")(Without(set)); }

REDFLAG_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* set) {
  return Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)>("ppoll")(fds, count, timeout, Without(set));
}

REDFLAG_EXPORT int pselect(int count, fd_set* read, fd_set* write, fd_set* except, const timespec* timeout,
                           const sigset_t* set) {
  return Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>("pselect")(
      count, read, write, except, timeout, Without(set));
}

REDFLAG_EXPORT int epoll_pwait(int fd, epoll_event* events, int most, int timeout, const sigset_t* set) {
  return Real<int(int, epoll_event*, int, int, const sigset_t*)>("epoll_pwait")(fd, events, most, timeout,
                                                                                Without(set));
}

REDFLAG_EXPORT int epoll_pwait2(int fd, epoll_event* events, int most, const timespec* timeout, const sigset_t* set) {
  return Real<int(int, epoll_event*, int, const timespec*, const sigset_t*)>("epoll_pwait2")(fd, events, most, timeout,
                                                                                             Without(set));
}

REDFLAG_EXPORT int pthread_attr_setsigmask_np(pthread_attr_t* attributes, const sigset_t* set) {
  return Real<int(pthread_attr_t*, const sigset_t*)>("pthread_attr_setsigmask_np")(attributes, Without(set));
}

REDFLAG_EXPORT int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long arguments[4];
  for (unsigned long& argument : arguments) argument = va_arg(list, unsigned long);
  va_end(list);
  if (option == PR_SET_SECCOMP && IsSampled()) redflag::trap::WithdrawForSeccomp();
  return Real<int(int, ...)>("prctl")(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
