// Programs that make system calls themselves, and say so (sanitizer/linux_syscall_hooks.h): before each, with its arguments, and after it,
// with its result too. Calls that move data, open a pipe, close or fork mean what the functions of libc mean; the others order nothing, and
// their hooks are here so that programs link.
#include <sys/types.h>

#include "intercept/file_objects.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

// Names that begin with two underscores are the interface's.
#define REDFLAG_SYSCALL(when, name) \
  extern "C" [[gnu::visibility("default")]] void __sanitizer_syscall_##when##_impl_##name

namespace redflag {
namespace {

void Sending(hooks::Pc pc, long fd, const void* from, long bytes) {
  if (!hooks::Active()) return;
  if (bytes > 0) hooks::Read(pc, from, static_cast<size_t>(bytes));
  if (const void* object = ObjectOfSending(pc, static_cast<int>(fd))) hooks::Release(pc, object);
}

void Received(hooks::Pc pc, long result, long fd, void* to) {
  if (result < 0 || !hooks::Active()) return;
  if (const void* object = ObjectOfReceiving(pc, static_cast<int>(fd))) hooks::Acquire(pc, object);
  if (result > 0) hooks::Write(pc, to, static_cast<size_t>(result));
}

void Closing(hooks::Pc pc, long fd) {
  if (!hooks::Active()) return;
  if (const void* object = ObjectOfClosing(pc, static_cast<int>(fd))) hooks::Release(pc, object);
  Closed(static_cast<int>(fd));
}

void Forking(hooks::Pc pc) {
  if (hooks::Active()) hooks::BeforeFork(pc);
}

void Forked(long result) {
  if (result == 0) return hooks::AfterForkInChild();
  hooks::AfterForkInParent();
}

}  // namespace
}  // namespace redflag

using namespace redflag;  // NOLINT: this file is the outside of that namespace

REDFLAG_SYSCALL(pre, read)(long, long, long) {}
REDFLAG_SYSCALL(post, read)(long result, long fd, long to, long) {
  Received(REDFLAG_CALLER, result, fd, reinterpret_cast<void*>(to));
}
REDFLAG_SYSCALL(pre, pread64)(long, long, long, long) {}
REDFLAG_SYSCALL(post, pread64)(long result, long fd, long to, long, long) {
  Received(REDFLAG_CALLER, result, fd, reinterpret_cast<void*>(to));
}
REDFLAG_SYSCALL(pre, write)(long fd, long from, long bytes) {
  Sending(REDFLAG_CALLER, fd, reinterpret_cast<const void*>(from), bytes);
}
REDFLAG_SYSCALL(post, write)(long, long, long, long) {}
REDFLAG_SYSCALL(pre, pwrite64)(long fd, long from, long bytes, long) {
  Sending(REDFLAG_CALLER, fd, reinterpret_cast<const void*>(from), bytes);
}
REDFLAG_SYSCALL(post, pwrite64)(long, long, long, long, long) {}

REDFLAG_SYSCALL(pre, pipe)(long) {}
REDFLAG_SYSCALL(post, pipe)(long result, long to) {
  if (result == 0 && hooks::Active()) hooks::Write(REDFLAG_CALLER, reinterpret_cast<void*>(to), 2 * sizeof(int));
}
REDFLAG_SYSCALL(pre, pipe2)(long, long) {}
REDFLAG_SYSCALL(post, pipe2)(long result, long to, long) {
  if (result == 0 && hooks::Active()) hooks::Write(REDFLAG_CALLER, reinterpret_cast<void*>(to), 2 * sizeof(int));
}

REDFLAG_SYSCALL(pre, close)(long fd) { Closing(REDFLAG_CALLER, fd); }
REDFLAG_SYSCALL(post, close)(long, long) {}

REDFLAG_SYSCALL(pre, fork)() { Forking(REDFLAG_CALLER); }
REDFLAG_SYSCALL(post, fork)(long result) { Forked(result); }
REDFLAG_SYSCALL(pre, vfork)() { Forking(REDFLAG_CALLER); }
REDFLAG_SYSCALL(post, vfork)(long result) { Forked(result); }

