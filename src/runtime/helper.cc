#include "runtime/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>
#include <cstddef>

#include "base/arch.h"
#include "runtime/detector.h"
#include "runtime/environment.h"
#include "runtime/message.h"
#include "runtime/recorder.h"
#include "runtime/runtime.h"

namespace redflag::rt {

// $REDFLAG_COMMAND, or bin/redflag of the tree that this library is in (lib/redflag/DETECTOR/libredflag_rt.so).
bool FindCommand(char* path, size_t capacity) {
  if (GetEnvironment("REDFLAG_COMMAND", path, capacity)) return true;
  struct Search {
    char* path;
    size_t capacity;
    bool found;
  } search{path, capacity, false};
  ForEachMappedFile(
      [](const MappedFile& file, void* data) {
        auto& out = *static_cast<Search*>(data);
        const auto here = reinterpret_cast<uint64_t>(&StartHelper);
        if (here < file.begin || here >= file.end) return true;
        size_t length = 0;
        while (file.path[length] != '\0') ++length;
        for (int levels = 0; levels < 4; ++levels) {
          while (length > 0 && file.path[length - 1] != '/') --length;
          if (length > 0) --length;
        }
        constexpr char kTail[] = "/bin/redflag";
        if (length + sizeof kTail > out.capacity) return false;
        for (size_t i = 0; i < length; ++i) out.path[i] = file.path[i];
        for (size_t i = 0; i < sizeof kTail; ++i) out.path[length + i] = kTail[i];
        out.found = true;
        return false;
      },
      &search);
  return search.found && arch::Syscall(SYS_faccessat, AT_FDCWD, reinterpret_cast<int64_t>(path), 1 /* X_OK */) == 0;
}

QuietChild::QuietChild(bool is_first)
    : end_signal_(is_first ? SIGCHLD : 0), child_signal_(uint64_t{1} << (SIGCHLD - 1)) {
  arch::Syscall(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<int64_t>(&child_signal_),
                reinterpret_cast<int64_t>(&mask_before_), sizeof mask_before_);
}

QuietChild::~QuietChild() {
  timespec at_once = {};
  if (end_signal_ != 0 && has_ended_) {
    arch::Syscall(SYS_rt_sigtimedwait, reinterpret_cast<int64_t>(&child_signal_), 0,
                  reinterpret_cast<int64_t>(&at_once), sizeof child_signal_);
  }
  RestoreSignals();
}

int64_t QuietChild::Fork() { return arch::Syscall(SYS_clone, end_signal_); }

void QuietChild::RestoreSignals() const {
  arch::Syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&mask_before_), 0, sizeof mask_before_);
}

int QuietChild::Wait(int64_t child) {
  int status = -1;
  while (arch::Syscall(SYS_wait4, child, reinterpret_cast<int64_t>(&status), end_signal_ == 0 ? __WCLONE : 0) ==
         -EINTR) {
  }
  has_ended_ = true;
  return status;
}

namespace {

// Do orphans among the descendants of this process become its children, as those of the first process of all do?
bool AdoptsOrphans() {
  int adopts = 0;
  arch::Syscall(SYS_prctl, PR_GET_CHILD_SUBREAPER, reinterpret_cast<int64_t>(&adopts));
  return adopts != 0 || arch::Syscall(SYS_getpid) == 1;
}

// Between a program that adopts orphans and its helper there has to be a parent as long as the helper lives: this process, which keeps
// nothing open, and whose end makes no signal.
[[noreturn]] void StayBetween(int64_t helper) {
  arch::Syscall(SYS_close_range, 0, 0xffffffff, 0);
  while (arch::Syscall(SYS_wait4, helper, 0, 0) == -EINTR) {
  }
  arch::Syscall(SYS_exit_group, 0);
  __builtin_unreachable();
}

}  // namespace

bool StartHelper(int64_t ring_fd, RingHeader& ring, bool is_forked) {
  if (IsPrivileged()) return false;
  static char command[512];
  if (!FindCommand(command, sizeof command)) return false;
  Line fd;
  Line pid;
  fd.Add(static_cast<uint64_t>(ring_fd));
  pid.Add(static_cast<uint64_t>(arch::Syscall(SYS_getpid)));
  static char output[512] = "";
  const bool to_file = GetEnvironment("REDFLAG_OUTPUT", output, sizeof output);
  static char json[512] = "";
  const bool with_json = GetEnvironment("REDFLAG_JSON", json, sizeof json);
  static char text[16] = "";
  const bool with_text = GetEnvironment("REDFLAG_TEXT", text, sizeof text) && text[0] != '\0';
  Line share;
  static char record[512] = "";
  const int64_t share_fd = GetEnvironment("REDFLAG_RECORD", record, sizeof record) ? Recorder::OpenShare() : -1;
  if (share_fd >= 0) share.Add(static_cast<uint64_t>(share_fd));
  const char* arguments[24] = {command, "collect",  "--ring-fd",  fd.text(),
                               "--pid", pid.text(), "--detector", Detector::kName};
  int count = 8;
  if (to_file) {
    arguments[count++] = "--output";
    arguments[count++] = output;
  }
  if (with_json) {
    arguments[count++] = "--json";
    arguments[count++] = json;
  }
  if (with_text) {
    arguments[count++] = "--text";
    arguments[count++] = text;
  }
  if (Runtime::Get().flags().print_full_thread_history) arguments[count++] = "--thread-history";
  if (share_fd >= 0) {
    arguments[count++] = "--trace-fd";
    arguments[count++] = share.text();
    arguments[count++] = "--record";
    arguments[count++] = record;
  }
  const char* environment[3] = {};
  int variables = 0;
  static char no_color[8];
  if (GetEnvironment("NO_COLOR", no_color, sizeof no_color)) environment[variables++] = "NO_COLOR=1";
  static char tsan_options[4096] = "TSAN_OPTIONS=";
  constexpr size_t kName = sizeof "TSAN_OPTIONS=" - 1;
  if (GetEnvironment("TSAN_OPTIONS", tsan_options + kName, sizeof tsan_options - kName)) {
    environment[variables++] = tsan_options;
  }

  // The program has no children yet whose end it could miss; in the child of a fork it may have.
  const bool stays = AdoptsOrphans();
  int64_t child = 0;
  {
    QuietChild quiet(!is_forked && !stays);
    child = quiet.Fork();
    if (child == 0) {
      arch::Syscall(SYS_setsid);
      quiet.RestoreSignals();
      const int64_t grandchild = arch::Syscall(SYS_clone, SIGCHLD);
      if (grandchild == 0) {
        arch::Syscall(SYS_execve, reinterpret_cast<int64_t>(command), reinterpret_cast<int64_t>(arguments),
                      reinterpret_cast<int64_t>(environment));
        ring.reader_failed = 1;
        arch::Syscall(SYS_exit_group, 127);
      }
      if (stays && grandchild > 0) StayBetween(grandchild);
      arch::Syscall(SYS_exit_group, 0);
    }
    if (child > 0 && !stays) quiet.Wait(child);
  }
  if (share_fd >= 0) arch::Syscall(SYS_close, share_fd);
  return child > 0;
}

}  // namespace redflag::rt
