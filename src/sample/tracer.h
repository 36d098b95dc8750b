// The tracer of a running process: meets its breakpoints by ptrace, and lets everything else happen as if nobody was there. Runs on a thread of its
// own, which is what the kernel knows as the tracer.
//
// Threads are seized, which stops none of them. One that meets a breakpoint is stopped, its program counter set back and the code restored at once;
// sample/outside_sampler.h says how long it stays. Nobody else is ever stopped, except
//   - threads and processes that begin, for a moment: a thread gets its data breakpoints; a process that was forked has copies of breakpoints, which
//     are taken out before it goes on, alone; one that shares the memory (vfork) is followed until it has become another program
//   - at the end, threads that are running: one may have met a breakpoint of which we have not heard yet. Those that sleep are let go without being
//     woken: the kernel does that when the tracer's thread ends.
// Signals are handed on as they come, and a process that is stopped (SIGSTOP) stays so.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "events/sample_page.h"
#include "sample/outside_sampler.h"
#include "sample/thread_watches.h"
#include "sample/trap_shield.h"

namespace redflag {

class Tracer {
 public:
  enum class End : uint8_t { kNone, kProcessEnded, kProgramReplaced };

  // The signal SIGCHLD has to be blocked.
  explicit Tracer(pid_t pid) : pid_(pid) {}
  ~Tracer() { Finish(); }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // For as long as there are breakpoints; before it starts. Null: there is none.
  void SetShield(TrapShield* shield) { shield_ = shield; }
  // All threads are seized. An error in words; empty: none.
  std::string Start();
  // Data breakpoints of a thread; if there are none, `error` is why.
  uint32_t watches(int& error) const;
  // Before there is any breakpoint. The page stays where it is.
  void SetPage(SamplePage* page) { page_.store(page, std::memory_order_release); }
  // There are no more breakpoints, and none will come: the process is left alone. May be called again.
  void Finish();

  End end() const { return end_.load(std::memory_order_acquire); }
  // What could not be watched for want of descriptors or memory.
  uint64_t unwatched_threads() const { return unwatched_threads_.load(std::memory_order_relaxed); }

 private:
  struct Thread {
    enum class State : uint8_t { kRuns, kStopping, kHeld, kListens };
    pid_t tid = 0, process = 0;
    State state = State::kRuns;
    bool may_go = false;         // kStopping: the sample was over before it stopped
    bool in_group_stop = false;  // kHeld: all of the process is stopped
    uint64_t blocked = 0;        // signals, as far as known
    ThreadWatches watches{};
  };

  void Work(std::promise<std::string>& started);
  std::string Seize();
  std::string SeizeOne(pid_t tid, bool& is_new);
  Thread& Add(pid_t tid, pid_t process);
  void Serve();
  void Leave();
  // Until somebody has something to tell, or so many nanoseconds are over.
  void Await(uint64_t nanoseconds) const;
  void TakeNews();
  void OnStatus(pid_t tid, int status);
  void OnStop(Thread& thread, int signal, int event);
  void OnNewcomer(pid_t tid, int status);
  bool OnBreakpoint(Thread& thread);
  bool OnOwnBreakpoint(Thread& thread);
  bool GoOnAfter(Thread& thread, const TrapShield::Stop& stop);
  void LetGo(pid_t tid);
  void OnExec(Thread& thread);
  void Release(pid_t tid);
  void GoOn(Thread& thread, int signal);
  static void Listen(Thread& thread);
  void Detach(pid_t tid, int signal);
  void Remove(pid_t tid);
  static bool RestoreMask(const Thread& thread);

  pid_t pid_;
  TrapShield* shield_ = nullptr;  // the worker's, once it has started
  std::thread worker_;
  std::atomic<SamplePage*> page_{nullptr};
  std::atomic<End> end_{End::kNone};
  std::atomic<bool> leave_{false};
  std::atomic<uint64_t> unwatched_threads_{0};
  uint32_t watch_count_ = 0;
  int watch_error_ = 0;

  // The worker's own.
  int memory_ = -1, poll_ = -1, signals_ = -1, bell_ = -1;
  bool is_leaving_ = false;
  std::map<pid_t, std::unique_ptr<Thread>> threads_;
  std::set<pid_t> expected_;  // that were announced, and have not stopped yet
  std::set<pid_t> early_;     // that stopped before they were announced
  std::unique_ptr<OutsideSampler> sampler_;
};

}  // namespace redflag
