// What programs do that may get in the way of breakpoints: signals blocked and handled, processes forked, spawned and replaced, threads by the hundred. Prints what it
// saw; under `redflag sample` that has to be the same.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern char** environ;

long numbers[1024];
volatile sig_atomic_t traps, alarms, ticks;
long ticked[64];

static void OnTrap(int) { ++traps; }
static void OnTick(int) {
  ++ticks;
  for (long& each : ticked) each += 1;
}
static void OnAlarm(int) {
  ++alarms;
  for (long& number : numbers) number += 1;
}

// Every access of it may have a breakpoint.
__attribute__((noinline)) static long Sum(int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    for (long& number : numbers) sum += number++ & 1;
  }
  return sum;
}

static void* Blocked(void*) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  Sum(20);
  pthread_mutex_unlock(&lock);
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "again") == 0) {
    std::printf("again: %d\n", Sum(10) >= 0);
    return 7;
  }
  // A handler of its own for SIGTRAP, and a trap of its own.
  struct sigaction action = {};
  action.sa_handler = OnTrap;
  sigaction(SIGTRAP, &action, nullptr);
  raise(SIGTRAP);
  raise(SIGTRAP);
  struct sigaction seen = {};
  sigaction(SIGTRAP, nullptr, &seen);
  std::printf("traps %d, handler %s\n", static_cast<int>(traps), seen.sa_handler == OnTrap ? "mine" : "not mine");

  // A handler with every signal blocked.
  action.sa_handler = OnAlarm;
  sigfillset(&action.sa_mask);
  sigaction(SIGALRM, &action, nullptr);
  raise(SIGALRM);
  std::printf("alarms %d\n", static_cast<int>(alarms));

  // Signals that come whenever they like, also while a thread is stopped by us; the handler has places that may have breakpoints.
  action.sa_handler = OnTick;
  sigemptyset(&action.sa_mask);
  sigaction(SIGPROF, &action, nullptr);
  const itimerval often = {.it_interval = {.tv_sec = 0, .tv_usec = 2000}, .it_value = {.tv_sec = 0, .tv_usec = 2000}},
                  never = {};
  setitimer(ITIMER_PROF, &often, nullptr);
  while (ticks < 100) Sum(1);
  setitimer(ITIMER_PROF, &never, nullptr);
  std::printf("ticks\n");

  // Many threads that block every signal.
  for (int round = 0; round < 10; ++round) {
    pthread_t threads[20];
    for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Blocked, nullptr);
    for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  }
  std::printf("threads\n");

  std::fflush(stdout);
  if (const pid_t child = fork(); child == 0) {
    Sum(10);
    _exit(3);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("forked: %d\n", WEXITSTATUS(status));
  }
  std::fflush(stdout);
  char again[] = "again";
  char* arguments[] = {argv[0], again, nullptr};
  pid_t spawned = 0;
  posix_spawn(&spawned, argv[0], nullptr, nullptr, arguments, environ);
  int status = 0;
  waitpid(spawned, &status, 0);
  std::printf("spawned: %d\n", WEXITSTATUS(status));
  std::fflush(stdout);
  if (const pid_t child = vfork(); child == 0) {
    execv(argv[0], arguments);
    _exit(1);
  } else {
    waitpid(child, &status, 0);
    std::printf("vforked: %d\n", WEXITSTATUS(status));
  }
  std::fflush(stdout);
  execv(argv[0], arguments);
  return 1;
}
