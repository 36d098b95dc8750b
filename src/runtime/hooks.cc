// What interceptors tell (intercept/hooks.h), in terms of the runtime.
#include "intercept/hooks.h"

#include <sys/auxv.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "intercept/heap.h"
#include "runtime/children.h"
#include "runtime/code_of_file.h"
#include "runtime/emit.h"
#include "runtime/environment.h"
#include "runtime/gate.h"
#include "runtime/giving_up.h"
#include "runtime/library_rules.h"
#include "runtime/plain_code.h"
#include "runtime/runtime.h"

namespace redflag::hooks {

using rt::Runtime;
using rt::Thread;

namespace {

// The runtime entered for the length of a hook.
class Entered {
 public:
  Entered() : thread_(Runtime::Enter()) {}
  ~Entered() {
    if (thread_ != nullptr) Runtime::Leave(thread_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  explicit operator bool() const { return thread_ != nullptr; }
  bool watches_sync() const { return thread_ != nullptr && thread_->ignore_sync == 0; }
  Thread& operator*() const { return *thread_; }

 private:
  Thread* thread_;
};

// An allocator that the program brought: what it does to its own memory, under its own locks, is no business of the program's, and orders
// nothing there.
constinit rt::CodeOfFile foreign_allocator;

// The names of libraries that the dynamic linker keeps are shown to whoever walks through them (dl_iterate_phdr), under a lock of its own.
constinit rt::CodeOfFile dynamic_linker;

uint64_t AddressOf(const void* p) { return reinterpret_cast<uint64_t>(p); }

constinit Children children;

// Memory that plain code or the dynamic linker allocates and frees begins and ends its life; that is no write.
class IfPlain {
 public:
  IfPlain(Thread& t, Pc pc) : t_(rt::PlainCode::Has(pc) || dynamic_linker.Has(pc) ? &t : nullptr) {
    if (t_ != nullptr) ++t_->mode.ignore_writes;
  }
  ~IfPlain() {
    if (t_ != nullptr) --t_->mode.ignore_writes;
  }
  IfPlain(const IfPlain&) = delete;
  IfPlain& operator=(const IfPlain&) = delete;

 private:
  Thread* t_;
};

// A lock, a condition variable or a barrier is memory of the program, too: who makes or destroys it writes it, who uses it reads it. Told by
// their first byte. The other detectors would ask which lock protects the lock.
void Touch(Thread& t, const void* object, AccessKind kind, Pc pc) {
  if (rt::PlainCode::Has(pc)) return;
  if constexpr (rt::Detector::kClaim == Claim::kUnordered) {
    Runtime::Get().AccessRange(t, AddressOf(object), 1, kind, pc);
  }
}

// The heap is used in a signal handler, which may have interrupted somebody who was using it.
[[gnu::cold, gnu::noinline]] void TellUnsafe(Thread& t, Pc pc) {
  if (CallDepth() < t.handler_depth) {  // an exception has left it
    t.handler_depth = 0;
    return;
  }
  if (!Runtime::Get().flags().report_signal_unsafe) return;
  Runtime::Get().Misused(rt::Misuse{
      .thread = t.state.tid, .flaw = wire::Flaw::kUnsafeInHandler, .where = t.CallsAt(Runtime::Get().contexts(), pc)});
}

// A thread ends that ignores accesses: whoever began that has forgotten to end it.
void TellIgnoring(Thread& t) {
  if (t.mode.ignore_reads == 0 && t.mode.ignore_writes == 0) return;
  Runtime::Get().Misused(rt::Misuse{
      .thread = t.state.tid, .flaw = wire::Flaw::kEndsIgnoring, .where = t.ignores_at[0], .taken_at = t.ignores_at[1]});
}

}  // namespace

bool Active() { return Runtime::IsActive(); }

// ---- Memory ----

void Started() {
  foreign_allocator.Find(reinterpret_cast<uint64_t>(heap::AllocatorCode()));
  rt::ForEachMappedFile(
      [](const rt::MappedFile& file, void*) {
        if (file.bias != getauxval(AT_BASE) || file.bias == 0) return true;
        dynamic_linker.Find(file.begin);
        return false;
      },
      nullptr);
}

void Read(Pc pc, const void* from, size_t bytes) {
  if (foreign_allocator.Has(pc) || rt::PlainCode::Has(pc)) return;
  if (Entered t; t) Runtime::Get().AccessRange(*t, AddressOf(from), bytes, AccessKind::kRead, pc);
}
void Write(Pc pc, void* to, size_t bytes) {
  if (foreign_allocator.Has(pc) || rt::PlainCode::Has(pc)) return;
  if (Entered t; t) Runtime::Get().AccessRange(*t, AddressOf(to), bytes, AccessKind::kWrite, pc);
}
void Allocated(Pc pc, void* block, size_t bytes) {
  Entered t;
  if (!t) return;
  if ((*t).handler_depth != 0) [[unlikely]]
    TellUnsafe(*t, pc);
  const IfPlain plain(*t, pc);
  Runtime::Get().Allocated(*t, AddressOf(block), bytes, pc);
}
void Freeing(Pc pc, void* block, size_t, bool is_reused) {
  Entered t;
  if (!t) return;
  if ((*t).handler_depth != 0) [[unlikely]]
    TellUnsafe(*t, pc);
  const IfPlain plain(*t, pc);
  Runtime::Get().Freeing(*t, AddressOf(block), pc, is_reused);
}
void HandedOut(Pc, void* memory, size_t bytes) {
  if (Entered t; t && memory != nullptr) Runtime::Get().Unmapped(*t, AddressOf(memory), bytes);
}
// Whatever was there has no past now. Like an allocation, it is a write: of the first page, which is where pointers to it point.
void Mapped(Pc pc, void* pages, size_t bytes) {
  constexpr size_t kPage = 4096;
  Entered t;
  if (!t) return;
  Runtime::Get().Unmapped(*t, AddressOf(pages), bytes);
  if ((*t).Ignores(AccessKind::kWrite) || rt::PlainCode::Has(pc)) return;
  Runtime::Get().AccessRange(*t, AddressOf(pages), bytes < kPage ? bytes : kPage, AccessKind::kWrite,
                             pc | static_cast<uint64_t>(PlaceFlag::kAlloc));
}
void Unmapping(Pc, void* pages, size_t bytes) {
  if (Entered t; t) Runtime::Get().Unmapped(*t, AddressOf(pages), bytes);
}
void Unloading() {
  if (Entered t; t) rt::TellModules();
}
void Unloaded(void* image, size_t bytes) {
  Entered t;
  if (!t) return;
  Runtime::Get().Unmapped(*t, AddressOf(image), bytes);
  rt::PlainCode::NoteGone(AddressOf(image), bytes);
  rt::TellModulesGone(AddressOf(image), bytes);
}
bool WatchesLibraries() { return rt::LibraryRules::are_strict(); }
void LibrariesChanged() {
  if (Entered t; t) rt::LibraryRules::Check(Runtime::Get().flags());
}

// ---- Locks ----

void LockCreated(Pc pc, const void* lock) {
  if (foreign_allocator.Has(pc)) return;
  Entered t;
  if (!t) return;
  Touch(*t, lock, AccessKind::kWrite, pc);
  Runtime::Get().ForgetSync(*t, AddressOf(lock));
  Runtime::Get().LockMade(*t, AddressOf(lock), pc);
}
void LockDestroyed(Pc pc, const void* lock) {
  if (foreign_allocator.Has(pc)) return;
  Entered t;
  if (!t) return;
  Touch(*t, lock, AccessKind::kWrite, pc);
  Runtime::Get().ForgetSync(*t, AddressOf(lock));
}
// Apart, so that whoever holds no other lock pays for nothing.
[[gnu::noinline]] static bool NoteOrder(Pc pc, const void* lock, LockMode mode) {
  if (foreign_allocator.Has(pc)) return true;
  if (Entered t; t.watches_sync()) Runtime::Get().NoteOrder(*t, AddressOf(lock), mode, pc);
  return true;
}
bool Wanting(Pc pc, const void* lock, LockMode mode) {
  const Thread* thread = rt::local.thread;
  if (thread == nullptr || thread->mode.inside != 0) [[unlikely]]
    return Active();
  if (thread->locks.empty() && !thread->mode.takes_lock) return true;
  return NoteOrder(pc, lock, mode);
}
void Locked(Pc pc, const void* lock, LockMode mode, int depth) {
  if (foreign_allocator.Has(pc)) return;
  Entered t;
  if (!t.watches_sync()) return;
  if ((*t).lock_uses.IsToBeTold(AddressOf(lock))) Touch(*t, lock, AccessKind::kRead, pc);
  Runtime::Get().Lock(*t, AddressOf(lock), mode, depth, pc);
}
int Unlocking(Pc pc, const void* lock, LockMode mode, bool all) {
  if (foreign_allocator.Has(pc)) return 1;
  Entered t;
  return t.watches_sync() ? Runtime::Get().Unlock(*t, AddressOf(lock), mode, all, pc) : 1;
}
void LockedByItself(Pc pc, const void* lock, LockMode mode, int depth, bool may_repeat) {
  {
    Entered t;
    if (!t.watches_sync()) return;
    wire::Flaw flaw{};
    if (!may_repeat && Runtime::Get().FindLockFlaw(*t, AddressOf(lock), mode, true, flaw)) {
      Runtime::Get().Misused(*t, AddressOf(lock), flaw, pc);
    }
  }
  Locked(pc, lock, mode, depth);
}
int UnlockingByItself(Pc pc, const void* lock, LockMode mode, bool all) {
  const int levels = Unlocking(pc, lock, mode, all);
  if (levels != 0) return levels;
  Entered t;
  wire::Flaw flaw{};
  if (t.watches_sync() && Runtime::Get().FindLockFlaw(*t, AddressOf(lock), mode, false, flaw)) {
    Runtime::Get().Misused(*t, AddressOf(lock), flaw, pc);
  }
  return 1;
}
void LockDestroyedByItself(Pc pc, const void* lock) {
  {
    Entered t;
    if (t.watches_sync() && Runtime::Get().IsHeld(AddressOf(lock))) {
      Runtime::Get().Misused(*t, AddressOf(lock), wire::Flaw::kDestroyHeld, pc);
      Runtime::Get().Unlock(*t, AddressOf(lock), LockMode::kExclusive, true, pc);
    }
  }
  LockDestroyed(pc, lock);
}
void LockMisused(Pc pc, const void* lock, LockFlaw flaw) {
  Entered t;
  if (!t.watches_sync()) return;
  const wire::Flaw said = flaw == LockFlaw::kUnlockNotHeld ? wire::Flaw::kUnlockNotHeld
                          : flaw == LockFlaw::kDestroyHeld ? wire::Flaw::kDestroyHeld
                                                           : wire::Flaw::kInvalidLock;
  Runtime::Get().Misused(*t, AddressOf(lock), said, pc);
}

// ---- Edges ----

void Release(Pc pc, const void* object) {
  if (Entered t; t.watches_sync()) Runtime::Get().Release(*t, AddressOf(object), pc);
}
void ReleaseStore(Pc pc, const void* object) {
  if (Entered t; t.watches_sync()) Runtime::Get().ReleaseStore(*t, AddressOf(object), pc);
}
void Acquire(Pc, const void* object) {
  if (Entered t; t.watches_sync()) Runtime::Get().Acquire(*t, AddressOf(object));
}
void Notifying(Pc pc, const void* condition) {
  Entered t;
  if (!t.watches_sync()) return;
  Touch(*t, condition, AccessKind::kRead, pc);
  if (rt::Detector::kClaim == Claim::kUnordered) {
    Runtime::Get().NoteCondition(*t, EventKind::kSignal, AddressOf(condition));
  } else {
    Runtime::Get().Release(*t, AddressOf(condition), pc, EventFlag::kNotify);
  }
}
void Notified(Pc pc, const void* condition) {
  Entered t;
  if (!t.watches_sync()) return;
  Touch(*t, condition, AccessKind::kRead, pc);
  if (rt::Detector::kClaim == Claim::kUnordered) {
    Runtime::Get().NoteCondition(*t, EventKind::kWait, AddressOf(condition));
  } else {
    Runtime::Get().Acquire(*t, AddressOf(condition), EventFlag::kNotify);
  }
}
void Forget(Pc, const void* object) {
  if (Entered t; t) Runtime::Get().ForgetSync(*t, AddressOf(object));
}
void BarrierForgotten(Pc pc, const void* barrier) {
  Entered t;
  if (!t) return;
  Touch(*t, barrier, AccessKind::kWrite, pc);
  Runtime::Get().ForgetBarrier(*t, AddressOf(barrier));
}
uint64_t BarrierArrive(Pc pc, const void* barrier, unsigned parties) {
  Entered t;
  if (!t) return 0;
  Touch(*t, barrier, AccessKind::kRead, pc);
  return Runtime::Get().BarrierArrive(*t, AddressOf(barrier), parties, pc);
}
void BarrierLeave(Pc pc, const void* barrier, uint64_t phase) {
  Entered t;
  if (!t || phase == 0) return;
  Runtime::Get().BarrierLeave(*t, phase);
  if (Runtime::Get().flags().report_barrier_in_use) Touch(*t, barrier, AccessKind::kRead, pc);
}

// ---- Descriptors ----

void Using(Pc pc, const void* descriptor) {
  if (rt::PlainCode::Has(pc)) return;
  if (Entered t; t) Runtime::Get().AccessRange(*t, AddressOf(descriptor), kGranule, AccessKind::kRead, pc);
}
void Closing(Pc pc, const void* descriptor) {
  Entered t;
  if (!t) return;
  if (!rt::PlainCode::Has(pc)) Runtime::Get().AccessRange(*t, AddressOf(descriptor), kGranule, AccessKind::kWrite, pc);
  Runtime::Get().BeginAnew(*t, AddressOf(descriptor), kGranule);  // its number may be given to another one
}
void Renewed(Pc, const void* descriptor) {
  if (Entered t; t) Runtime::Get().BeginAnew(*t, AddressOf(descriptor), kGranule);
}
void Made(Pc pc, const void* descriptor) {
  Entered t;
  if (!t) return;
  Runtime::Get().BeginAnew(*t, AddressOf(descriptor), kGranule);
  if (!rt::PlainCode::Has(pc)) Runtime::Get().AccessRange(*t, AddressOf(descriptor), kGranule, AccessKind::kRead, pc);
}

// ---- Threads ----

namespace {
constinit bool others_were_lost = false;  // threads that the process had before it was forked
}

Child* ThreadCreating(Pc pc, bool detached) {
  Entered t;
  if (!t) return nullptr;
  if (others_were_lost && Runtime::Get().flags().die_after_fork) {
    rt::GiveUp(
        "starting new threads after multi-threaded fork is not supported. Dying (set die_after_fork=0 to override)");
  }
  auto* child = ::new (Runtime::Get().arena().Allocate(sizeof(Child)))
      Child{.thread = Runtime::Get().NewThread(&*t, pc, detached)};
  child->detached = detached;
  children.Add(child);
  return child;
}

void ThreadCreated(Child* child, uintptr_t handle) {
  if (child == nullptr) return;
  const rt::Gate::Passage passage;
  children.Name(child, handle);
}

void CreationBegins() {
  if (rt::local.thread != nullptr) rt::local.thread->mode.inside = Thread::kInside;
}
void CreationEnds() {
  if (rt::local.thread != nullptr) rt::local.thread->mode.inside = 0;
}

void ThreadNotCreated(Child* child) {
  if (child == nullptr) return;
  const rt::Gate::Passage passage;
  {
    ScopedLock guard(children.lock());
    children.Remove(child);
  }
  Runtime::Get().Drop(child->thread);
  Runtime::Get().arena().Free(child, sizeof(Child));
}

void ThreadBegins(Child* child, const void* stack) {
  if (child == nullptr) return;
  const rt::Gate::Passage passage;
  Runtime::Get().Begin(child->thread);
  Runtime::Get().InfoOf(child->thread->state.tid).frame = reinterpret_cast<uint64_t>(stack);
}

void ThreadEnds() {
  Thread* thread = rt::local.thread;
  if (thread == nullptr || thread->mode.inside != 0) return;
  const rt::Gate::Passage passage;
  thread->mode.inside = Thread::kInside;
  Child* child = nullptr;
  bool detached = true;
  {
    ScopedLock guard(children.lock());
    child = children.FindThread(thread);
    if (child != nullptr) {
      detached = child->detached;
      child->ended = true;
      if (detached) children.Remove(child);
    }
  }
  TellIgnoring(*thread);
  Runtime::Get().End(thread);
  if (!detached) return;  // the one who joins needs it
  Runtime::Get().Drop(thread);
  if (child != nullptr) Runtime::Get().arena().Free(child, sizeof(Child));
}

Child* ThreadJoining(uintptr_t handle) {
  const rt::Gate::Passage passage;
  ScopedLock guard(children.lock());
  return children.Find(handle);
}

void ThreadJoined(Pc, Child* child) {
  if (child == nullptr) return;
  Entered t;
  if (!t) return;
  {
    ScopedLock guard(children.lock());
    children.Remove(child);
  }
  if (!child->ended) Runtime::Get().EndOf(child->thread);
  Runtime::Get().Join(*t, child->thread);
  Runtime::Get().arena().Free(child, sizeof(Child));
}

void ThreadDetached(Pc, uintptr_t handle) {
  const rt::Gate::Passage passage;
  Child* gone = nullptr;
  {
    ScopedLock guard(children.lock());
    Child* child = children.Find(handle);
    if (child == nullptr) return;
    child->detached = true;
    if (child->ended) {
      children.Remove(child);
      gone = child;
    }
  }
  if (gone == nullptr) return;
  Runtime::Get().Drop(gone->thread);
  Runtime::Get().arena().Free(gone, sizeof(Child));
}

void ThreadNamed(uintptr_t handle, const char* name) {
  Entered t;
  if (!t) return;
  ScopedLock guard(children.lock());
  const Child* child = children.Find(handle);
  const Tid tid = child != nullptr ? child->thread->state.tid : (*t).state.tid;
  char* to = Runtime::Get().InfoOf(tid).name;
  for (size_t i = 0; i < sizeof(rt::ThreadInfo::name) - 1; ++i) {
    to[i] = name[i];
    if (name[i] == '\0') break;
  }
  if (rt::Recorder::is_on()) rt::TellThread(Runtime::Get(), tid);
}

// ---- Processes ----

namespace {
constinit uint32_t forking_os_id = 0;
constinit bool forked_by_first = false;
}  // namespace

void BeforeFork(Pc) {
  Entered t;
  if (!t) return;
  rt::Gate::Close(*t);
  forking_os_id = Runtime::Get().InfoOf((*t).state.tid).os_id;
  forked_by_first = forking_os_id == static_cast<uint32_t>(arch::Syscall(SYS_getpid));
}

void AfterForkInParent() {
  if (rt::local.thread != nullptr) rt::Gate::Open(*rt::local.thread);
}

void AfterForkInChild() {
  {
    Entered t;
    if (!t) return rt::Gate::Reset();
    Runtime& runtime = Runtime::Get();
    const bool records = rt::Recorder::is_on();
    rt::Recorder::Forget();
    rt::Recorder::Close(*t);
    others_were_lost |= !forked_by_first;
    children.Clear([&](Child* child) {
      if (child->thread != &*t) {
        others_were_lost |= !child->ended;
        if (!child->ended) runtime.EndOf(child->thread);
        runtime.Join(*t, child->thread);
      }
      runtime.arena().Free(child, sizeof(Child));
    });
    runtime.BeginProcess(*t, forking_os_id);
    rt::RestartEmitting(runtime.flags(), records);
    if (records) runtime.Record(*t);
  }
  rt::Gate::Reset();
}
// Threads that have ended, and that somebody could still join, but nobody did.
void TellLeaks() {
  constexpr uint32_t kMost = 64;  // places where they were created
  Entered t;
  if (!t || !Runtime::Get().flags().report_thread_leaks) return;
  Runtime& runtime = Runtime::Get();
  struct Leak {
    Tid first;
    uint32_t more;
  };
  Leak leaks[kMost];
  uint32_t count = 0;
  {
    ScopedLock guard(children.lock());
    children.ForEach([&](const Child& child) {
      if (!child.ended || child.detached) return;
      const Tid tid = child.thread->state.tid;
      uint32_t i = 0;
      while (i < count && runtime.InfoOf(leaks[i].first).created_at != runtime.InfoOf(tid).created_at) ++i;
      if (i < count) {
        leaks[i] = {.first = tid, .more = leaks[i].more + 1};  // the youngest are visited first
      } else if (count < kMost) {
        leaks[count++] = {.first = tid, .more = 0};
      }
    });
  }
  for (uint32_t i = count; i-- > 0;) {
    runtime.Misused(rt::Misuse{.thread = leaks[i].first, .flaw = wire::Flaw::kThreadLeak, .number = leaks[i].more});
  }
}

int Exiting(int status) {
  TellLeaks();
  if (Entered t; t && (*t).state.tid == Tid{0}) TellIgnoring(*t);
  return Runtime::FinishProcess(status);
}

void EnterFunction(Pc pc) { rt::EnterFunction(pc); }
void LeaveFunction() { rt::LeaveFunction(); }

uint64_t CallDepth() {
  const Thread* thread = rt::local.thread;
  return thread == nullptr ? 0 : static_cast<uint64_t>(rt::local.top - thread->frames()) + thread->lost_frames();
}
Ignored HandlerBegins(bool is_fault) {
  Thread* t = rt::local.thread;
  if (t == nullptr) return {};
  const Ignored interrupted{.all = t->mode.ignore,
                            .reads = t->mode.ignore_reads,
                            .writes = t->mode.ignore_writes,
                            .sync = t->ignore_sync,
                            .handler_depth = t->handler_depth};
  t->handler_depth = is_fault ? 0 : CallDepth();
  t->mode.ignore = 0;
  t->mode.ignore_reads = 0;
  t->mode.ignore_writes = 0;
  t->ignore_sync = 0;
  return interrupted;
}
void HandlerEnds(const Ignored& interrupted) {
  Thread* t = rt::local.thread;
  if (t == nullptr) return;
  t->mode.ignore = static_cast<decltype(t->mode.ignore)>(interrupted.all);
  t->mode.ignore_reads = static_cast<decltype(t->mode.ignore_reads)>(interrupted.reads);
  t->mode.ignore_writes = static_cast<decltype(t->mode.ignore_writes)>(interrupted.writes);
  t->ignore_sync = interrupted.sync;
  t->handler_depth = interrupted.handler_depth;
}
void ErrnoSpoilt(Pc handler, int signal) {
  Entered t;
  if (!t || !Runtime::Get().flags().report_signal_unsafe) return;
  Runtime::Get().Misused(rt::Misuse{.thread = (*t).state.tid,
                                    .flaw = wire::Flaw::kSpoiltErrno,
                                    .where = (*t).CallsAt(Runtime::Get().contexts(), handler),
                                    .number = static_cast<uint32_t>(signal)});
}
void JumpBegins() {
  Thread* thread = rt::local.thread;
  if (thread != nullptr) thread->LeaveWindow();
}
void LeaveCallsTo(uint64_t depth) {
  Thread* thread = rt::local.thread;
  if (thread == nullptr || depth > CallDepth()) return;
  if (depth < thread->handler_depth) thread->handler_depth = 0;  // out of a handler
  const uint64_t kept = depth < Thread::kFrames ? depth : Thread::kFrames;
  rt::local.top = thread->frames() + kept;
  thread->LoseFrames(static_cast<uint32_t>(depth - kept));
}

}  // namespace redflag::hooks
