// What keeps a running process alive if its tracer is killed while it has breakpoints.
//
// The kernel hands the breakpoint that a thread meets to the tracer, as SIGTRAP. If there is no tracer any more, the signal goes to the process, and
// ends it. So the process gets a handler of SIGTRAP for as long as it has breakpoints, one that lets the thread try again until the guard
// (sample/guard.h) has taken the breakpoints out. While the tracer lives the handler never runs: the tracer keeps the signal to itself.
//
// The handler lies behind the end of the code that the kernel maps into every process (vdso), in the rest of its last page. A thread of the process sets
// it, in between: one that is running, or in a system call that is begun again as if nothing had been. All that it takes lies in the process before
// the thread is sent there, in one step, and leads it back: whoever did it may be killed at any moment.
//
// Invariant: bytes of the shield are written and taken away only while no thread is in them. Used by one process at a time: the guard, then the tracer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "sample/thread_registers.h"

namespace redflag {

class TrapShield {
 public:
  // Nothing is changed yet. 0: of no process, and never possible.
  explicit TrapShield(pid_t pid);

  // By a process that does not trace it. Not possible if the process handles SIGTRAP itself, restricts its system calls, or all of its threads
  // sleep in calls that should not be disturbed.
  void Raise();
  // The same, once there are no breakpoints. `after_kill`: threads may have met some that nobody has heard of; these go first.
  void Lower(bool after_kill);

  // By the tracer, with a thread that it has stopped. The thread is stopped afterwards, too, with these registers. `status`: by something else, that
  // is to be seen to as if waitpid had told it just now; 0: nothing. Not `there`: it has ended.
  struct Stop {
    bool there = true;
    bool done = false;
    int status = 0;
  };
  Stop RaiseBy(pid_t tid, const NativeRegisters& registers);
  // Of a process that was forked, or of this one.
  Stop LowerBy(pid_t tid, pid_t process, const NativeRegisters& registers);

  // Could it be had, if there was a thread for it?
  bool is_possible() const { return address_ != 0; }
  bool is_up() const { return is_up_; }
  // By a thread with the signal blocked a breakpoint was met: the kernel has taken the handler away.
  void SetLost() { is_up_ = false; }

 private:
  Stop SetBy(pid_t tid, pid_t process, NativeRegisters registers, bool up) const;
  bool SetByAnyone(bool up);
  void Settle(pid_t tid) const;
  void SettleAll() const;
  bool IsInside(uint64_t pc) const;
  bool IsThere(pid_t process) const;

  pid_t pid_;
  uint64_t address_ = 0;  // 0: there is no room, or no use
  bool is_up_ = false;
};

}  // namespace redflag
