// Children: whoever waits for any sees its own, and no other. waits [subreaper]
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>

int shared;
static volatile sig_atomic_t ended;

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "subreaper") == 0) prctl(PR_SET_CHILD_SUBREAPER, 1);
  struct sigaction action = {};
  action.sa_handler = [](int) { ended = ended + 1; };
  sigaction(SIGCHLD, &action, nullptr);
  if (waitpid(-1, nullptr, 0) != -1 || errno != ECHILD) {
    std::puts("there is a child before there is one");
    return 1;
  }
  std::thread other([] { shared = 1; });
  shared = 2;
  other.join();
  const pid_t child = fork();
  if (child == 0) _exit(11);
  int status = 0;
  const pid_t found = waitpid(-1, &status, 0);
  if (found != child || !WIFEXITED(status) || WEXITSTATUS(status) != 11) {
    std::puts("another child than ours");
    return 1;
  }
  if (wait(nullptr) != -1 || errno != ECHILD) {
    std::puts("there is one more child");
    return 1;
  }
  siginfo_t info;
  const bool is_first = getpid() == 1;  // then there is one that makes no signal (docs/limits.md)
  if (!is_first && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) != -1 || errno != ECHILD) {
    std::puts("there is one of another kind");
    return 1;
  }
  if (ended != 1) {
    std::printf("%d signals of children\n", static_cast<int>(ended));
    return 1;
  }
  std::puts("one child");
  return 3;
}
