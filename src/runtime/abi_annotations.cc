// Dynamic annotations: what a program says of itself (include/redflag/annotations.h; ThreadSanitizer paper, section 5), under the names
// that programs annotated for ThreadSanitizer or with Abseil call. Hints for tools of other kinds are there and empty.
#include <cstdint>

#include "intercept/hooks.h"
#include "runtime/abi.h"
#include "runtime/announced.h"
#include "runtime/benign.h"
#include "runtime/emit.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

// For the report of a thread that forgets to end it: the first place since nothing was ignored, and the second.
void NoteIgnoring(uint64_t place) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  const uint32_t begun = uint32_t{t->mode.ignore_reads} + t->mode.ignore_writes;
  if (begun < 2) t->ignores_at[begun] = t->CallsAt(Runtime::Get().contexts(), place);
  if (begun == 0) t->ignores_at[1] = kNoContext;
  Runtime::Leave(t);
}

LockMode ModeOf(long is_write) { return is_write != 0 ? LockMode::kExclusive : LockMode::kShared; }

// What happened to this memory is ordered before all that will: nothing of it is remembered.
void BeginAnew(const void* memory, uint64_t bytes) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  if (bytes != 0) Runtime::Get().BeginAnew(*t, reinterpret_cast<uint64_t>(memory), bytes);
  Runtime::Leave(t);
}

void ForgetAll() {
  if (!Runtime::IsActive()) return;
  Runtime::Get().AskToForgetAll();
  if (Thread* t = Runtime::Enter()) Runtime::Leave(t);  // whoever enters does it
}

void NoteBenign(uint64_t addr, uint64_t bytes, EventFlag flag) {
  Thread* t = Recorder::is_on() ? Runtime::Enter() : nullptr;
  if (t == nullptr) return;
  Runtime::Get().NoteBenign(*t, addr, bytes, flag);
  Runtime::Leave(t);
}

void DeclareBenign(const void* memory, uint64_t bytes) {
  NoteBenign(reinterpret_cast<uint64_t>(memory), bytes, EventFlag::kNone);
  const Gate::Passage passage;
  AddBenign(reinterpret_cast<uint64_t>(memory), bytes);
}
void DeclareBenign(const Mention& mention) {
  NoteBenign(mention.address, 1, EventFlag::kAround);
  const Gate::Passage passage;
  AddBenign(mention);
}

// Barriers of the program's own making: how many threads meet there.
class AnnotatedBarriers {
 public:
  void Add(const void* barrier, uint32_t parties) {
    const Gate::Passage passage;
    ScopedLock guard(lock_);
    Entry* entry = Find(barrier);
    if (entry == nullptr) entry = Find(nullptr);  // one that is free
    if (entry == nullptr) {
      entry = Runtime::Get().arena().New<Entry>();
      entry->next = first_;
      first_ = entry;
    }
    entry->barrier = barrier;
    entry->parties = parties;
  }
  void Remove(const void* barrier) {
    const Gate::Passage passage;
    ScopedLock guard(lock_);
    if (Entry* entry = Find(barrier); entry != nullptr) entry->barrier = nullptr;
  }
  // 0: not one of them.
  uint32_t PartiesOf(const void* barrier) {
    const Gate::Passage passage;
    ScopedLock guard(lock_);
    const Entry* entry = Find(barrier);
    return entry == nullptr ? 0 : entry->parties;
  }

 private:
  struct Entry {
    const void* barrier = nullptr;
    uint32_t parties = 0;
    Entry* next = nullptr;
  };
  Entry* Find(const void* barrier) {
    Entry* entry = first_;
    while (entry != nullptr && entry->barrier != barrier) entry = entry->next;
    return entry;
  }
  AtomicMem::Lock lock_;
  Entry* first_ = nullptr;
};
constinit AnnotatedBarriers annotated_barriers;

bool Equal(const char* a, const char* b) {
  while (*a == *b && *a != '\0') ++a, ++b;
  return *a == *b;
}

}  // namespace
}  // namespace redflag::rt

using namespace redflag;      // NOLINT: this file is the outside of that namespace
using namespace redflag::rt;  // NOLINT

