// launch RESULT-FD COMMAND ARG...: runs a command and writes one line about it to RESULT-FD: user and system time
// (microseconds), wall time (microseconds), peak resident memory (KiB), wait status, and the pid first of all, on a line of
// its own, as soon as the command runs.
//
// It exists because the kernel counts the memory of whoever forks into the peak of the forked process: measured from Python,
// no program would ever seem to be smaller than Python.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

static long long Micros(struct timeval t) { return t.tv_sec * 1000000ll + t.tv_usec; }

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: launch RESULT-FD COMMAND ARG...\n");
    return 2;
  }
  const int result = atoi(argv[1]);
  const long long start = Now();
  const pid_t child = fork();
  if (child < 0) {
    perror("launch: fork");
    return 1;
  }
  if (child == 0) {
    close(result);
    execvp(argv[2], argv + 2);
    fprintf(stderr, "launch: %s: %s\n", argv[2], strerror(errno));
    _exit(127);
  }
  dprintf(result, "%d\n", (int)child);
  int status = 0;
  struct rusage used;
  while (wait4(child, &status, 0, &used) < 0)
    if (errno != EINTR) {
      perror("launch: wait4");
      return 1;
    }
  dprintf(result, "%lld %lld %lld %ld %d\n", Micros(used.ru_utime), Micros(used.ru_stime), Now() - start,
          used.ru_maxrss, status);
  return 0;
}
