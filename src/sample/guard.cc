#include "sample/guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "events/sample_machine.h"
#include "events/sample_rules.h"
#include "sample/left_breakpoints.h"

namespace redflag {
namespace {

pid_t worker = 0;
void PassOn(int) {
  if (worker > 0) kill(worker, SIGTERM);
}

// Whoever kills all that is called so kills the guard, and not both.
void BeCalled(const std::string& name) {
  prctl(PR_SET_NAME, name.c_str());
  constexpr int kArgumentsBegin = 48;  // in /proc/PID/stat, counted from 1; the next is their end
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));  // behind the second
  std::string skipped;
  for (int i = 3; i < kArgumentsBegin; ++i) fields >> skipped;
  uint64_t begin = 0, end = 0;
  if (!(fields >> begin >> end) || begin == 0 || begin >= end) return;
  auto* arguments = reinterpret_cast<char*>(begin);  // NOLINT: an address of our own
  std::memset(arguments, 0, end - begin);
  std::memcpy(arguments, name.data(), std::min<size_t>(name.size(), end - begin - 1));
}

// One of these for a process at a time: one that is about to leave still has its shield to lower. Both guard and tracer have it, until the last of them
// ends, however that is. -1: it took too long.
int AwaitTurn(pid_t pid) {
  constexpr int kTurns = 5000;  // of a millisecond
  const int turn = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = fmt::format("redflag-attach-{}", pid);  // without a file: the first letter is 0
  std::memcpy(name.sun_path + 1, text.data(), text.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  for (int i = 0; i < kTurns; ++i) {
    if (bind(turn, reinterpret_cast<const sockaddr*>(&name), bytes) == 0) return turn;
    if (errno != EADDRINUSE) break;
    usleep(1000);
  }
  if (turn >= 0) close(turn);
  return -1;
}

// The page of breakpoints, as the tracer left it.
class LeftPage {
 public:
  explicit LeftPage(int fd) {
    struct stat status{};
    if (fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(SamplePage))) return;
    bytes_ = static_cast<size_t>(status.st_size);
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) page_ = static_cast<SamplePage*>(at);
    if (page_ != nullptr && page_->tables_bytes <= bytes_) capacity_ = page_->site_capacity;
  }
  ~LeftPage() {
    if (page_ != nullptr) munmap(page_, bytes_);
  }
  LeftPage(const LeftPage&) = delete;
  LeftPage& operator=(const LeftPage&) = delete;

  // How many were there. Those that were written last come first: they are in code that runs.
  size_t TakeOut(int memory) const {
    if (capacity_ == 0 || memory < 0) return 0;
    std::vector<uint32_t> armed;
    for (uint32_t i = 0; i < capacity_; ++i) {
      if (__atomic_load_n(&sampling::StatesOf(page_)[i], __ATOMIC_ACQUIRE) != 0) armed.push_back(i);
    }
    const uint32_t* when = sampling::ArmedOf(page_);
    std::sort(armed.begin(), armed.end(), [&](uint32_t a, uint32_t b) { return when[a] > when[b]; });
    size_t taken = 0;
    for (const uint32_t index : armed) {
      const SampleSite& site = sampling::SitesOf(page_)[index];
      const auto where = static_cast<off_t>(site.address);
      uint8_t now[kBreakpointBytes];
      if (pread(memory, now, sizeof now, where) != sizeof now || std::memcmp(now, kBreakpoint, sizeof now) != 0) {
        continue;
      }
      taken += pwrite(memory, site.original, sizeof now, where) == sizeof now ? 1 : 0;
    }
    return taken;
  }

  // Out of those that the process has forked and that nobody has seen to.
  void TakeOutOfChildren(pid_t pid) const {
    if (capacity_ == 0) return;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
      std::ifstream file(thread.path() / "children");
      for (pid_t child = 0; file >> child;) {
        if (TakeOutOfCopy(page_, child) != 0) TrapShield(child).Lower(true);
      }
    }
  }

 private:
  SamplePage* page_ = nullptr;
  size_t bytes_ = 0;
  uint32_t capacity_ = 0;  // 0: there were no breakpoints yet
};

}  // namespace

int RunGuarded(pid_t pid, int page_fd, const std::function<int(TrapShield&)>& work) {
  int life[2] = {-1, -1};
  TrapShield shield(AwaitTurn(pid) >= 0 ? pid : 0);
  shield.Raise();
  // Without a guard: it is lowered by who does the work.
  const auto work_alone = [&](const auto& is_alone) {
    const int result = work(shield);
    if (is_alone()) shield.Lower(false);
    return result;
  };
  if (pipe2(life, O_CLOEXEC) != 0) return work_alone([] { return true; });
  // Now: it is of the program that runs now, whatever becomes of the process.
  const int memory = open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC);
  std::fflush(nullptr);
  const pid_t guard = getpid();
  worker = fork();
  if (worker <= 0) {
    close(life[0]);
    if (worker == 0) {
      setsid();  // what the terminal sends is for the guard
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      BeCalled("rf-tracer");
    }
    const auto is_alone = [&] { return worker < 0 || getppid() != guard; };
    if (worker == 0 && is_alone()) return shield.Lower(false), 0;
    return work_alone(is_alone);
  }
  close(life[1]);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, PassOn);
  // Its descriptors are closed before its threads are let go: this is earlier than what waitpid tells.
  char ignored = 0;
  while (read(life[0], &ignored, 1) < 0 && errno == EINTR) {
  }
  size_t taken = LeftPage(page_fd).TakeOut(memory);
  int status = 0;
  while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  const LeftPage page(page_fd);
  taken += page.TakeOut(memory);
  if (WIFSIGNALED(status)) page.TakeOutOfChildren(pid);
  shield.Lower(WIFSIGNALED(status));
  if (WIFSIGNALED(status)) {
    fmt::print(stderr,
               "redflag attach: the process that sampled was ended by signal {}; {} breakpoints were taken out of "
               "process {}\n",
               WTERMSIG(status), taken, pid);
  }
  std::fflush(nullptr);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace redflag
