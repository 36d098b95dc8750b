#include "cli/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace redflag::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNotFound = 127;
constexpr size_t kMostOutput = size_t{1} << 20;

[[noreturn]] void BecomeChild(const Subprocess& process, int output) {
  setpgid(0, 0);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDIN_FILENO);
  for (const auto& [name, value] : process.environment) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  std::vector<char*> argv;
  argv.reserve(process.command.size() + 1);
  for (const std::string& word : process.command)
    argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp's signature
  argv.push_back(nullptr);
  if (process.folder.empty() || chdir(process.folder.c_str()) == 0) execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "%s: %s\n", argv[0], std::strerror(errno));
  _exit(kNotFound);
}

// Until all who could write have closed the pipe; false at the deadline.
bool ReadAll(int pipe, Clock::time_point deadline, std::string& output) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd ready = {.fd = pipe, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(left)) <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t got = read(pipe, buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got > 0 && output.size() < kMostOutput) output.append(buffer.data(), static_cast<size_t>(got));
  }
}

}  // namespace

SubprocessResult RunSubprocess(const Subprocess& process) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    throw std::runtime_error(std::string("fork: ") + std::strerror(error));
  }
  if (child == 0) BecomeChild(process, ends[1]);
  setpgid(child, child);  // whoever is first
  close(ends[1]);
  SubprocessResult result;
  result.timed_out = !ReadAll(ends[0], Clock::now() + process.limit, result.output);
  if (result.timed_out) kill(-child, SIGKILL);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace redflag::cli
