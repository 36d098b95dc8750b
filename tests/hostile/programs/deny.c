// deny NAME[,NAME...] -- COMMAND: runs a command that may not make these system calls: they fail with EPERM. large-mmap: mappings
// of a TiB and more fail with ENOMEM, as where the system does not overcommit.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct name {
  const char* text;
  int number;
};
static const struct name kNames[] = {
#ifdef SYS_pipe
    {"pipe", SYS_pipe},
#endif
#ifdef SYS_fork
    {"fork", SYS_fork},
    {"vfork", SYS_vfork},
#endif
    {"pipe2", SYS_pipe2},
    {"memfd_create", SYS_memfd_create},
    {"execve", SYS_execve},
    {"membarrier", SYS_membarrier},
    {"ptrace", SYS_ptrace},
    {"madvise", SYS_madvise},
    {"openat", SYS_openat},
    {"mincore", SYS_mincore},
    {"process_vm_readv", SYS_process_vm_readv},
};

static struct sock_filter program[128];
static unsigned short length;
static void add(unsigned short code, unsigned char yes, unsigned char no, unsigned value) {
  program[length++] = (struct sock_filter){code, yes, no, value};
}
static void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset); }
static void fail(int error) { add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (unsigned)error); }

int main(int argc, char** argv) {
  if (argc < 4 || strcmp(argv[2], "--") != 0) return 125;
  for (char* word = strtok(argv[1], ","); word != NULL; word = strtok(NULL, ",")) {
    load(offsetof(struct seccomp_data, nr));
    if (strcmp(word, "large-mmap") == 0) {
      add(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_mmap);
      load(offsetof(struct seccomp_data, args[1]) + 4);  // the upper half of the length
      add(BPF_JMP | BPF_JGE | BPF_K, 0, 1, 1u << 8);
      fail(ENOMEM);
      continue;
    }
    if (strcmp(word, "new-process") == 0) {  // threads may be made
      add(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_clone);
      load(offsetof(struct seccomp_data, args[0]));
      add(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 0x100);  // CLONE_VM
      fail(EPERM);
      continue;
    }
    size_t i = 0;
    while (i < sizeof kNames / sizeof *kNames && strcmp(kNames[i].text, word) != 0) ++i;
    if (i == sizeof kNames / sizeof *kNames) {
      fprintf(stderr, "deny: what is %s?\n", word);
      return 125;
    }
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)kNames[i].number);
    fail(EPERM);
  }
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {length, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("deny");
    return 125;
  }
  execvp(argv[3], argv + 3);
  perror(argv[3]);
  return 125;
}
