#include "tests/unit/intercept/fake_hooks.h"

#include <pthread.h>

#include "base/check.h"
#include "base/mem.h"
#include "intercept/hooks.h"
#include "intercept/transactions.h"

namespace redflag {

struct hooks::Child {
  int number;
  int recording;
};

namespace fake {
namespace {

constexpr size_t kRecords = 4096;
constexpr size_t kHeld = 256;
constexpr size_t kChildren = 256;
constexpr size_t kEntered = 16;

struct Held {
  const void* lock;
  int thread;
  int depth;
};

constinit AtomicMem::Lock lock;
constinit bool recording = false;
constinit int recordings = 0;
constinit bool active = true;
constinit bool ended = false;
constinit int exit_status = -1;
constinit bool watches_libraries = false;
constinit Record records[kRecords] = {};
constinit size_t count = 0;
constinit Held held[kHeld] = {};
constinit hooks::Child children[kChildren] = {};
constinit int children_used = 0;
constinit int next_number = 1;
constinit uint64_t phases = 0;

[[gnu::tls_model("initial-exec")]] constinit thread_local int thread_number = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local int thread_recording = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool thread_ended = false;
// The places that LeaveFunction leaves.
[[gnu::tls_model("initial-exec")]] constinit thread_local uintptr_t entered[kEntered] = {};
[[gnu::tls_model("initial-exec")]] constinit thread_local size_t entered_depth = 0;

// Appends words and numbers to a record's detail.
class Detail {
 public:
  explicit Detail(char* to) : to_(to), end_(to + sizeof(Record::detail) - 1) {}
  Detail& operator<<(const char* text) {
    while (*text != '\0' && to_ < end_) *to_++ = *text++;
    *to_ = '\0';
    return *this;
  }
  Detail& operator<<(int64_t number) {
    char digits[24];
    char* digit = digits + sizeof digits;
    *--digit = '\0';
    const bool negative = number < 0;
    if (negative) number = -number;
    do *--digit = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    if (negative) *--digit = '-';
    return *this << digit;
  }

