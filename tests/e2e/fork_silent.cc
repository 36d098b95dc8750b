// A process that has reported nothing forks, execs, spawns and ends children by _exit: all of it as without a detector.
// NORACE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "invisible.h"

#define CHECK(condition) \
  if (!(condition)) abort()

extern char** environ;
volatile sig_atomic_t children_ended;
int value;

void OnChild(int) { children_ended = children_ended + 1; }

void* Worker(void*) {
  ++value;
  return nullptr;
}

int StatusOf(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

int main() {
  signal(SIGCHLD, OnChild);
  pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    pthread_create(&thread, nullptr, Worker, nullptr);
    pthread_join(thread, nullptr);
    ++value;
    _exit(value == 2 ? 5 : 1);
  }
  CHECK(StatusOf(child) == 5);
  child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "exit 6", nullptr);
    _exit(127);
  }
  CHECK(StatusOf(child) == 6);
  child = vfork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
    _exit(127);
  }
  CHECK(StatusOf(child) == 7);
  char* arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("exit 8"), nullptr};
  CHECK(posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments, environ) == 0);
  CHECK(StatusOf(child) == 8);
  child = fork();
  if (child == 0) {  // a child of a child
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(9);
    _exit(StatusOf(grandchild));
  }
  CHECK(StatusOf(child) == 9);
  CHECK(children_ended == 5);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);  // nobody else is a child of this process
  CHECK(value == 0);
}
