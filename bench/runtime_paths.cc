// Instructions of the hot paths inside a program that is watched: what a call of the compiler's, a lock or an atomic operation comes to
// with this runtime, counted one by one. The program starts itself again, and steps through that with ptrace: that takes no counters of the
// processor, and the count is the same on every run.
//
//   runtime_paths           prints {"path": instructions, ...}; tools/hot_paths.py compares it with bench/golden
//
// A path is a function that is called three times and then counted, less what calling an empty one takes.
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// The runtime that is linked.
extern "C" {
void __tsan_read4(void*);
void __tsan_read8(void*);
void __tsan_read16(void*);
void __tsan_write4(void*);
void __tsan_write8(void*);
void __tsan_func_entry(void*);
void __tsan_func_exit();
uint64_t __tsan_atomic64_load(const volatile uint64_t*, int order);
uint64_t __tsan_atomic64_fetch_add(volatile uint64_t*, uint64_t value, int order);
}

namespace {

constexpr int kAcquire = 2, kRelease = 3;

alignas(4096) uint64_t own[512];
alignas(4096) uint64_t read_by_many[512];
alignas(4096) uint64_t was_read_by_many[512];  // and is written now
alignas(64) uint64_t counter;
void* block;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// The thread's accesses from now on are told apart from those before.
void NewTime() { __tsan_atomic64_fetch_add(&counter, 1, kRelease); }

struct Path {
  const char* name;
  void (*prepare)();  // before each time
  void (*run)();
};

void Nothing() {}
// The first access in a page, and from a place, is dearer: it is that of `prepare`, or of the first time.
const Path kPaths[] = {
    {"(nothing)", Nothing, Nothing},
    {"read 8, again", [] { __tsan_read8(own); }, [] { __tsan_read8(own); }},
    {"read 4, again", [] { __tsan_read8(own); }, [] { __tsan_read4(own); }},
    {"read 16, again", [] { __tsan_read16(own); }, [] { __tsan_read16(own); }},
    {"write 8, again", [] { __tsan_write8(own); }, [] { __tsan_write8(own); }},
    {"read 8 at a new time", NewTime, [] { __tsan_read8(own + 8); }},
    {"write 8 at a new time", NewTime, [] { __tsan_write8(own + 16); }},
    // The other half of the granule was accessed at another time.
    {"write 4 at a new time, recorded", NewTime,
     [] {
       __tsan_write4(own + 24);
       __tsan_write4(own + 24);
     }},
    {"read 4 at a new time, recorded", NewTime,
     [] {
       __tsan_read4(own + 32);
       __tsan_read4(own + 32);
     }},
    {"read 8 of shared data, again", [] { __tsan_read8(read_by_many); }, [] { __tsan_read8(read_by_many); }},
    {"read 8 of shared data at a new time", NewTime, [] { __tsan_read8(read_by_many); }},
    {"read 8 of what was shared before, again",
     [] {
       __tsan_write8(was_read_by_many);
       __tsan_read8(was_read_by_many + 8);
     },
     [] { __tsan_read8(was_read_by_many + 8); }},
    {"function entry and exit", Nothing,
     [] {
       __tsan_func_entry(own);
       __tsan_func_exit();
     }},
    {"lock and unlock", Nothing,
     [] {
       pthread_mutex_lock(&mutex);
       pthread_mutex_unlock(&mutex);
     }},
    {"lock, write 8 and unlock", Nothing,
     [] {
       pthread_mutex_lock(&mutex);
       __tsan_write8(own);
       pthread_mutex_unlock(&mutex);
     }},
    {"atomic load, nothing new", Nothing, [] { __tsan_atomic64_load(&counter, kAcquire); }},
    {"atomic add", Nothing, [] { __tsan_atomic64_fetch_add(&counter, 1, kRelease); }},
    {"allocate and free 64", Nothing, [] { free(*const_cast<void* volatile*>(&(block = malloc(64)))); }},
};

// ---- The one that is counted ----

#if defined(__x86_64__)
#define MARK() __asm__ volatile("int3" ::: "memory")
#elif defined(__aarch64__)
#define MARK() __asm__ volatile("brk #0" ::: "memory")
#endif

void* ReadAll(void*) {
  for (uint64_t& word : read_by_many) __tsan_read8(&word);
  for (uint64_t& word : was_read_by_many) __tsan_read8(&word);
  return nullptr;
}

// One place that all are called from: what the runtime knows of it, it knows from then on.
[[gnu::noinline]] void Call(void (*function)()) {
  function();
  __asm__ volatile("" ::: "memory");
}

int BeCounted() {
  for (uint64_t& word : read_by_many) __tsan_write8(&word);
  for (uint64_t& word : was_read_by_many) __tsan_write8(&word);
  for (uint64_t& word : own) __tsan_write8(&word);
  pthread_t reader;
  if (pthread_create(&reader, nullptr, ReadAll, nullptr) != 0 || pthread_join(reader, nullptr) != 0) return 1;
  ReadAll(nullptr);
  for (const Path& path : kPaths) {
    for (int times = 3; times >= 0; --times) {
      path.prepare();
      if (times == 0) MARK();
      Call(path.run);
      if (times == 0) MARK();
    }
  }
  return 0;
}

// ---- The one that counts ----

// Is the process stopped at a mark, and not after a step? Then it is to go on behind it.
bool PassMark(pid_t pid) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, pid, nullptr, &info) != 0 || info.si_code == TRAP_TRACE ||
      info.si_code == TRAP_HWBKPT) {
    return false;
  }
#if defined(__aarch64__)  // there it traps at the instruction, elsewhere behind it
  user_regs_struct registers;
  iovec place = {.iov_base = &registers, .iov_len = sizeof registers};
  if (ptrace(PTRACE_GETREGSET, pid, 1 /* NT_PRSTATUS */, &place) != 0) return false;
  registers.pc += 4;
  return ptrace(PTRACE_SETREGSET, pid, 1, &place) == 0;
#else
  return true;
#endif
}

// Runs until the next mark, stepping if that is to be counted. -1: there is none.
int64_t RunToMark(pid_t pid, bool steps) {
  int64_t count = 0;
  int pass_on = 0;
  for (;;) {
    if (ptrace(steps ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, nullptr, pass_on) != 0) return -1;
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return -1;
    pass_on = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (pass_on == 0 && PassMark(pid)) return count;
    ++count;
  }
}

int Count(const char* self) {
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execl(self, self, "--counted", nullptr);
    _exit(127);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
    perror("runtime_paths: can't trace a process");
    return 1;
  }
  std::string out = "{";
  int64_t nothing = 0;
  for (const Path& path : kPaths) {
    if (RunToMark(pid, false) < 0) {
      fprintf(stderr, "runtime_paths: no mark before '%s'\n", path.name);
      kill(pid, SIGKILL);
      return 1;
    }
    const int64_t count = RunToMark(pid, true);
    if (&path == kPaths) {
      nothing = count;
      continue;
    }
    out += std::string(out.size() > 1 ? ",\n \"" : "\n \"") + path.name + "\": " + std::to_string(count - nothing);
  }
  ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  waitpid(pid, &status, 0);
  printf("%s\n}\n", out.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--counted") == 0) return BeCounted();
  if (argc == 1) return Count("/proc/self/exe");
  fprintf(stderr, "usage: runtime_paths\n");
  return 2;
}
