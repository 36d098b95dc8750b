// A program with SIGTRAP of its own. For each line that it reads: "int3" meets a breakpoint that it has in itself, "raise" sends itself the signal.
//
//   traps [handles]    handles: it counts them, and says how many at the end; without, the first one ends it
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <atomic>
#include <thread>

std::atomic<bool> done;
std::atomic<int> caught;  // not sampled: a breakpoint that is met with SIGTRAP blocked takes the handler away
int table[64];

static void Catch(int) { ++caught; }

// Something to sample.
__attribute__((noinline)) static void Compute(int round) {
  for (int& entry : table) entry += round;
}

int main(int argc, char**) {
  if (argc > 1) signal(SIGTRAP, Catch);
  std::thread worker([] {
    for (int round = 0; !done; ++round) Compute(round);
  });
  puts("ready");
  fflush(stdout);
  char line[32];
  while (fgets(line, sizeof line, stdin) != nullptr) {
    if (strcmp(line, "int3\n") == 0) {
#if defined(__x86_64__)
      asm volatile("int3");
#else
      raise(SIGTRAP);
#endif
    } else {
      raise(SIGTRAP);
    }
    puts("went on");
    fflush(stdout);
  }
  done = true;
  worker.join();
  printf("caught %d\n", caught.load());
  return 0;
}
