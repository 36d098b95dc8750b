#include "sample/trap_shield.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "sample/process_maps.h"
#include "sample/shield_code.h"

namespace redflag {
#if defined(__x86_64__)
namespace {

using Clock = std::chrono::steady_clock;
using shield::Image;

constexpr std::chrono::milliseconds kPatience{300};  // for a thread that can be used
constexpr uint64_t kAlignment = 16;

class Memory {
 public:
  explicit Memory(pid_t pid) : fd_(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC)) {}
  ~Memory() {
    if (fd_ >= 0) close(fd_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  bool Read(uint64_t at, void* to, size_t bytes) const {
    return pread(fd_, to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }
  bool Write(uint64_t at, const void* from, size_t bytes) const {
    return pwrite(fd_, from, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }

 private:
  int fd_;
};

std::vector<pid_t> ThreadsOf(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    threads.push_back(static_cast<pid_t>(std::atoi(entry.path().filename().c_str())));
  }
  return threads;
}

bool Sleeps(pid_t tid) { return StatusOf(tid, "State:").starts_with('S'); }
bool HasEnded(pid_t tid) {
  const std::string state = StatusOf(tid, "State:");
  return state.empty() || state[0] == 'Z' || state[0] == 'X';
}

// How much it disturbs a thread to be stopped for a moment.
enum class Disturbance : uint8_t {
  kNone,    // it is running, or stopped anyway
  kLittle,  // it sleeps, and goes on sleeping
  kSome,    // it sleeps from the beginning
  kMuch,    // it may notice
  kGone,
};

Disturbance DisturbanceOf(pid_t pid, pid_t tid) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  std::string word;
  if (!(file >> word) || HasEnded(tid)) return Disturbance::kGone;
  if (word == "running" || word == "-1") return Disturbance::kNone;
  const uint64_t call = std::strtoull(word.c_str(), nullptr, 10);
  const auto is_in = [&](const auto& calls) {
    return std::find(std::begin(calls), std::end(calls), call) != std::end(calls);
  };
  if (is_in(shield::kEasyCalls)) return Disturbance::kLittle;
  return is_in(kCallsBegunAgain) ? Disturbance::kSome : Disturbance::kMuch;
}

// Where a shield has room: behind the end of the code that the kernel maps, in the rest of its page. 0: nowhere. One that is there already is as good.
uint64_t FindRoom(pid_t pid) {
  const MappedRange mapped = FindKernelCode(pid);
  std::vector<uint8_t> bytes(mapped.end - mapped.begin);
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof header || !Memory(pid).Read(mapped.begin, bytes.data(), bytes.size())) return 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint64_t end = std::max(header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize,
                                header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shoff == 0 || end >= bytes.size()) return 0;
  const uint64_t at = (end + kAlignment - 1) & ~(kAlignment - 1);
  if (at > bytes.size() || bytes.size() - at < sizeof(Image)) return 0;
  const uint8_t* room = bytes.data() + at;
  const bool is_empty = std::all_of(room, room + sizeof(Image), [](uint8_t byte) { return byte == 0; });
  const bool is_ours = std::memcmp(room, shield::kMagic, sizeof shield::kMagic) == 0;
  return is_empty || is_ours ? mapped.begin + at : 0;
}

bool HandlesTrap(pid_t pid) { return (SignalsOf(pid, "SigCgt:") & SignalBit(SIGTRAP)) != 0; }

// Of what waitpid says: a signal that is to be handed over.
int SignalOf(int status) { return status >> 16 == 0 && WSTOPSIG(status) != (SIGTRAP | 0x80) ? WSTOPSIG(status) : 0; }

// A thread of a process that is not traced otherwise.
bool StopThread(pid_t tid, int& status) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) != 0) return false;
  ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  return waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status);
}

void Detach(pid_t tid, int status) {
  ptrace(PTRACE_DETACH, tid, nullptr,
         reinterpret_cast<void*>(uintptr_t{0} + SignalOf(status)));  // NOLINT: its signature
}

}  // namespace

TrapShield::TrapShield(pid_t pid) : pid_(pid) {
  if (StatusOf(pid, "Seccomp:") == "0") address_ = FindRoom(pid);
  if (address_ == 0 || !HandlesTrap(pid)) return;
  // Its own handler, or one that was left behind when all of us were killed at once.
  is_up_ = IsThere(pid);
  if (!is_up_) address_ = 0;
}

bool TrapShield::IsThere(pid_t process) const {
  char magic[sizeof shield::kMagic] = {};
  return Memory(process).Read(address_, magic, sizeof magic) && std::memcmp(magic, shield::kMagic, sizeof magic) == 0;
}

bool TrapShield::IsInside(uint64_t pc) const { return pc >= address_ && pc < address_ + sizeof(Image); }

void TrapShield::Raise() {
  if (address_ == 0) return;
  if (IsThere(pid_)) SettleAll();  // somebody was killed while a thread was on its way
  if (is_up_) return;
  const Image image = shield::ImageAt(address_);
  if (!Memory(pid_).Write(address_, &image, sizeof image)) {
    address_ = 0;
    return;
  }
  is_up_ = SetByAnyone(true);
}

