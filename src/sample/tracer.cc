#include "sample/tracer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "events/sample_machine.h"
#include "events/sample_rules.h"
#include "sample/left_breakpoints.h"
#include "sample/process_maps.h"
#include "sample/thread_registers.h"

namespace redflag {
namespace {

using Clock = std::chrono::steady_clock;

constexpr long kOptions =
    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
constexpr uint64_t kIdleNanoseconds = 100'000'000;
constexpr uint64_t kLeaveNanoseconds = 1'000'000;
constexpr std::chrono::milliseconds kLeavePatience{1000};

// What nobody blocks but who blocks everything.
constexpr uint64_t kOfAll = SignalBit(SIGILL) | SignalBit(SIGFPE) | SignalBit(SIGSEGV) | SignalBit(SIGBUS);

void* Word(uint64_t value) { return reinterpret_cast<void*>(value); }  // NOLINT: ptrace's signature

// R, S, D, t...; 0: it is gone.
char StateOf(pid_t tid) {
  const std::string state = StatusOf(tid, "State:");
  return state.empty() ? '\0' : state[0];
}

// Does the process do nothing about it?
bool IsIgnored(pid_t pid, int signal) {
  if ((SignalsOf(pid, "SigIgn:") & SignalBit(signal)) != 0) return true;
  const bool by_default = signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT;
  return by_default && (SignalsOf(pid, "SigCgt:") & SignalBit(signal)) == 0;
}

bool IsGroupStop(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

}  // namespace

std::string Tracer::Start() {
  std::promise<std::string> started;
  std::future<std::string> answer = started.get_future();
  bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  worker_ = std::thread([this, &started] { Work(started); });
  std::string problem = answer.get();
  if (!problem.empty()) Finish();
  return problem;
}

uint32_t Tracer::watches(int& error) const {
  error = watch_error_;
  return watch_count_;
}

void Tracer::Finish() {
  if (!worker_.joinable()) return;
  leave_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t rung = write(bell_, &one, sizeof one);
  worker_.join();
  close(bell_);
  // The thread has ended for us somewhat before it has for those whom it traced.
  const auto until = Clock::now() + kLeavePatience;
  while (Clock::now() < until) {
    const std::string tracer = StatusOf(pid_, "TracerPid:");
    if (tracer.empty() || tracer == "0") break;
    usleep(1000);
  }
}

void Tracer::Work(std::promise<std::string>& started) {
  memory_ = open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDWR | O_CLOEXEC);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  signals_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  poll_ = epoll_create1(EPOLL_CLOEXEC);
  for (const int fd : {signals_, bell_}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (fd == bell_) event.events |= EPOLLET;  // it rings once
    epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event);
  }
  std::string problem = memory_ < 0 ? fmt::format("its memory may not be written: {}", std::strerror(errno)) : Seize();
  const bool works = problem.empty();
  started.set_value(std::move(problem));
  if (works) {
    Serve();
    Leave();
  }
  sampler_.reset();
  threads_.clear();
  for (const int fd : {memory_, poll_, signals_}) {
    if (fd >= 0) close(fd);
  }
}

// Of threads that begin meanwhile, those of seized threads come by themselves.
std::string Tracer::Seize() {
  for (bool is_new = true; is_new;) {
    is_new = false;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid_), error)) {
      const auto tid = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
      if (std::string problem = SeizeOne(tid, is_new); !problem.empty()) return problem;
    }
  }
  return threads_.empty() ? fmt::format("process {} has ended", pid_) : "";
}

std::string Tracer::SeizeOne(pid_t tid, bool& is_new) {
  if (threads_.contains(tid)) return "";
  if (ptrace(PTRACE_SEIZE, tid, nullptr, kOptions) == 0) {
    is_new = true;
    Add(tid, pid_);
    return "";
  }
  const int error = errno;
  const char state = StateOf(tid);
  const std::string tracer = StatusOf(tid, "TracerPid:");
  if (error == ESRCH || state == '\0' || state == 'Z' || state == 'X') return "";
  if (tracer == std::to_string(gettid())) return "";  // its first stop is under way
  if (!tracer.empty() && tracer != "0") return fmt::format("process {} traces it already", tracer);
  return fmt::format("thread {} may not be traced: {}", tid, std::strerror(error));
}