// All of them are given the file and line of the annotation first.
#define REDFLAG_ANNOTATION(name, ...) REDFLAG_ABI void Annotate##name(const char*, int, ##__VA_ARGS__)
#define REDFLAG_EMPTY_ANNOTATION(name, ...) \
  REDFLAG_ANNOTATION(name, ##__VA_ARGS__) {}

// ---- Edges ----

REDFLAG_ANNOTATION(HappensBefore, const void* object) { AnnouncedRelease(REDFLAG_CALLER, object); }
REDFLAG_ANNOTATION(HappensAfter, const void* object) { AnnouncedAcquire(REDFLAG_CALLER, object); }
REDFLAG_ABI void WTFAnnotateHappensBefore(const char*, int, const void* object) {
  AnnouncedRelease(REDFLAG_CALLER, object);
}
REDFLAG_ABI void WTFAnnotateHappensAfter(const char*, int, const void* object) {
  AnnouncedAcquire(REDFLAG_CALLER, object);
}

// A queue: what is put comes before who gets it.
REDFLAG_ANNOTATION(PCQCreate, const void* queue) { hooks::Forget(REDFLAG_CALLER, queue); }
REDFLAG_ANNOTATION(PCQDestroy, const void* queue) { hooks::Forget(REDFLAG_CALLER, queue); }
REDFLAG_ANNOTATION(PCQPut, const void* queue) { hooks::Release(REDFLAG_CALLER, queue); }
REDFLAG_ANNOTATION(PCQGet, const void* queue) { hooks::Acquire(REDFLAG_CALLER, queue); }

REDFLAG_ANNOTATION(CondVarSignal, const void* condition) { hooks::Release(REDFLAG_CALLER, condition); }
REDFLAG_ANNOTATION(CondVarSignalAll, const void* condition) { hooks::Release(REDFLAG_CALLER, condition); }
REDFLAG_ANNOTATION(CondVarWait, const void* condition, const void*) { hooks::Acquire(REDFLAG_CALLER, condition); }

REDFLAG_ANNOTATION(MutexIsUsedAsCondVar, const void* lock) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().PureHbLock(*t, reinterpret_cast<uint64_t>(lock));
  Runtime::Leave(t);
}
REDFLAG_EMPTY_ANNOTATION(MutexIsNotPHB, const void*)  // the usual case, for detectors that tell locks apart

REDFLAG_ANNOTATION(PublishMemoryRange, const void* memory, unsigned long bytes) { BeginAnew(memory, bytes); }
REDFLAG_ANNOTATION(UnpublishMemoryRange, const void* memory, unsigned long bytes) { BeginAnew(memory, bytes); }

// ---- Locks of the program's own making ----

REDFLAG_ANNOTATION(RWLockCreate, const void* lock) { hooks::LockCreated(REDFLAG_CALLER, lock); }
// Of one that the linker initialized: its past stays, and its destructor does not end it.
REDFLAG_ANNOTATION(RWLockCreateStatic, const void* lock) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().LockIsStatic(reinterpret_cast<uint64_t>(lock), true);
  Runtime::Leave(t);
}
REDFLAG_ANNOTATION(RWLockDestroy, const void* lock) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  const bool ends = Runtime::Get().EndsLock(reinterpret_cast<uint64_t>(lock), false, false);
  Runtime::Leave(t);
  if (ends) hooks::LockDestroyedByItself(REDFLAG_CALLER, lock);
}
REDFLAG_ANNOTATION(RWLockAcquired, const void* lock, long is_write) {
  hooks::Wanting(REDFLAG_CALLER, lock, ModeOf(is_write));
  hooks::LockedByItself(REDFLAG_CALLER, lock, ModeOf(is_write), 1, false);
}
REDFLAG_ANNOTATION(RWLockReleased, const void* lock, long is_write) {
  hooks::UnlockingByItself(REDFLAG_CALLER, lock, ModeOf(is_write), false);
}

// ---- Barriers of the program's own making ----

REDFLAG_ANNOTATION(BarrierInit, const void* barrier, long count, long) {
  if (!Runtime::IsActive()) return;
  annotated_barriers.Add(barrier, count > 0 ? static_cast<uint32_t>(count) : 1);
  hooks::BarrierForgotten(REDFLAG_CALLER, barrier);
}
REDFLAG_ANNOTATION(BarrierWaitBefore, const void* barrier) {
  const uint32_t parties = annotated_barriers.PartiesOf(barrier);
  if (parties == 0 || !Runtime::IsActive()) return;
  const uint64_t phase = hooks::BarrierArrive(REDFLAG_CALLER, barrier, parties);
  local.thread->annotated_phase = phase;
}
REDFLAG_ANNOTATION(BarrierWaitAfter, const void* barrier) {
  if (!Runtime::IsActive() || local.thread->annotated_phase == 0) return;
  const uint64_t phase = local.thread->annotated_phase;
  local.thread->annotated_phase = 0;
  hooks::BarrierLeave(REDFLAG_CALLER, barrier, phase);
}
REDFLAG_ANNOTATION(BarrierDestroy, const void* barrier) {
  annotated_barriers.Remove(barrier);
  hooks::BarrierForgotten(REDFLAG_CALLER, barrier);
}