 private:
  char* to_;
  char* end_;
};

template <class... Details>
void Append(const char* verb, uintptr_t pc, const void* object, Details... details) {
  ScopedLock guard(lock);
  if (!recording || count == kRecords) return;
  if (thread_number != 0 && thread_recording != recordings) return;  // left over from an earlier one
  Record& record = records[count++];
  record.thread = thread_number;
  record.verb = verb;
  record.object = object;
  record.pc = pc;
  record.detail[0] = '\0';
  Detail detail(record.detail);
  (void)((detail << " " << details), ...);
}

const char* Word(LockMode mode) { return mode == LockMode::kExclusive ? "exclusive" : "shared"; }

Held& HeldBy(int thread, const void* object) {
  Held* unused = nullptr;
  for (Held& entry : held) {
    if (entry.depth > 0 && entry.lock == object && entry.thread == thread) return entry;
    if (entry.depth == 0 && unused == nullptr) unused = &entry;
  }
  REDFLAG_CHECK(unused != nullptr);
  unused->lock = object;
  unused->thread = thread;
  return *unused;
}

}  // namespace

void Start() {
  ScopedLock guard(lock);
  recording = true;
  ++recordings;
  count = 0;
  next_number = 1;
}
void Stop() {
  ScopedLock guard(lock);
  recording = false;
}
size_t Count() { return count; }
const Record& At(size_t index) { return records[index]; }
void SetActive(bool now) { active = now; }
void ExitWith(int status) { exit_status = status; }
void SetWatchesLibraries(bool watches) { watches_libraries = watches; }

}  // namespace fake

namespace hooks {

using fake::Append;

bool Active() { return fake::active && !fake::ended && !fake::thread_ended; }

void Read(Pc pc, const void* from, size_t bytes) { Append("Read", pc, from, int64_t(bytes)); }
void Write(Pc pc, void* to, size_t bytes) { Append("Write", pc, to, int64_t(bytes)); }
void Allocated(Pc pc, void* block, size_t bytes) { Append("Allocated", pc, block, int64_t(bytes)); }
void Freeing(Pc pc, void* block, size_t bytes, bool) { Append("Freeing", pc, block, int64_t(bytes)); }
void HandedOut(Pc pc, void* memory, size_t bytes) { Append("HandedOut", pc, memory, int64_t(bytes)); }
void Mapped(Pc pc, void* pages, size_t bytes) { Append("Mapped", pc, pages, int64_t(bytes)); }
void Unmapping(Pc pc, void* pages, size_t bytes) { Append("Unmapping", pc, pages, int64_t(bytes)); }

void LockCreated(Pc pc, const void* lock) { Append("LockCreated", pc, lock); }
void LockDestroyed(Pc pc, const void* lock) { Append("LockDestroyed", pc, lock); }
void LockMisused(Pc pc, const void* lock, LockFlaw flaw) { Append("LockMisused", pc, lock, int64_t(flaw)); }

// Told if the thread holds another one.
bool Wanting(Pc pc, const void* lock, LockMode mode) {
  if (!Active()) return false;
  bool holds_other = false;
  {
    ScopedLock guard(fake::lock);
    for (const fake::Held& held : fake::held) {
      holds_other |= held.depth > 0 && held.lock != lock && held.thread == fake::thread_number;
    }
  }
  if (holds_other) Append("Wanting", pc, lock, fake::Word(mode));
  return true;
}
void Locked(Pc pc, const void* lock, LockMode mode, int depth) {
  {
    ScopedLock guard(fake::lock);
    if (fake::recording) fake::HeldBy(fake::thread_number, lock).depth += depth;
  }
  Append("Locked", pc, lock, fake::Word(mode), int64_t(depth));
}

int Unlocking(Pc pc, const void* lock, LockMode mode, bool all) {
  int levels = 0;
  {
    ScopedLock guard(fake::lock);
    if (fake::recording) {
      fake::Held& entry = fake::HeldBy(fake::thread_number, lock);
      levels = all || entry.depth == 0 ? entry.depth : 1;
      entry.depth -= levels;
    }
  }
  Append("Unlocking", pc, lock, fake::Word(mode), int64_t(levels));
  return levels;
}

void Release(Pc pc, const void* object) { Append("Release", pc, object); }
void ReleaseStore(Pc pc, const void* object) { Append("ReleaseStore", pc, object); }
void Acquire(Pc pc, const void* object) { Append("Acquire", pc, object); }
void Using(Pc pc, const void* descriptor) { Append("Using", pc, descriptor); }
void Closing(Pc pc, const void* descriptor) { Append("Closing", pc, descriptor); }
void Renewed(Pc pc, const void* descriptor) { Append("Renewed", pc, descriptor); }
void Made(Pc pc, const void* descriptor) { Append("Made", pc, descriptor); }
void Notifying(Pc pc, const void* condition) { Append("Notifying", pc, condition); }
void Notified(Pc pc, const void* condition) { Append("Notified", pc, condition); }
void Forget(Pc pc, const void* object) { Append("Forget", pc, object); }

uint64_t BarrierArrive(Pc pc, const void* barrier, unsigned parties) {
  Append("BarrierArrive", pc, barrier, int64_t(parties));
  return __atomic_add_fetch(&fake::phases, 1, __ATOMIC_RELAXED);
}
void BarrierLeave(Pc pc, const void*, uint64_t phase) {
  REDFLAG_CHECK(phase != 0 && phase <= fake::phases);
  Append("BarrierLeave", pc, nullptr);
}
void BarrierForgotten(Pc pc, const void* barrier) { Append("BarrierForgotten", pc, barrier); }

void TransactionAccess(Pc pc, const void* memory, size_t, bool is_write) {
  Append("TransactionAccess", pc, memory, is_write ? "write" : "read");
}
void TransactionCommits(Pc pc) { Append("TransactionCommits", pc, nullptr); }
uint64_t TransactionSize() { return 0; }
void TransactionUndone(uint64_t) {}
void TransactionBegins(bool) {}
void TransactionEnds() {}

Child* ThreadCreating(Pc pc, bool detached) {
  Append("ThreadCreating", pc, nullptr, detached ? "detached" : "joinable");
  ScopedLock guard(fake::lock);
  Child& child = fake::children[fake::children_used++ % fake::kChildren];
  child.number = fake::recording ? fake::next_number++ : 0;
  child.recording = fake::recordings;
  return &child;
}
void ThreadCreated(Child* child, uintptr_t handle) {
  Append("ThreadCreated", 0, reinterpret_cast<const void*>(handle), int64_t(child->number));
}
void CreationBegins() {}
void CreationEnds() {}
void ThreadNotCreated(Child* child) { Append("ThreadNotCreated", 0, nullptr, int64_t(child->number)); }
void ThreadBegins(Child* child, const void*) {
  fake::thread_number = child->number;
  fake::thread_recording = child->recording;
  Append("ThreadBegins", 0, reinterpret_cast<const void*>(pthread_self()));
}
void ThreadEnds() {
  Append("ThreadEnds", 0, nullptr);
  fake::thread_ended = true;
}
Child* ThreadJoining(uintptr_t handle) { return reinterpret_cast<Child*>(handle); }
void ThreadJoined(Pc pc, Child* handle) { Append("ThreadJoined", pc, handle); }
void ThreadDetached(Pc pc, uintptr_t handle) { Append("ThreadDetached", pc, reinterpret_cast<const void*>(handle)); }
void ThreadNamed(uintptr_t handle, const char* name) {
  Append("ThreadNamed", 0, reinterpret_cast<const void*>(handle), name);
}

void BeforeFork(Pc pc) { Append("BeforeFork", pc, nullptr); }
void AfterForkInParent() { Append("AfterForkInParent", 0, nullptr); }
void AfterForkInChild() { Append("AfterForkInChild", 0, nullptr); }
int Exiting(int status) {
  Append("Exiting", 0, nullptr, int64_t(status));
  fake::ended = true;
  return fake::exit_status < 0 ? status : fake::exit_status;
}

void EnterFunction(Pc pc) {
  Append("EnterFunction", pc, nullptr);
  fake::entered[fake::entered_depth++ % fake::kEntered] = pc;
}
void LeaveFunction() { Append("LeaveFunction", fake::entered[--fake::entered_depth % fake::kEntered], nullptr); }
uint64_t CallDepth() { return fake::entered_depth; }
void JumpBegins() {}
void ErrnoSpoilt(Pc, int) {}
Ignored HandlerBegins(bool) { return {}; }
void HandlerEnds(const Ignored&) {}
void LeaveCallsTo(uint64_t depth) {
  Append("LeaveCallsTo", 0, nullptr, int64_t(depth) - int64_t(fake::entered_depth));
  fake::entered_depth = depth;
}

void Unloading() { Append("Unloading", 0, nullptr); }
bool WatchesLibraries() { return fake::watches_libraries; }
void LibrariesChanged() { Append("LibrariesChanged", 0, nullptr); }
void Unloaded(void* image, size_t bytes) { Append("Unloaded", 0, image, int64_t(bytes)); }

}  // namespace hooks
}  // namespace redflag