Tracer::Thread& Tracer::Add(pid_t tid, pid_t process) {
  auto& thread = threads_[tid];
  thread = std::make_unique<Thread>();
  thread->tid = tid;
  thread->process = process;
  thread->blocked = SignalsOf(tid, "SigBlk:");
  if (process != pid_) return *thread;
  int error = 0;
  const uint32_t count = thread->watches.Open(tid, error);
  if (count > watch_count_ && page_.load(std::memory_order_relaxed) == nullptr) watch_count_ = count;
  if (count == 0) {
    watch_error_ = error;
    unwatched_threads_.fetch_add(1, std::memory_order_relaxed);
    return *thread;
  }
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.fd = thread->watches.fd()}};
  epoll_ctl(poll_, EPOLL_CTL_ADD, thread->watches.fd(), &event);
  return *thread;
}

void Tracer::Await(uint64_t nanoseconds) const {
  pollfd news{.fd = poll_, .events = POLLIN, .revents = 0};
  const timespec wait{.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000),
                      .tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000)};
  if (ppoll(&news, 1, &wait, nullptr) <= 0) return;
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(poll_, events.data(), events.size(), 0);
  for (int i = 0; i < count; ++i) {
    std::array<signalfd_siginfo, 16> ignored{};  // which one it was, waitpid says
    while (events[static_cast<size_t>(i)].data.fd == signals_ &&
           read(signals_, ignored.data(), sizeof ignored) == sizeof ignored) {
    }
  }
}

void Tracer::TakeNews() {
  for (;;) {
    int status = 0;
    const pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);
    if (tid <= 0) return;
    OnStatus(tid, status);
  }
}

void Tracer::Serve() {
  while (!leave_.load(std::memory_order_acquire)) {
    TakeNews();
    if (end_.load(std::memory_order_relaxed) != End::kNone) return;
    uint64_t wait = kIdleNanoseconds;
    if (sampler_ != nullptr) {
      sampler_->Advance();
      wait = std::min(wait, sampler_->NextDue());
    }
    Await(wait);
  }
}

// There are no breakpoints any more. Who may have met one that we have not heard of is stopped; who sleeps has not.
void Tracer::Leave() {
  is_leaving_ = true;
  if (sampler_ != nullptr) sampler_->EndAll();
  std::set<pid_t> asked;
  const auto until = Clock::now() + kLeavePatience;
  for (bool is_first = true; is_first || Clock::now() < until; is_first = false) {
    TakeNews();
    bool all = expected_.empty();
    for (const auto& [tid, thread] : threads_) {
      const bool listens = thread->state == Thread::State::kListens;
      if (listens && (SignalsOf(tid, "SigPnd:") & SignalBit(SIGTRAP)) == 0) continue;
      const char state = StateOf(tid);
      if (!listens && (state == 'S' || state == 'Z' || state == 'X' || state == '\0')) continue;
      all = false;
      if (thread->state != Thread::State::kStopping && asked.insert(tid).second) {
        ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
      }
    }
    if (all) return;
    Await(kLeaveNanoseconds);
  }
}

void Tracer::OnStatus(pid_t tid, int status) {
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    Remove(tid);
    expected_.erase(tid);
    if (tid == pid_) end_.store(End::kProcessEnded, std::memory_order_release);
    return;
  }
  if (!WIFSTOPPED(status)) return;
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return OnNewcomer(tid, status);
  OnStop(*known->second, WSTOPSIG(status), status >> 16);
}

void Tracer::OnStop(Thread& thread, int signal, int event) {
  using State = Thread::State;
  const State before = std::exchange(thread.state, State::kRuns);
  switch (event) {
    case 0:
      if (signal == SIGTRAP && (OnBreakpoint(thread) || OnOwnBreakpoint(thread))) return;
      // To a process that is not traced, nothing would have happened at all.
      if (IsIgnored(pid_, signal)) ContinueCall(thread.tid);
      return GoOn(thread, signal);
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK: {
      unsigned long child = 0;
      ptrace(PTRACE_GETEVENTMSG, thread.tid, nullptr, &child);
      const auto tid = static_cast<pid_t>(child);
      if (tid > 0 && early_.erase(tid) == 0) expected_.insert(tid);
      return GoOn(thread, 0);
    }
    case PTRACE_EVENT_EXEC:
      return OnExec(thread);
    case PTRACE_EVENT_STOP:
      if (before == State::kStopping && !thread.may_go) {
        thread.state = State::kHeld;
        thread.in_group_stop = IsGroupStop(signal);
        return;
      }
      thread.may_go = false;
      if (IsGroupStop(signal) && !is_leaving_) return Listen(thread);
      if (!is_leaving_) return GoOn(thread, 0);
      // A breakpoint that it met is told next.
      if ((SignalsOf(thread.tid, "SigPnd:") & SignalBit(SIGTRAP)) != 0) {
        ptrace(PTRACE_CONT, thread.tid, nullptr, nullptr);
        return;
      }
      ContinueCall(thread.tid);
      return GoOn(thread, 0);
    default:
      return GoOn(thread, 0);
  }
}

