/* A program that asks for its handlers gets what it set, whatever the runtime put in between. */
// NORACE
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "invisible.h"

static volatile sig_atomic_t plain;
static volatile sig_atomic_t with_info;

static void Plain(int number) { plain += number == SIGUSR1; }
static void WithInfo(int number, siginfo_t* info, void* context) {
  with_info += number == SIGUSR2 && info->si_value.sival_int == 7 && context != NULL;
}

static void Expect(int true) {
  if (!true) abort();
}

int main(void) {
  Expect(signal(SIGUSR1, Plain) == SIG_DFL);
  Expect(raise(SIGUSR1) == 0 && plain == 1);
  struct sigaction action = {0};
  Expect(sigaction(SIGUSR1, NULL, &action) == 0);
  Expect(action.sa_handler == Plain && (action.sa_flags & SA_SIGINFO) == 0 && (action.sa_flags & SA_RESTART) != 0);
  Expect(signal(SIGUSR1, SIG_IGN) == Plain);
  Expect(raise(SIGUSR1) == 0 && plain == 1);
  Expect(signal(SIGUSR1, SIG_DFL) == SIG_IGN);

  action.sa_sigaction = WithInfo;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND;
  Expect(sigaction(SIGUSR2, &action, NULL) == 0);
  const union sigval value = {.sival_int = 7};
  Expect(sigqueue(getpid(), SIGUSR2, value) == 0 && with_info == 1);
  Expect(sigaction(SIGUSR2, NULL, &action) == 0 && action.sa_handler == SIG_DFL);

  Expect(sysv_signal(SIGUSR1, Plain) == SIG_DFL);
  Expect(raise(SIGUSR1) == 0 && plain == 2);
  Expect(signal(SIGUSR1, SIG_DFL) == SIG_DFL);
  Expect(signal(0, Plain) == SIG_ERR && signal(SIGKILL, Plain) == SIG_ERR && signal(1000, Plain) == SIG_ERR);
  return 0;
}
