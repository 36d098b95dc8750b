// Restricts its system calls while its threads race: as libraries do it, by the system call (argument `syscall`), or by prctl. What would be forbidden to a
// breakpoint's handler kills the process.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

long counter;
std::atomic<bool> done;

__attribute__((noinline)) static void Count() { counter = counter + 1; }

static void* Work(void*) {
  while (!done.load(std::memory_order_relaxed)) Count();
  return nullptr;
}

static void Sleep(long milliseconds) {
  const timespec wait = {milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&wait, nullptr);
}

static bool Restrict(bool by_syscall) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (by_syscall) return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

int main(int argc, char** argv) {
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Work, nullptr);
  Sleep(300);
  if (!Restrict(argc > 1 && std::strcmp(argv[1], "syscall") == 0)) return 1;
  Sleep(500);
  done = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  std::puts("restricted");
  return 0;
}