void Tracer::OnNewcomer(pid_t tid, int status) {
  if (expected_.erase(tid) == 0) early_.insert(tid);
  const auto process = static_cast<pid_t>(std::atoi(StatusOf(tid, "Tgid:").c_str()));
  if (process == pid_) {
    Thread& thread = Add(tid, pid_);
    if (sampler_ != nullptr) sampler_->AddThread(thread.watches);
    return OnStop(thread, WSTOPSIG(status), status >> 16);
  }
  const int64_t differs = syscall(SYS_kcmp, pid_, tid, KCMP_VM, 0, 0);
  SamplePage* page = page_.load(std::memory_order_acquire);
  if (differs != 0 && page != nullptr) TakeOutOfCopy(page, tid);
  if (differs > 0) return LetGo(tid);
  OnStop(Add(tid, process), WSTOPSIG(status), status >> 16);
}

void Tracer::OnExec(Thread& thread) {
  const pid_t tid = thread.tid;
  if (thread.process == pid_) {  // of its threads this one is left
    std::set<pid_t> gone;
    for (const auto& [each, its] : threads_) {
      if (its->process == pid_ && each != tid) gone.insert(each);
    }
    for (const pid_t each : gone) Remove(each);
    end_.store(End::kProgramReplaced, std::memory_order_release);
  }
  Detach(tid, 0);
}

// A process that was forked: it is not ours.
void Tracer::LetGo(pid_t tid) {
  NativeRegisters registers{};
  if (shield_ == nullptr || !shield_->is_up() || !ReadRegisters(tid, registers)) return Detach(tid, 0);
  const TrapShield::Stop stop = shield_->LowerBy(tid, tid, registers);
  if (stop.there) Detach(tid, stop.status >> 16 == 0 ? WSTOPSIG(stop.status) : 0);
}

// A breakpoint that is none of ours. If the file has something else there it was left behind when all who sampled were killed at once: it is taken
// out. Else the program has it in itself, and is ended by it. Not with the shield: it would come back for ever.
bool Tracer::OnOwnBreakpoint(Thread& thread) {
  siginfo_t info{};
  NativeRegisters registers{};
  if (shield_ == nullptr || !shield_->is_up() || thread.process != pid_) return false;
  if (ptrace(PTRACE_GETSIGINFO, thread.tid, nullptr, &info) != 0 || info.si_code != SI_KERNEL) return false;
  if (!ReadRegisters(thread.tid, registers)) return false;
  const uint64_t pc = ProgramCounter(registers) - kBreakpointAdvance;
  SetProgramCounter(registers, pc);
  if (RestoreFromFile(pid_, pc)) {
    WriteRegisters(thread.tid, registers);
    GoOn(thread, 0);
    return true;
  }
  if (GoOnAfter(thread, shield_->LowerBy(thread.tid, pid_, registers))) GoOn(thread, 0);
  return true;
}

// Sees to what came while a thread was about something of ours. Is it still stopped, and nothing came?
bool Tracer::GoOnAfter(Thread& thread, const TrapShield::Stop& stop) {
  if (stop.there && stop.status == 0) return true;
  if (stop.there) {
    OnStop(thread, WSTOPSIG(stop.status), stop.status >> 16);
  } else {
    Remove(thread.tid);
  }
  return false;
}

