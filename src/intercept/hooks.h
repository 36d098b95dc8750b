// What the interceptors tell the runtime. intercept/ defines the functions of libc that a program calls in place of the real ones;
// each does its work through the real one and says here what that means. runtime/ implements these functions, once for each
// detector; intercept/ knows nothing of detectors.
//
// Order matters: what hands something on is told before the real call (unlock, signal, free, create), what takes something over
// after it (lock, wait, join). So an edge is never told earlier than it exists, nor later than somebody can rely on it.
//
// Every function takes `pc`: the return address of the interceptor, a place in the program, for stacks.
//
// In-process rules: no malloc, no exceptions, no libstdc++; callable from any thread, also before main and while the dynamic linker
// runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "events/event.h"

namespace redflag::hooks {

using Pc = uintptr_t;

// Does the runtime want to hear of this thread's calls now? False while the runtime itself runs (its calls into libc come back
// to the interceptors), in a process where it was switched off, and after it has ended. Starts the runtime if nothing has yet.
// An interceptor calls it first and, if false, does nothing but call the real function.
bool Active();

// The runtime watches from now on. Not an interceptor's to call.
void Started();

// ---- Memory ----
void Read(Pc pc, const void* from, size_t bytes);
void Write(Pc pc, void* to, size_t bytes);
// A block of the heap begins its life; ends it (told before the real free). `bytes` as usable by the program. is_reused: the program itself manages
// such blocks, and goes on using their memory.
void Allocated(Pc pc, void* block, size_t bytes);
void Freeing(Pc pc, void* block, size_t bytes, bool is_reused = false);
// Memory that a pool of a plain library hands out: what happened to it before was to another object. When that ended is not told.
void HandedOut(Pc pc, void* memory, size_t bytes);
// Fresh pages, the first of which are written; pages that go away, or are replaced.
void Mapped(Pc pc, void* pages, size_t bytes);
void Unmapping(Pc pc, void* pages, size_t bytes);
// Libraries may be unloaded now: stacks that lead into them must keep their names. Then each one that is gone, its whole image.
void Unloading();
void Unloaded(void* image, size_t bytes);
// Does it matter which libraries are loaded? Then whatever changes that is told, afterwards.
bool WatchesLibraries();
void LibrariesChanged();

// ---- Locks, by address ----
enum class LockFlaw : uint8_t { kUnlockNotHeld, kDestroyHeld, kInvalidAccess };
void LockCreated(Pc pc, const void* lock);
void LockDestroyed(Pc pc, const void* lock);
// Before a real lock that waits as long as it takes, not before an attempt that may fail: what is held already comes before it in the order of
// locks. Answers what Active() answers.
bool Wanting(Pc pc, const void* lock, LockMode mode);
// After the real lock succeeded, before the real unlock. `depth`: how many levels of a recursive lock (condition variables give
// up all at once).
void Locked(Pc pc, const void* lock, LockMode mode, int depth = 1);
// The same of a lock that the program made itself: nobody has seen to it that it may be taken, or be given up.
void LockedByItself(Pc pc, const void* lock, LockMode mode, int depth, bool may_repeat);
int UnlockingByItself(Pc pc, const void* lock, LockMode mode, bool all);
void LockDestroyedByItself(Pc pc, const void* lock);
// Answers how many levels were held and are given up: 1, or all of them if `all`; 0: this thread does not hold it.
int Unlocking(Pc pc, const void* lock, LockMode mode, bool all = false);
void LockMisused(Pc pc, const void* lock, LockFlaw flaw);

// ---- Edges through any object, by address ----
void Release(Pc pc, const void* object);       // before the object can be seen by others: signal, post, fulfil
void ReleaseStore(Pc pc, const void* object);  // the same, replacing what it carried
void Acquire(Pc pc, const void* object);       // after it was seen: wait returned, once flag found set
void Forget(Pc pc, const void* object);        // it was destroyed, or created anew
// The same through condition variables, where locks are taken to order nothing: before a signal, after a wait that one ended.
void Notifying(Pc pc, const void* condition);
void Notified(Pc pc, const void* condition);

// A barrier of `parties`. Arrivals of one phase are ordered before the leaves of that phase. Arriving answers the phase, to be given
// to Leave by the same thread, when the barrier may be gone: then it is an address. Forgotten: it was made or destroyed.
uint64_t BarrierArrive(Pc pc, const void* barrier, unsigned parties);
void BarrierLeave(Pc pc, const void* barrier, uint64_t phase);
void BarrierForgotten(Pc pc, const void* barrier);

// ---- Descriptors of files, each with an address of its own (intercept/file_objects.h) ----
// Who closes one comes after all who use it, or it is another file that they use.
void Using(Pc pc, const void* descriptor);
void Closing(Pc pc, const void* descriptor);  // before the real close
void Renewed(Pc pc, const void* descriptor);  // it is of another file than it was
void Made(Pc pc, const void* descriptor);     // the same, by this thread: whoever closes it comes after that

// ---- Transactions: what one has read and written, told when it happens; that it commits, told before it does ----
void TransactionAccess(Pc pc, const void* memory, size_t bytes, bool is_write);
void TransactionCommits(Pc pc);
// How many accesses there were so far; and that those from one on were undone.
uint64_t TransactionSize();
void TransactionUndone(uint64_t size);

// ---- Threads ----
// The creator prepares a child, starts it with the real call, and says how that went; the child begins as its first action. A
// Child is the runtime's; the interceptor hands it from one to the other.
struct Child;
Child* ThreadCreating(Pc pc, bool detached);
void ThreadCreated(Child* child,
                   uintptr_t handle);  // handle: the pthread_t; before the real call returns to the program
void ThreadNotCreated(Child* child);
// What libc does for itself while it creates a thread is nobody's business: it orders that by locks of its own.
void CreationBegins();
void CreationEnds();
void ThreadBegins(Child* child, const void* stack);  // stack: its frames are below that
void ThreadEnds();  // the last thing a thread does, after its own destructors of thread-specific data
// Before the real call, and after it, if it has joined. In between the handle may become another thread's.
Child* ThreadJoining(uintptr_t handle);
void ThreadJoined(Pc pc, Child* child);
void ThreadDetached(Pc pc, uintptr_t handle);
void ThreadNamed(uintptr_t handle, const char* name);

// ---- Processes ----
void BeforeFork(Pc pc);
void AfterForkInParent();
void AfterForkInChild();
// The process ends with `status`; answers the status to end with (exitcode, if something was reported).
int Exiting(int status);

// Calls into the program on behalf of a libc function (qsort, a thread's start routine) appear below this frame.
void EnterFunction(Pc pc);
void LeaveFunction();
// How many calls are on the stack; and back to as many, for jumps.
uint64_t CallDepth();
void LeaveCallsTo(uint64_t depth);
// A signal handler begins, and ends: what the interrupted code wants ignored is not the handler's.
struct Ignored {
  int all = 0, reads = 0, writes = 0, sync = 0;
  uint64_t handler_depth = 0;
};
// is_fault: the signal is about what the thread itself just did wrong. Its handler may do as it likes: nothing else is going on.
Ignored HandlerBegins(bool is_fault);
void HandlerEnds(const Ignored& interrupted);
// A handler has changed errno, which what it interrupted may be about to look at.
void ErrnoSpoilt(Pc handler, int signal);
// The calling thread jumps, perhaps out of a signal handler: what that has interrupted is not taken up again.
void JumpBegins();

}  // namespace redflag::hooks