// ---- Races that are known, memory that starts anew ----

REDFLAG_ANNOTATION(BenignRaceSized, const void* memory, unsigned long bytes, const char*) {
  DeclareBenign(memory, bytes);
}
REDFLAG_ABI void WTFAnnotateBenignRaceSized(const char*, int, const void* memory, unsigned long bytes, const char*) {
  DeclareBenign(memory, bytes);
}
REDFLAG_ABI void AnnotateBenignRace(const char* file, int line, const void* memory, const char* why) {
  DeclareBenign(
      {.address = reinterpret_cast<uint64_t>(memory), .why = why, .file = file, .line = line, .is_expected = false});
}
REDFLAG_ABI void AnnotateExpectRace(const char* file, int line, const void* memory, const char* why) {
  DeclareBenign(
      {.address = reinterpret_cast<uint64_t>(memory), .why = why, .file = file, .line = line, .is_expected = true});
}
REDFLAG_ANNOTATION(FlushExpectedRaces) {
  const Gate::Passage passage;
  FlushExpectedRaces();
}
REDFLAG_ANNOTATION(NewMemory, const void* memory, unsigned long bytes) { BeginAnew(memory, bytes); }

// ---- Not watching ----

// A jump out of a signal handler may have come in between: then there is nothing to end.
#define REDFLAG_IGNORE(what, counter)                                              \
  REDFLAG_ANNOTATION(Ignore##what##Begin) {                                        \
    if (!Runtime::IsActive()) return;                                              \
    NoteIgnoring(REDFLAG_CALLER);                                                  \
    ++local.thread->counter;                                                       \
  }                                                                                \
  REDFLAG_ANNOTATION(Ignore##what##End) {                                          \
    if (Runtime::IsActive() && local.thread->counter > 0) --local.thread->counter; \
  }
REDFLAG_IGNORE(Reads, mode.ignore_reads)
REDFLAG_IGNORE(Writes, mode.ignore_writes)
REDFLAG_IGNORE(Sync, ignore_sync)
#undef REDFLAG_IGNORE

// For all threads: what happens meanwhile is seen, and forgotten before a race is told again.
REDFLAG_ANNOTATION(EnableRaceDetection, int enable) {
  if (!Runtime::IsActive()) return;
  if (enable != 0) ForgetAll();
  Runtime::Get().Watch(enable != 0);
}

// ---- Names, and questions ----

REDFLAG_ANNOTATION(ThreadName, const char* name) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  char* to = Runtime::Get().InfoOf(t->state.tid).name;
  size_t i = 0;
  for (; i < sizeof(ThreadInfo::name) - 1 && name[i] != '\0'; ++i) to[i] = name[i];
  to[i] = '\0';
  if (Recorder::is_on()) TellThread(Runtime::Get(), t->state.tid);
  Runtime::Leave(t);
}

REDFLAG_ANNOTATION(FlushState) { ForgetAll(); }
REDFLAG_EMPTY_ANNOTATION(TraceMemory, const void*)
REDFLAG_EMPTY_ANNOTATION(NoOp, const void*)
REDFLAG_EMPTY_ANNOTATION(MemoryIsInitialized, const void*, unsigned long)
REDFLAG_EMPTY_ANNOTATION(MemoryIsUninitialized, const void*, unsigned long)

REDFLAG_ABI int RunningOnValgrind() { return 0; }
REDFLAG_ABI double ValgrindSlowdown() { return 10.0; }
REDFLAG_ABI int AbslRunningOnValgrind() { return 0; }
REDFLAG_ABI double AbslValgrindSlowdown() { return 10.0; }
REDFLAG_ABI const char* ThreadSanitizerQuery(const char* query) {
  return Equal(query, "pure_happens_before") ? "1" : "0";
}

REDFLAG_ABI void __tsan_flush_memory() { ForgetAll(); }