bool Tracer::OnBreakpoint(Thread& thread) {
  SamplePage* page = page_.load(std::memory_order_acquire);
  siginfo_t info{};
  NativeRegisters registers{};
  if (page == nullptr || ptrace(PTRACE_GETSIGINFO, thread.tid, nullptr, &info) != 0) return false;
  if ((info.si_code != SI_KERNEL && info.si_code != TRAP_BRKPT) || !ReadRegisters(thread.tid, registers)) return false;
  const uint64_t pc = ProgramCounter(registers) - kBreakpointAdvance;
  const uint32_t index = sampling::FindSite(page, pc);
  if (index == sampling::kNoSite) return false;
  const SampleSite& site = sampling::SitesOf(page)[index];
  SetProgramCounter(registers, pc);
  WriteRegisters(thread.tid, registers);
  [[maybe_unused]] const ssize_t written =
      pwrite(memory_, site.original, kBreakpointBytes, static_cast<off_t>(site.address));
  const bool is_guest = thread.process != pid_;
  const bool was_blocked = RestoreMask(thread);
  std::atomic_ref(is_guest ? page->counters.elsewhere : page->counters.fired).fetch_add(1, std::memory_order_relaxed);
  if (sampler_ == nullptr) {
    sampler_ = std::make_unique<OutsideSampler>(
        pid_, memory_, page,
        [this](const std::function<void(pid_t, ThreadWatches&)>& each) {
          for (const auto& [tid, its] : threads_) each(tid, its->watches);
        },
        [this](pid_t tid) { Release(tid); });
  }
  // The kernel takes the handler away from who has the signal blocked.
  if (shield_ != nullptr && was_blocked && !is_guest) shield_->SetLost();
  if (shield_ != nullptr && shield_->is_possible() && !shield_->is_up() && !is_guest) {
    if (!GoOnAfter(thread, shield_->RaiseBy(thread.tid, registers))) {
      sampling::TellFired(page, index);
      return true;
    }
  }
  const bool is_off = std::atomic_ref(page->off).load(std::memory_order_acquire) != 0;
  if (!is_guest && !is_off && !is_leaving_ && sampler_->Begin(thread.tid, index, registers)) {
    // Not in the stop of the signal: if we were killed, the kernel would deliver it.
    thread.state = Thread::State::kStopping;
    thread.may_go = false;
    ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    ptrace(PTRACE_CONT, thread.tid, nullptr, nullptr);
    return true;
  }
  sampling::TellFired(page, index);
  GoOn(thread, 0);
  return true;
}

// Its sample is over.
void Tracer::Release(pid_t tid) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  Thread& thread = *found->second;
  if (thread.state == Thread::State::kHeld) {
    thread.state = Thread::State::kRuns;
    if (thread.in_group_stop && !is_leaving_) return Listen(thread);
    GoOn(thread, 0);
  } else if (thread.state == Thread::State::kStopping) {
    thread.may_go = true;
  }
}

void Tracer::GoOn(Thread& thread, int signal) {
  if (is_leaving_) return Detach(thread.tid, signal);
  ptrace(PTRACE_CONT, thread.tid, nullptr, Word(static_cast<uint64_t>(signal)));
}

// All of the process is stopped by a signal: it stays so until that is over, which is told.
void Tracer::Listen(Thread& thread) {
  thread.state = Thread::State::kListens;
  ptrace(PTRACE_LISTEN, thread.tid, nullptr, nullptr);
}

void Tracer::Detach(pid_t tid, int signal) {
  ptrace(PTRACE_DETACH, tid, nullptr, Word(static_cast<uint64_t>(signal)));
  Remove(tid);
}

void Tracer::Remove(pid_t tid) {
  if (sampler_ != nullptr) sampler_->Drop(tid);
  threads_.erase(tid);
}

// The kernel unblocks the signal of a breakpoint in a thread that has it blocked. Whether it had can be told by what else it blocks.
bool Tracer::RestoreMask(const Thread& thread) {
  uint64_t mask = 0;
  if (ptrace(PTRACE_GETSIGMASK, thread.tid, Word(sizeof mask), &mask) != 0 || (mask & SignalBit(SIGTRAP)) != 0)
    return false;
  if ((mask & kOfAll) != kOfAll && thread.blocked != (mask | SignalBit(SIGTRAP))) return false;
  mask |= SignalBit(SIGTRAP);
  return ptrace(PTRACE_SETSIGMASK, thread.tid, Word(sizeof mask), &mask) == 0;
}

}  // namespace redflag