// clang-format off
#define REDFLAG_QUIET_SYSCALLS(X) \
  X(accept) X(accept4) X(access) X(acct) X(add_key) X(adjtimex) X(alarm) X(bdflush) X(bind) X(brk) X(capget)  \
  X(capset) X(chdir) X(chmod) X(chown) X(chown16) X(chroot) X(clock_adjtime) X(clock_getres) X(clock_gettime)  \
  X(clock_nanosleep) X(clock_settime) X(connect) X(creat) X(delete_module) X(dup) X(dup2) X(dup3)  \
  X(epoll_create) X(epoll_create1) X(epoll_ctl) X(epoll_pwait) X(epoll_pwait2) X(epoll_wait) X(eventfd)  \
  X(eventfd2) X(exit) X(exit_group) X(faccessat) X(fanotify_init) X(fanotify_mark) X(fchdir) X(fchmod)  \
  X(fchmodat) X(fchown) X(fchown16) X(fchownat) X(fcntl) X(fcntl64) X(fdatasync) X(fgetxattr) X(flistxattr)  \
  X(flock) X(fremovexattr) X(fsetxattr) X(fstat) X(fstat64) X(fstatat64) X(fstatfs) X(fstatfs64) X(fsync)  \
  X(ftruncate) X(futex) X(futimesat) X(get_mempolicy) X(get_robust_list) X(getcpu) X(getcwd) X(getdents)  \
  X(getdents64) X(getegid) X(getegid16) X(geteuid) X(geteuid16) X(getgid) X(getgid16) X(getgroups)  \
  X(getgroups16) X(gethostname) X(getitimer) X(getpeername) X(getpgid) X(getpgrp) X(getpid) X(getppid)  \
  X(getpriority) X(getresgid) X(getresgid16) X(getresuid) X(getresuid16) X(getrlimit) X(getrusage) X(getsid)  \
  X(getsockname) X(getsockopt) X(gettid) X(gettimeofday) X(getuid) X(getuid16) X(getxattr) X(init_module)  \
  X(inotify_add_watch) X(inotify_init) X(inotify_init1) X(inotify_rm_watch) X(io_cancel) X(io_destroy)  \
  X(io_getevents) X(io_setup) X(io_submit) X(ioctl) X(ioperm) X(ioprio_get) X(ioprio_set) X(ipc) X(kexec_load)  \
  X(keyctl) X(kill) X(lchown) X(lchown16) X(lgetxattr) X(link) X(linkat) X(listen) X(listxattr) X(llistxattr)  \
  X(llseek) X(lookup_dcookie) X(lremovexattr) X(lseek) X(lsetxattr) X(lstat) X(lstat64) X(madvise) X(mbind)  \
  X(migrate_pages) X(mincore) X(mkdir) X(mkdirat) X(mknod) X(mknodat) X(mlock) X(mlockall) X(mmap_pgoff)  \
  X(mount) X(move_pages) X(mprotect) X(mq_getsetattr) X(mq_notify) X(mq_open) X(mq_timedreceive)  \
  X(mq_timedsend) X(mq_unlink) X(mremap) X(msgctl) X(msgget) X(msgrcv) X(msgsnd) X(msync) X(munlock)  \
  X(munlockall) X(munmap) X(name_to_handle_at) X(nanosleep) X(newfstat) X(newfstatat) X(newlstat) X(newstat)  \
  X(newuname) X(ni_syscall) X(nice) X(old_getrlimit) X(old_mmap) X(old_readdir) X(old_select) X(oldumount)  \
  X(olduname) X(open) X(open_by_handle_at) X(openat) X(pause) X(pciconfig_iobase) X(pciconfig_read)  \
  X(pciconfig_write) X(perf_event_open) X(personality) X(pivot_root) X(poll) X(ppoll) X(preadv) X(prlimit64)  \
  X(process_vm_readv) X(process_vm_writev) X(pselect6) X(ptrace) X(pwritev) X(quotactl) X(readlink)  \
  X(readlinkat) X(readv) X(reboot) X(recv) X(recvfrom) X(recvmmsg) X(recvmsg) X(remap_file_pages)  \
  X(removexattr) X(rename) X(renameat) X(request_key) X(restart_syscall) X(rmdir) X(rt_sigaction)  \
  X(rt_sigpending) X(rt_sigprocmask) X(rt_sigqueueinfo) X(rt_sigtimedwait) X(rt_tgsigqueueinfo)  \
  X(sched_get_priority_max) X(sched_get_priority_min) X(sched_getaffinity) X(sched_getparam)  \
  X(sched_getscheduler) X(sched_rr_get_interval) X(sched_setaffinity) X(sched_setparam) X(sched_setscheduler)  \
  X(sched_yield) X(select) X(semctl) X(semget) X(semop) X(semtimedop) X(send) X(sendfile) X(sendfile64)  \
  X(sendmmsg) X(sendmsg) X(sendto) X(set_mempolicy) X(set_robust_list) X(set_tid_address) X(setdomainname)  \
  X(setfsgid) X(setfsgid16) X(setfsuid) X(setfsuid16) X(setgid) X(setgid16) X(setgroups) X(setgroups16)  \
  X(sethostname) X(setitimer) X(setns) X(setpgid) X(setpriority) X(setregid) X(setregid16) X(setresgid)  \
  X(setresgid16) X(setresuid) X(setresuid16) X(setreuid) X(setreuid16) X(setrlimit) X(setsid) X(setsockopt)  \
  X(settimeofday) X(setuid) X(setuid16) X(setxattr) X(sgetmask) X(shmat) X(shmctl) X(shmdt) X(shmget)  \
  X(shutdown) X(sigaction) X(sigaltstack) X(signal) X(signalfd) X(signalfd4) X(sigpending) X(sigprocmask)  \
  X(socket) X(socketcall) X(socketpair) X(splice) X(spu_create) X(spu_run) X(ssetmask) X(stat) X(stat64)  \
  X(statfs) X(statfs64) X(stime) X(swapoff) X(swapon) X(symlink) X(symlinkat) X(sync) X(syncfs) X(sysctl)  \
  X(sysfs) X(sysinfo) X(syslog) X(tee) X(tgkill) X(time) X(timer_create) X(timer_delete) X(timer_getoverrun)  \
  X(timer_gettime) X(timer_settime) X(timerfd_create) X(timerfd_gettime) X(timerfd_settime) X(times) X(tkill)  \
  X(truncate) X(umask) X(umount) X(uname) X(unlink) X(unlinkat) X(unshare) X(uselib) X(ustat) X(utime)  \
  X(utimensat) X(utimes) X(vhangup) X(vmsplice) X(wait4) X(waitid) X(waitpid) X(writev)
// clang-format on

#define REDFLAG_QUIET(name)       \
  REDFLAG_SYSCALL(pre, name)() {} \
  REDFLAG_SYSCALL(post, name)() {}
REDFLAG_QUIET_SYSCALLS(REDFLAG_QUIET)
