#include "sample/controller.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <optional>
#include <utility>

#include "collect/wire_writer.h"
#include "sample/statistics.h"

namespace redflag {
namespace {

constexpr long kTickNanoseconds = 10'000'000;
constexpr long kInertTickNanoseconds = 50'000'000;  // there are no breakpoints to give back

template <class T>
std::atomic_ref<T> Atomic(T& word) {
  return std::atomic_ref<T>(word);
}

void Wake(uint32_t& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

bool IsAlive(pid_t pid) { return kill(pid, 0) == 0 || errno == EPERM; }

}  // namespace

Controller::Controller(const SampleOptions& options, MakeCollector make_collector)
    : options_(options), make_collector_(std::move(make_collector)), door_fd_(memfd_create("redflag-door", 0)) {
  if (door_fd_ < 0 || ftruncate(door_fd_, sizeof(SampleDoor)) != 0) return;
  void* at = mmap(nullptr, sizeof(SampleDoor), PROT_READ | PROT_WRITE, MAP_SHARED, door_fd_, 0);
  if (at == MAP_FAILED) return;
  door_ = static_cast<SampleDoor*>(at);
  door_->sampler_pid = static_cast<uint32_t>(getpid());
}

Controller::~Controller() {
  if (door_ != nullptr) munmap(door_, sizeof(SampleDoor));
  if (door_fd_ >= 0) close(door_fd_);
}

std::string Controller::door_path() const {
  return door_ == nullptr ? "" : fmt::format("/proc/{}/fd/{}", getpid(), door_fd_);
}

void Controller::Answer(pid_t program) {
  for (SampleDoor::Entry& entry : door_->entries) {
    if (Atomic(entry.state).load(std::memory_order_acquire) != SampleDoor::kAsking) continue;
    const auto pid = static_cast<pid_t>(entry.pid);
    uint32_t answer = SampleDoor::kRefused;
    if (pid == program || options_.children) {
      for (Guest& guest : sessions_) {  // it has become another program
        if (guest.session->pid() == pid && !guest.gone) Leave(guest);
      }
      Guest& guest = sessions_.emplace_back();
      guest.collector = make_collector_(pid);
      guest.session = std::make_unique<Session>(pid, options_, cache_, *guest.collector);
      if (guest.session->page_fd() >= 0) {
        entry.page_fd = static_cast<uint32_t>(guest.session->page_fd());
        answer = SampleDoor::kWelcome;
      }
    }
    Atomic(entry.state).store(answer, std::memory_order_release);
    Wake(entry.state);
  }
}

void Controller::Leave(Guest& guest) {
  guest.gone = true;
  guest.session->Finish();
  guest.collector->Consume(EncodeMessage(EndMessage{}));
  guest.collector->Finish(0);
}

void Controller::Run(pid_t program, const std::function<bool()>& ended) {
  std::optional<Session::Clock::time_point>
      begin;  // of the first that is sampled: what it takes until then is no time of sampling
  bool over = false;
  for (;;) {
    const uint32_t bell = Atomic(door_->bell).load(std::memory_order_acquire);
    const bool is_last = ended();
    Answer(program);
    const auto now = Session::Clock::now();
    const double seconds = begin ? std::chrono::duration<double>(now - *begin).count() : 0;
    over |= options_.seconds > 0 && seconds >= options_.seconds;
    for (Guest& guest : sessions_) {
      if (guest.gone) continue;
      guest.session->Tick(now);
      if (!begin && guest.session->has_begun()) begin = Session::Clock::now();
      if (over && guest.session->has_begun()) guest.session->Stop();  // who comes later, too
      guest.collector->WriteDue(Collector::Clock::now());
      if (guest.session->pid() != program && !IsAlive(guest.session->pid())) Leave(guest);
    }
    if (is_last) break;
    const timespec wait{.tv_sec = 0, .tv_nsec = options_.rate > 0 ? kTickNanoseconds : kInertTickNanoseconds};
    syscall(SYS_futex, &door_->bell, FUTEX_WAIT, bell, &wait, nullptr, 0);
  }
  for (Guest& guest : sessions_) {
    if (guest.gone) continue;
    guest.session->Stop();  // a process that goes on keeps no breakpoint
    Leave(guest);
  }
}

uint64_t Controller::races() const {
  uint64_t races = 0;
  for (const Guest& guest : sessions_) races += guest.collector->races();
  return races;
}

std::vector<std::string> Controller::Statistics() const {
  std::vector<std::string> lines;
  for (const Guest& guest : sessions_) {
    for (std::string& line : StatisticsOf(*guest.session, options_)) lines.push_back(std::move(line));
  }
  lines.push_back(OwnCost());
  return lines;
}

}  // namespace redflag