void TrapShield::Lower(bool after_kill) {
  if (address_ == 0 || !IsThere(pid_)) return;  // it may have become another program
  if (after_kill) SettleAll();
  // The tracer may have raised it.
  if (HandlesTrap(pid_) && !SetByAnyone(false)) return;
  is_up_ = false;
  const Image nothing{};
  Memory(pid_).Write(address_, &nothing, sizeof nothing);
}

// The one that is disturbed least.
bool TrapShield::SetByAnyone(bool up) {
  const auto until = Clock::now() + kPatience;
  for (bool is_first = true; is_first || Clock::now() < until; is_first = false) {
    std::vector<std::pair<Disturbance, pid_t>> threads;
    for (const pid_t tid : ThreadsOf(pid_)) threads.emplace_back(DisturbanceOf(pid_, tid), tid);
    std::sort(threads.begin(), threads.end());
    // For a while: one that is running may turn up. It is not left behind for fear of disturbing.
    const bool is_late = Clock::now() + kPatience / 2 >= until;
    const Disturbance most = !is_late ? Disturbance::kLittle : up ? Disturbance::kSome : Disturbance::kMuch;
    Stop stop;
    const pid_t tid = threads.empty() ? 0 : threads.front().second;
    if (tid == 0 || threads.front().first > most || !StopThread(tid, stop.status)) {
      usleep(1000);
      continue;
    }
    NativeRegisters registers{};
    if (SignalOf(stop.status) == 0 && ReadRegisters(tid, registers) && !IsInside(registers.rip)) {
      shield::FinishRestart(registers);
      stop = SetBy(tid, pid_, registers, up);
    }
    if (stop.there) Detach(tid, stop.status);
    if (stop.done) return HandlesTrap(pid_) == up;
  }
  return false;
}

void TrapShield::SettleAll() const {
  for (const pid_t tid : ThreadsOf(pid_)) Settle(tid);
}

// It has nothing to do with a breakpoint any more. There are none: once that is so it stays so. Who sleeps has met none.
void TrapShield::Settle(pid_t tid) const {
  const auto until = Clock::now() + kPatience;
  while (!Sleeps(tid) && !HasEnded(tid) && Clock::now() < until) {
    int status = 0;
    if (!StopThread(tid, status)) return;
    NativeRegisters registers{};
    const bool is_known = ReadRegisters(tid, registers);
    const bool is_pending = SignalOf(status) == SIGTRAP || (SignalsOf(tid, "SigPnd:") & SignalBit(SIGTRAP)) != 0;
    if (SignalOf(status) == 0) ContinueCall(tid);
    Detach(tid, status);
    if (!is_pending && is_known && !IsInside(registers.rip)) return;
    usleep(1000);
  }
}

TrapShield::Stop TrapShield::SetBy(pid_t tid, pid_t process, NativeRegisters registers, bool up) const {
  NativeRegisters call = shield::CallFrom(registers, address_, up);
  const shield::Saved saved = shield::SavedOf(registers);
  if (!Memory(process).Write(address_ + offsetof(Image, saved), &saved, sizeof saved) || !WriteRegisters(tid, call)) {
    return {};
  }
  // From here on the thread gets back by itself, if it must. It stops when it begins the call, and when that is done.
  Stop stop;
  for (int stops = 0; stops < 2; ++stops) {
    int status = 0;
    ptrace(PTRACE_SYSCALL, tid, nullptr, nullptr);
    if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) return {.there = false};
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) continue;
    stop.status = status;  // something else came first
    break;
  }
  NativeRegisters now{};
  stop.done = ReadRegisters(tid, now) && now.rip != call.rip;
  WriteRegisters(tid, registers);
  return stop;
}

TrapShield::Stop TrapShield::RaiseBy(pid_t tid, const NativeRegisters& registers) {
  const Image image = shield::ImageAt(address_);
  if (!IsThere(pid_) && !Memory(pid_).Write(address_, &image, sizeof image)) return {};
  const Stop stop = SetBy(tid, pid_, registers, true);
  is_up_ = stop.done;
  return stop;
}

TrapShield::Stop TrapShield::LowerBy(pid_t tid, pid_t process, const NativeRegisters& registers) {
  if (!IsThere(process)) return {};
  const Stop stop = SetBy(tid, process, registers, false);
  if (!stop.done) return stop;
  const Image nothing{};
  if (process != pid_) Memory(process).Write(address_, &nothing, sizeof nothing);
  if (process == pid_) is_up_ = false;
  return stop;
}

#else

TrapShield::TrapShield(pid_t pid) : pid_(pid) {}
void TrapShield::Raise() {}
void TrapShield::Lower(bool) {}
TrapShield::Stop TrapShield::RaiseBy(pid_t, const NativeRegisters&) { return {}; }
TrapShield::Stop TrapShield::LowerBy(pid_t, pid_t, const NativeRegisters&) { return {}; }

#endif
}  // namespace redflag
