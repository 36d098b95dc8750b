// A race, and then an end: ends HOW. Everything before the end is done; nothing behind it.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

int shared;

static void Race() {
  std::thread other([] { shared = 1; });
  shared = 2;
  other.join();
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "again") {
    std::puts("again");
    return 3;
  }
  Race();
  std::puts("raced");
  std::fflush(stdout);
  if (how == "_exit") _exit(4);
  if (how == "quick_exit") std::quick_exit(5);
  if (how == "abort") std::abort();
  if (how == "terminate") std::terminate();
  if (how == "throw") throw 1;
  if (how == "segv") *static_cast<volatile int*>(nullptr) = 1;
  if (how == "trap") raise(SIGTRAP);
  if (how == "kill") kill(getpid(), SIGKILL);
  if (how == "term") kill(getpid(), SIGTERM);
  if (how == "hang") {
    for (;;) pause();
  }
  if (how == "out-of-memory") {
    for (;;) {
      constexpr size_t kBytes = 1 << 20;
      std::memset(std::malloc(kBytes), 1, kBytes);
    }
  }
  if (how == "exit-in-thread") {
    std::thread([] { std::exit(6); }).join();
  }
  if (how == "pthread_exit") pthread_exit(nullptr);
  if (how == "exec") execl("/proc/self/exe", argv[0], "again", nullptr);
  if (how == "close-all") {
    for (int fd = 0; fd < 1024; ++fd) close(fd);
    Race();
    return 8;
  }
  return 9;
}
