// Dynamic annotations: what a program says of itself in the words of dynamic_annotations.h (ThreadSanitizer paper, section 5).
//
// Annotations that change nothing for a precise happens-before detector are there and empty: those that turn locks into edges
// (they are), condition variables (the mutex orders, intercept/conditions.cc), and hints for tools of other kinds.
#include <cstdint>

#include "intercept/hooks.h"
#include "runtime/abi.h"
#include "runtime/benign.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

LockMode ModeOf(long is_write) { return is_write != 0 ? LockMode::kExclusive : LockMode::kShared; }

// Whole granules: what shares one with other data keeps its past.
void BeginAnew(uint64_t addr, uint64_t bytes) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  const uint64_t begin = (addr + kGranule - 1) & ~(kGranule - 1);
  const uint64_t end = (addr + bytes) & ~(kGranule - 1);
  if (begin < end) Runtime::Get().ForgetCells(begin, end - begin);
  Runtime::Leave(t);
}

void DeclareBenign(const void* memory, uint64_t bytes) {
  const Gate::Passage passage;
  AddBenign(reinterpret_cast<uint64_t>(memory), bytes);
}

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

REDFLAG_ANNOTATION(HappensBefore, const void* object) { hooks::Release(REDFLAG_CALLER, object); }
REDFLAG_ANNOTATION(HappensAfter, const void* object) { hooks::Acquire(REDFLAG_CALLER, object); }
REDFLAG_ABI void WTFAnnotateHappensBefore(const char*, int, const void* object) {
  hooks::Release(REDFLAG_CALLER, object);
}
REDFLAG_ABI void WTFAnnotateHappensAfter(const char*, int, const void* object) {
  hooks::Acquire(REDFLAG_CALLER, object);
}

// A queue: what is put comes before who gets it.
REDFLAG_ANNOTATION(PCQCreate, const void* queue) { hooks::Forget(REDFLAG_CALLER, queue); }
REDFLAG_ANNOTATION(PCQDestroy, const void* queue) { hooks::Forget(REDFLAG_CALLER, queue); }
REDFLAG_ANNOTATION(PCQPut, const void* queue) { hooks::Release(REDFLAG_CALLER, queue); }
REDFLAG_ANNOTATION(PCQGet, const void* queue) { hooks::Acquire(REDFLAG_CALLER, queue); }

REDFLAG_EMPTY_ANNOTATION(CondVarSignal, const void*)
REDFLAG_EMPTY_ANNOTATION(CondVarSignalAll, const void*)
REDFLAG_EMPTY_ANNOTATION(CondVarWait, const void*, const void*)
REDFLAG_EMPTY_ANNOTATION(MutexIsUsedAsCondVar, const void*)
REDFLAG_EMPTY_ANNOTATION(MutexIsNotPHB, const void*)
REDFLAG_EMPTY_ANNOTATION(PublishMemoryRange, const void*, unsigned long)
REDFLAG_EMPTY_ANNOTATION(UnpublishMemoryRange, const void*, unsigned long)

// ---- Locks of the program's own making ----

REDFLAG_ANNOTATION(RWLockCreate, const void* lock) { hooks::LockCreated(REDFLAG_CALLER, lock); }
REDFLAG_ANNOTATION(RWLockCreateStatic, const void* lock) { hooks::LockCreated(REDFLAG_CALLER, lock); }
REDFLAG_ANNOTATION(RWLockDestroy, const void* lock) { hooks::LockDestroyed(REDFLAG_CALLER, lock); }
REDFLAG_ANNOTATION(RWLockAcquired, const void* lock, long is_write) {
  hooks::Locked(REDFLAG_CALLER, lock, ModeOf(is_write));
}
REDFLAG_ANNOTATION(RWLockReleased, const void* lock, long is_write) {
  hooks::Unlocking(REDFLAG_CALLER, lock, ModeOf(is_write));
}

// ---- Races that are known, memory that starts anew ----

REDFLAG_ANNOTATION(BenignRaceSized, const void* memory, unsigned long bytes, const char*) {
  DeclareBenign(memory, bytes);
}
REDFLAG_ABI void WTFAnnotateBenignRaceSized(const char*, int, const void* memory, unsigned long bytes, const char*) {
  DeclareBenign(memory, bytes);
}
REDFLAG_ANNOTATION(BenignRace, const void* memory, const char*) { DeclareBenign(memory, 1); }
REDFLAG_ANNOTATION(ExpectRace, const void* memory, const char*) { DeclareBenign(memory, 1); }
REDFLAG_EMPTY_ANNOTATION(FlushExpectedRaces)
REDFLAG_ANNOTATION(NewMemory, const void* memory, unsigned long bytes) {
  BeginAnew(reinterpret_cast<uint64_t>(memory), bytes);
}

// ---- Not watching ----

#define REDFLAG_IGNORE(what, counter)                 \
  REDFLAG_ANNOTATION(Ignore##what##Begin) {           \
    if (Runtime::IsActive()) ++local.thread->counter; \
  }                                                   \
  REDFLAG_ANNOTATION(Ignore##what##End) {             \
    if (Runtime::IsActive()) --local.thread->counter; \
  }
REDFLAG_IGNORE(Reads, mode.ignore_reads)
REDFLAG_IGNORE(Writes, mode.ignore_writes)
REDFLAG_IGNORE(Sync, ignore_sync)
#undef REDFLAG_IGNORE

REDFLAG_ANNOTATION(EnableRaceDetection, int enable) {
  if (Runtime::IsActive()) local.thread->mode.ignore += enable != 0 ? -1 : 1;
}

// ---- Names, and questions ----

REDFLAG_ANNOTATION(ThreadName, const char* name) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  char* to = Runtime::Get().InfoOf(t->state.tid).name;
  size_t i = 0;
  for (; i < sizeof(ThreadInfo::name) - 1 && name[i] != '\0'; ++i) to[i] = name[i];
  to[i] = '\0';
  Runtime::Leave(t);
}

REDFLAG_EMPTY_ANNOTATION(TraceMemory, const void*)
REDFLAG_EMPTY_ANNOTATION(FlushState)
REDFLAG_EMPTY_ANNOTATION(NoOp, const void*)

REDFLAG_ABI int RunningOnValgrind() { return 0; }
REDFLAG_ABI double ValgrindSlowdown() { return 10.0; }
REDFLAG_ABI const char* ThreadSanitizerQuery(const char* query) {
  return Equal(query, "pure_happens_before") ? "1" : "0";
}

REDFLAG_ABI void __tsan_flush_memory() {}
