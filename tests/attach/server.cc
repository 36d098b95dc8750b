// A little server that notices when it is disturbed. Each connection to its socket sends lines, each is answered by the same line and how many came on
// this connection. Meanwhile: a thread that sleeps in epoll_wait, one that has all signals blocked, one that starts processes all the time.
//
//   server SOCKET [quiet|unblocked]    until SIGTERM; then says what was, and exits with 7
//
// quiet: without these threads. unblocked: without the one that has signals blocked.
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

std::atomic<bool> done;
std::atomic<long> interrupted, wrong_masks, wrong_children, children, signals;
std::mutex mutex;
std::unordered_map<std::string, long> seen;  // under the lock

__attribute__((noinline)) static long Note(const std::string& line) {
  const std::lock_guard lock(mutex);
  return ++seen[line.substr(0, 3)];
}

static void Serve(int connection) {
  std::string pending;
  long count = 0;
  char buffer[4096];
  for (ssize_t got; (got = read(connection, buffer, sizeof buffer)) != 0;) {
    if (got < 0) {
      interrupted += errno == EINTR;
      continue;
    }
    pending.append(buffer, static_cast<size_t>(got));
    for (size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      Note(pending.substr(0, end));
      const std::string answer = pending.substr(0, end) + " " + std::to_string(++count) + "\n";
      if (write(connection, answer.data(), answer.size()) != static_cast<ssize_t>(answer.size())) ++interrupted;
    }
  }
  close(connection);
}

static void Accept(int listener) {
  for (;;) {
    const int connection = accept(listener, nullptr, nullptr);
    if (done) return;
    if (connection >= 0) std::thread(Serve, connection).detach();
    interrupted += connection < 0;
  }
}

// What is never ready.
static void Sleep() {
  const int poll = epoll_create1(0);
  while (!done) {
    epoll_event event;
    if (epoll_wait(poll, &event, 1, 200) < 0) ++interrupted;
  }
  close(poll);
}

static void Block() {
  sigset_t all, now;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  pthread_sigmask(SIG_SETMASK, nullptr, &all);
  for (long i = 0; !done; ++i) {
    Note(std::to_string(i % 100));
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    if (memcmp(&all, &now, 8) != 0) {
      ++wrong_masks;
      pthread_sigmask(SIG_SETMASK, &all, nullptr);
    }
    if (i % 1000 == 0) usleep(1000);
  }
}

__attribute__((noinline)) static int Compute(int number) {
  volatile int values[64];
  for (int i = 0; i < 64; ++i) values[i] = i * number;
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += values[i];
  return sum % 100;
}

static void StartProcesses() {
  for (int i = 0; !done; ++i) {
    const int expected = Compute(i % 7);
    pid_t child = fork();
    if (child == 0) {
      int sum = 0;
      for (int k = 0; k < 200; ++k) sum = Compute(i % 7);
      _exit(sum);
    }
    int status = 0;
    waitpid(child, &status, 0);
    wrong_children += !WIFEXITED(status) || WEXITSTATUS(status) != expected;
    char* argv[] = {const_cast<char*>("/bin/true"), nullptr};
    if (posix_spawn(&child, argv[0], nullptr, nullptr, argv, environ) == 0) {
      waitpid(child, &status, 0);
      wrong_children += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    ++children;
    usleep(5000);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  sigset_t waited;
  sigemptyset(&waited);
  sigaddset(&waited, SIGTERM);
  sigaddset(&waited, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &waited, nullptr);
  // In a process that is traced, a signal that nobody cares for wakes any thread that has it not blocked: here that is the first one.
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child, nullptr);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
  unlink(argv[1]);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 64) != 0) return 1;
  const bool quiet = argc > 2 && strcmp(argv[2], "quiet") == 0;
  const bool unblocked = argc > 2 && strcmp(argv[2], "unblocked") == 0;
  std::vector<std::thread> threads;
  std::thread(Accept, listener).detach();
  if (!quiet) {
    threads.emplace_back(Sleep);
    if (!unblocked) threads.emplace_back(Block);
    threads.emplace_back(StartProcesses);
  }
  pthread_sigmask(SIG_UNBLOCK, &child, nullptr);
  puts("ready");
  fflush(stdout);
  for (int signal = 0; sigwait(&waited, &signal) == 0 && signal != SIGTERM;) ++signals;
  done = true;
  for (std::thread& thread : threads) thread.join();
  printf("interrupted %ld, wrong masks %ld, wrong children %ld, %s, signals %ld\n", interrupted.load(),
         wrong_masks.load(), wrong_children.load(), quiet || children > 0 ? "children" : "no children", signals.load());
  fflush(stdout);
  _exit(7);
}
