// A child process, what it wrote to standard error, and how it ended.
#pragma once

#include <string.h>
#include <sys/wait.h>

#include "invisible.h"

struct Ended {
  int status;
  char text[4096];

  bool Says(const char* words) const { return strstr(text, words) != nullptr; }
};

template <class Code>
INVISIBLE static Ended InChild(Code code) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  const pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    code();
    _exit(0);
  }
  close(ends[1]);
  Ended ended{};
  size_t length = 0;
  for (ssize_t got; length < sizeof ended.text - 1 &&
                    (got = read(ends[0], ended.text + length, sizeof ended.text - 1 - length)) > 0;) {
    length += static_cast<size_t>(got);
  }
  close(ends[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) abort();
  ended.status = WEXITSTATUS(status);
  return ended;
}
