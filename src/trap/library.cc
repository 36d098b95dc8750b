// libredflag_sample.so: what `redflag sample` loads into a program. When the program starts it asks the sampling process whether it is to be sampled,
// and if so opens the data breakpoints, while there is one thread, and waits until the breakpoints are set. From then on it is the handler of
// SIGTRAP, and nothing else.
#include "trap/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/arch.h"
#include "trap/sampler.h"
#include "trap/system.h"

namespace redflag::trap {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr int kMostWait = 60'000;  // milliseconds: a large program is looked through for the first time

Sampler sampler;
SampleDoor* door;
struct sigaction programs_action;  // for SIGTRAP, as far as the program knows
SigactionFunction real_sigaction;

void* Map(const char* path, uint64_t bytes) {
  const int64_t fd = arch::Syscall(SYS_openat, AT_FDCWD, Raw(path), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  const int64_t at = arch::Syscall(SYS_mmap, 0, static_cast<int64_t>(bytes), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_NORESERVE, fd, 0);
  arch::Syscall(SYS_close, fd);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

void WriteNumber(char*& to, uint32_t number) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *to++ = digits[--count];
}

SamplePage* OpenPage(uint32_t sampler_pid, uint32_t fd, uint64_t bytes) {
  char path[64];
  char* end = path;
  for (const char* c = "/proc/"; *c != 0; ++c) *end++ = *c;
  WriteNumber(end, sampler_pid);
  for (const char* c = "/fd/"; *c != 0; ++c) *end++ = *c;
  WriteNumber(end, fd);
  *end = 0;
  return static_cast<SamplePage*>(Map(path, bytes));
}

// Ours, and what it leaves over is the program's: its own handler, or what happens without one.
void OnSignal(int signal, siginfo_t* info, void* context) {
  if (sampler.OnTrap(info, *static_cast<ucontext_t*>(context))) return;
  if (sampler.page() != nullptr) Count(sampler.page()->counters.foreign);
  if (programs_action.sa_handler == SIG_IGN) return;
  if (programs_action.sa_handler == SIG_DFL) {
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    real_sigaction(SIGTRAP, &plain, nullptr);
    arch::Syscall(SYS_tgkill, Pid(), ThreadId(), SIGTRAP);
    return;
  }
  if ((programs_action.sa_flags & SA_SIGINFO) != 0) {
    programs_action.sa_sigaction(signal, info, context);
  } else {
    programs_action.sa_handler(signal);
  }
}

// SIGTRAP stays unblocked meanwhile: another signal may come while the thread is stopped, and its handler may meet a breakpoint, which would kill the
// process.
void InstallHandler() {
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  real_sigaction(SIGTRAP, &action, nullptr);
  uint64_t trap = uint64_t{1} << (SIGTRAP - 1);
  arch::Syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, Raw(&trap), 0, sizeof trap);
}

// The page of this process; null: it is not to be sampled.
SamplePage* AskForPage() {
  for (SampleDoor::Entry& entry : door->entries) {
    uint32_t free = SampleDoor::kFree;
    if (!__atomic_compare_exchange_n(&entry.state, &free, SampleDoor::kRefused, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    entry.pid = Pid();
    Store(entry.state, uint32_t{SampleDoor::kAsking});
    __atomic_fetch_add(&door->bell, 1, __ATOMIC_RELEASE);
    Wake(&door->bell);
    for (int i = 0; i < kMostWait && Load(entry.state) == SampleDoor::kAsking; ++i) {
      Await(&entry.state, SampleDoor::kAsking, kMillisecond);
    }
    SamplePage* page = nullptr;
    if (Load(entry.state) == SampleDoor::kWelcome)
      page = OpenPage(door->sampler_pid, entry.page_fd, sizeof(SamplePage));
    Store(entry.state, uint32_t{SampleDoor::kFree});
    return page;
  }
  return nullptr;
}

// Says that we are ready, and waits for the breakpoints.
void Join() {
  SamplePage* page = AskForPage();
  if (page == nullptr) return;
  const uint32_t fd = page->own_fd;
  InstallHandler();
  // The sampling process writes our memory, which Yama would not let it.
  arch::Syscall(SYS_prctl, PR_SET_PTRACER, door->sampler_pid);
  if (page->repeated_read_only == 0) page->watches = sampler.watches().Open(page->watch_error);
  page->pid = Pid();
  Store(page->phase, uint32_t{SamplePage::kReady});
  __atomic_fetch_add(&door->bell, 1, __ATOMIC_RELEASE);
  Wake(&door->bell);
  for (int i = 0; i < kMostWait && Load(page->phase) == SamplePage::kReady; ++i) {
    Await(&page->phase, SamplePage::kReady, kMillisecond);
  }
  if (Load(page->phase) != SamplePage::kGo) return;
  SamplePage* whole = OpenPage(door->sampler_pid, fd, page->tables_bytes);
  arch::Syscall(SYS_munmap, Raw(page), sizeof(SamplePage));
  if (whole != nullptr) sampler.Start(whole, door);
}

void AfterForkInChild() {
  sampler.Leave();
  if (door != nullptr) Join();
}

__attribute__((constructor)) void Initialize() {
  real_sigaction = reinterpret_cast<SigactionFunction>(dlsym(RTLD_NEXT, "sigaction"));
  const char* path = getenv("REDFLAG_SAMPLE");
  if (path == nullptr || real_sigaction == nullptr) return;
  door = static_cast<SampleDoor*>(Map(path, sizeof(SampleDoor)));
  if (door == nullptr) return;
  Join();
  pthread_atfork(nullptr, nullptr, AfterForkInChild);
}

}  // namespace

bool IsSampled() { return sampler.page() != nullptr; }
SigactionFunction RealSigaction() { return real_sigaction; }
struct sigaction& ProgramsAction() { return programs_action; }
void WithdrawForSeccomp() { sampler.Withdraw(SamplePage::kSeccomp); }

}  // namespace redflag::trap
