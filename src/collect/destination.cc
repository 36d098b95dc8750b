#include "collect/destination.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace redflag {
namespace {

constexpr int kPatience = 5000;  // milliseconds without a byte going through
constexpr int kOpenFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;

bool SameFile(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

bool ColoursWanted() {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  return term == nullptr || std::string_view(term) != "dumb";
}

}  // namespace

bool WriteAll(int fd, std::string_view text) {
  // Where a write may block, poll promises room for PIPE_BUF bytes, no more.
  const bool may_block = (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
  struct stat status{};
  const bool is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const size_t piece = may_block && !is_file ? PIPE_BUF : text.size();
  while (!text.empty()) {
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    const int answer = poll(&ready, 1, kPatience);
    if (answer == 0 || (answer < 0 && errno != EINTR)) return false;
    const ssize_t written = write(fd, text.data(), std::min(piece, text.size()));
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (written < 0 && errno != EINTR && errno != EAGAIN) {
      return false;
    }
  }
  return true;
}

bool AppendToFile(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), kOpenFlags | O_CREAT, 0666);
  if (fd < 0) return false;
  const bool is_written = WriteAll(fd, text);
  close(fd);
  return is_written;
}

Destination::Destination(std::string target, pid_t victim, bool colours)
    : target_(std::move(target)),
      victim_stderr_(fmt::format("/proc/{}/fd/2", victim)),
      pidfd_(static_cast<int>(syscall(SYS_pidfd_open, victim, 0))),
      colours_(colours && ColoursWanted()),
      shares_ours_(target_.empty() && VictimHasOurs()) {}

Destination::~Destination() {
  if (pidfd_ >= 0) close(pidfd_);
}

bool Destination::VictimHasOurs() const {
  struct stat theirs{};
  struct stat ours{};
  return stat(victim_stderr_.c_str(), &theirs) == 0 && fstat(STDERR_FILENO, &ours) == 0 && SameFile(theirs, ours);
}

void Destination::LetGo() {
  if (!shares_ours_ || VictimHasOurs()) return;
  // A dead process has no descriptors either, and what it sent is still to be printed.
  pollfd death{.fd = pidfd_, .events = POLLIN, .revents = 0};
  if (pidfd_ < 0 || poll(&death, 1, 0) != 0) return;
  shares_ours_ = false;
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
  }
}

// The best first. A duplicate of the program's own descriptor, or ours if it is the same: reports and the program's output then
// share one position in a file, and neither overwrites the other. Opened anew, it has a position of its own, at the end.
Destination::Opened Destination::OpenVictim() const {
  if (pidfd_ >= 0) {
    const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd_, STDERR_FILENO, 0));
    if (copy >= 0) return {copy, false};
    if (shares_ours_ && VictimHasOurs()) return {STDERR_FILENO, true};
    const int opened = open(victim_stderr_.c_str(), kOpenFlags | O_NONBLOCK);
    if (opened >= 0) return {opened, false};
  }
  return {STDERR_FILENO, true};
}

Destination::Opened Destination::Open() const {
  if (target_.empty()) return OpenVictim();
  if (target_ == "fd2") return {STDERR_FILENO, true};
  return {open(target_.c_str(), kOpenFlags | O_CREAT | O_NONBLOCK, 0666), false};
}

void Destination::Print(const Render& render) {
  if (PrintTo(Open(), render) || target_.empty() || target_ == "fd2") return;
  // Whatever is wrong with the file, the report is not lost.
  if (!has_complained_) {
    const std::string why = std::strerror(errno);
    PrintTo(OpenVictim(), [&](Colour) {
      return fmt::format("redflag: cannot write to {}: {}; reports come here instead\n", target_, why);
    });
    has_complained_ = true;
  }
  PrintTo(OpenVictim(), render);
}

bool Destination::PrintTo(Opened opened, const Render& render) {
  if (opened.fd < 0) return false;
  const Colour colour = colours_ && isatty(opened.fd) != 0 ? Colour::kYes : Colour::kNo;
  const bool is_written = WriteAll(opened.fd, render(colour));
  const int error = errno;
  if (!opened.is_ours) close(opened.fd);
  errno = error;
  return is_written;
}

}  // namespace redflag
