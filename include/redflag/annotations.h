/* Dynamic annotations: what a program tells a race detector about itself that the detector cannot see.
 *
 * For C and C++. Nothing is linked: without a detector in the process an annotation is a comparison with null, and with
 * REDFLAG_NO_ANNOTATIONS defined it is nothing at all. The functions behind them have the names that ThreadSanitizer, Abseil and
 * others gave them (dynamic_annotations.h): a program that is annotated for those needs no change, and this header may be
 * included beside theirs.
 *
 *   static Queue queue;
 *   void Put(Item* item) { ANNOTATE_HAPPENS_BEFORE(item); queue.Push(item); }
 *   Item* Get() { Item* item = queue.Pop(); ANNOTATE_HAPPENS_AFTER(item); return item; }
 *
 * Most matter to detectors that take no order from locks (hybrid, fast); hb needs them for synchronization of the program's own
 * making only: inline assembly, shared memory, devices. */
#ifndef REDFLAG_ANNOTATIONS_H_
#define REDFLAG_ANNOTATIONS_H_

#include <stddef.h>

#ifdef __cplusplus
#define REDFLAG_ANNOTATIONS_BEGIN extern "C" {
#define REDFLAG_ANNOTATIONS_END }
#else
#define REDFLAG_ANNOTATIONS_BEGIN
#define REDFLAG_ANNOTATIONS_END
#endif

/* Weak: null unless a detector is there. */
#define REDFLAG_ANNOTATION(name, ...) \
  __attribute__((weak)) void Annotate##name(const char* file, int line, ##__VA_ARGS__)

REDFLAG_ANNOTATIONS_BEGIN
REDFLAG_ANNOTATION(HappensBefore, const volatile void* object);
REDFLAG_ANNOTATION(HappensAfter, const volatile void* object);
REDFLAG_ANNOTATION(CondVarWait, const volatile void* condition, const volatile void* lock);
REDFLAG_ANNOTATION(CondVarSignal, const volatile void* condition);
REDFLAG_ANNOTATION(CondVarSignalAll, const volatile void* condition);
REDFLAG_ANNOTATION(MutexIsUsedAsCondVar, const volatile void* lock);
REDFLAG_ANNOTATION(MutexIsNotPHB, const volatile void* lock);
REDFLAG_ANNOTATION(PublishMemoryRange, const volatile void* memory, size_t bytes);
REDFLAG_ANNOTATION(UnpublishMemoryRange, const volatile void* memory, size_t bytes);
REDFLAG_ANNOTATION(NewMemory, const volatile void* memory, size_t bytes);
REDFLAG_ANNOTATION(PCQCreate, const volatile void* queue);
REDFLAG_ANNOTATION(PCQDestroy, const volatile void* queue);
REDFLAG_ANNOTATION(PCQPut, const volatile void* queue);
REDFLAG_ANNOTATION(PCQGet, const volatile void* queue);
REDFLAG_ANNOTATION(RWLockCreate, const volatile void* lock);
REDFLAG_ANNOTATION(RWLockCreateStatic, const volatile void* lock);
REDFLAG_ANNOTATION(RWLockDestroy, const volatile void* lock);
REDFLAG_ANNOTATION(RWLockAcquired, const volatile void* lock, long is_write);
REDFLAG_ANNOTATION(RWLockReleased, const volatile void* lock, long is_write);
REDFLAG_ANNOTATION(BarrierInit, const volatile void* barrier, long count, long reinitialization_allowed);
REDFLAG_ANNOTATION(BarrierWaitBefore, const volatile void* barrier);
REDFLAG_ANNOTATION(BarrierWaitAfter, const volatile void* barrier);
REDFLAG_ANNOTATION(BarrierDestroy, const volatile void* barrier);
REDFLAG_ANNOTATION(BenignRace, const volatile void* memory, const char* why);
REDFLAG_ANNOTATION(BenignRaceSized, const volatile void* memory, size_t bytes, const char* why);
REDFLAG_ANNOTATION(ExpectRace, const volatile void* memory, const char* why);
REDFLAG_ANNOTATION(FlushExpectedRaces);
REDFLAG_ANNOTATION(IgnoreReadsBegin);
REDFLAG_ANNOTATION(IgnoreReadsEnd);
REDFLAG_ANNOTATION(IgnoreWritesBegin);
REDFLAG_ANNOTATION(IgnoreWritesEnd);
REDFLAG_ANNOTATION(IgnoreSyncBegin);
REDFLAG_ANNOTATION(IgnoreSyncEnd);
REDFLAG_ANNOTATION(EnableRaceDetection, int enable);
REDFLAG_ANNOTATION(FlushState);
REDFLAG_ANNOTATION(ThreadName, const char* name);
REDFLAG_ANNOTATION(TraceMemory, const volatile void* memory);
REDFLAG_ANNOTATION(NoOp, const volatile void* anything);
REDFLAG_ANNOTATIONS_END

#undef REDFLAG_ANNOTATION
#undef REDFLAG_ANNOTATIONS_BEGIN
#undef REDFLAG_ANNOTATIONS_END

#ifdef REDFLAG_NO_ANNOTATIONS
#define REDFLAG_ANNOTATE(name, ...) ((void)0)
#else
#define REDFLAG_ANNOTATE(name, ...) (Annotate##name ? Annotate##name(__FILE__, __LINE__, ##__VA_ARGS__) : (void)0)
#endif

/* ---- Order ---- */

/* What came before ANNOTATE_HAPPENS_BEFORE(object) is ordered before what comes after ANNOTATE_HAPPENS_AFTER(object). */
#ifndef ANNOTATE_HAPPENS_BEFORE
#define ANNOTATE_HAPPENS_BEFORE(object) REDFLAG_ANNOTATE(HappensBefore, object)
#define ANNOTATE_HAPPENS_AFTER(object) REDFLAG_ANNOTATE(HappensAfter, object)
#endif

/* Behind the loop that waits for a condition: the loop may not have been entered, and nothing was waited for. */
#ifndef ANNOTATE_CONDVAR_LOCK_WAIT
#define ANNOTATE_CONDVAR_LOCK_WAIT(condition, lock) REDFLAG_ANNOTATE(CondVarWait, condition, lock)
#define ANNOTATE_CONDVAR_WAIT(condition) REDFLAG_ANNOTATE(CondVarWait, condition, NULL)
#define ANNOTATE_CONDVAR_SIGNAL(condition) REDFLAG_ANNOTATE(CondVarSignal, condition)
#define ANNOTATE_CONDVAR_SIGNAL_ALL(condition) REDFLAG_ANNOTATE(CondVarSignalAll, condition)
#endif

/* The lock hands things on: its critical sections are ordered, also for detectors that take no order from locks. Before its first use. */
#ifndef ANNOTATE_PURE_HAPPENS_BEFORE_MUTEX
#define ANNOTATE_PURE_HAPPENS_BEFORE_MUTEX(lock) REDFLAG_ANNOTATE(MutexIsUsedAsCondVar, lock)
#define ANNOTATE_MUTEX_IS_USED_AS_CONDVAR(lock) REDFLAG_ANNOTATE(MutexIsUsedAsCondVar, lock)
#define ANNOTATE_NOT_HAPPENS_BEFORE_MUTEX(lock) REDFLAG_ANNOTATE(MutexIsNotPHB, lock)
#endif

/* This memory is about to be published by means that the detector does not see; or is nobody else's any more. */
#ifndef ANNOTATE_PUBLISH_MEMORY_RANGE
#define ANNOTATE_PUBLISH_MEMORY_RANGE(memory, bytes) REDFLAG_ANNOTATE(PublishMemoryRange, memory, bytes)
#define ANNOTATE_UNPUBLISH_MEMORY_RANGE(memory, bytes) REDFLAG_ANNOTATE(UnpublishMemoryRange, memory, bytes)
#define ANNOTATE_SWAP_MEMORY_RANGE(memory, bytes)   \
  do {                                              \
    ANNOTATE_UNPUBLISH_MEMORY_RANGE(memory, bytes); \
    ANNOTATE_PUBLISH_MEMORY_RANGE(memory, bytes);   \
  } while (0)
#endif

/* An allocator of the program's own hands this out: whatever happened to it is past. */
#ifndef ANNOTATE_NEW_MEMORY
#define ANNOTATE_NEW_MEMORY(memory, bytes) REDFLAG_ANNOTATE(NewMemory, memory, bytes)
#endif

/* A queue of several producers and consumers. */
#ifndef ANNOTATE_PCQ_CREATE
#define ANNOTATE_PCQ_CREATE(queue) REDFLAG_ANNOTATE(PCQCreate, queue)
#define ANNOTATE_PCQ_DESTROY(queue) REDFLAG_ANNOTATE(PCQDestroy, queue)
#define ANNOTATE_PCQ_PUT(queue) REDFLAG_ANNOTATE(PCQPut, queue)
#define ANNOTATE_PCQ_GET(queue) REDFLAG_ANNOTATE(PCQGet, queue)
#endif

/* ---- Locks and barriers of the program's own making ---- */

/* ACQUIRED behind taking it, RELEASED before giving it up. */
#ifndef ANNOTATE_RWLOCK_CREATE
#define ANNOTATE_RWLOCK_CREATE(lock) REDFLAG_ANNOTATE(RWLockCreate, lock)
#define ANNOTATE_RWLOCK_CREATE_STATIC(lock) REDFLAG_ANNOTATE(RWLockCreateStatic, lock)
#define ANNOTATE_RWLOCK_DESTROY(lock) REDFLAG_ANNOTATE(RWLockDestroy, lock)
#define ANNOTATE_RWLOCK_ACQUIRED(lock, is_write) REDFLAG_ANNOTATE(RWLockAcquired, lock, is_write)
#define ANNOTATE_RWLOCK_RELEASED(lock, is_write) REDFLAG_ANNOTATE(RWLockReleased, lock, is_write)
#endif

/* WAIT_BEFORE before a thread says that it has arrived, WAIT_AFTER when it goes on. */
#ifndef ANNOTATE_BARRIER_INIT
#define ANNOTATE_BARRIER_INIT(barrier, count, reinitialization_allowed) \
  REDFLAG_ANNOTATE(BarrierInit, barrier, count, reinitialization_allowed)
#define ANNOTATE_BARRIER_WAIT_BEFORE(barrier) REDFLAG_ANNOTATE(BarrierWaitBefore, barrier)
#define ANNOTATE_BARRIER_WAIT_AFTER(barrier) REDFLAG_ANNOTATE(BarrierWaitAfter, barrier)
#define ANNOTATE_BARRIER_DESTROY(barrier) REDFLAG_ANNOTATE(BarrierDestroy, barrier)
#endif

/* ---- Races that are known ---- */

/* Races on this memory are not reported. It ends with the memory's life. */
#ifndef ANNOTATE_BENIGN_RACE
#define ANNOTATE_BENIGN_RACE(memory, why) REDFLAG_ANNOTATE(BenignRaceSized, memory, sizeof *(memory), why)
#define ANNOTATE_BENIGN_RACE_SIZED(memory, bytes, why) REDFLAG_ANNOTATE(BenignRaceSized, memory, bytes, why)
#ifdef __cplusplus
#define ANNOTATE_BENIGN_RACE_STATIC(variable, why)                                                          \
  namespace {                                                                                               \
  struct variable##BenignRace {                                                                             \
    variable##BenignRace() { ANNOTATE_BENIGN_RACE_SIZED(&variable, sizeof(variable), #variable ": " why); } \
  };                                                                                                        \
  variable##BenignRace variable##_benign_race;                                                              \
  }
#endif
#endif

/* For tests of detectors: the race is not reported, but that it was not found by the next FLUSH_EXPECTED_RACES or the end is. */
#ifndef ANNOTATE_EXPECT_RACE
#define ANNOTATE_EXPECT_RACE(memory, why) REDFLAG_ANNOTATE(ExpectRace, memory, why)
#define ANNOTATE_FLUSH_EXPECTED_RACES() REDFLAG_ANNOTATE(FlushExpectedRaces)
#endif

/* ---- Not watching ---- */

/* In this thread, from BEGIN to END; they nest. */
#ifndef ANNOTATE_IGNORE_READS_BEGIN
#define ANNOTATE_IGNORE_READS_BEGIN() REDFLAG_ANNOTATE(IgnoreReadsBegin)
#define ANNOTATE_IGNORE_READS_END() REDFLAG_ANNOTATE(IgnoreReadsEnd)
#define ANNOTATE_IGNORE_WRITES_BEGIN() REDFLAG_ANNOTATE(IgnoreWritesBegin)
#define ANNOTATE_IGNORE_WRITES_END() REDFLAG_ANNOTATE(IgnoreWritesEnd)
#endif
#ifndef ANNOTATE_IGNORE_READS_AND_WRITES_BEGIN
#define ANNOTATE_IGNORE_READS_AND_WRITES_BEGIN() \
  do {                                           \
    ANNOTATE_IGNORE_READS_BEGIN();               \
    ANNOTATE_IGNORE_WRITES_BEGIN();              \
  } while (0)
#define ANNOTATE_IGNORE_READS_AND_WRITES_END() \
  do {                                         \
    ANNOTATE_IGNORE_WRITES_END();              \
    ANNOTATE_IGNORE_READS_END();               \
  } while (0)
#endif
#ifndef ANNOTATE_IGNORE_SYNC_BEGIN
#define ANNOTATE_IGNORE_SYNC_BEGIN() REDFLAG_ANNOTATE(IgnoreSyncBegin)
#define ANNOTATE_IGNORE_SYNC_END() REDFLAG_ANNOTATE(IgnoreSyncEnd)
#endif

/* In all threads: 0 until 1. What happens meanwhile is not remembered. */
#ifndef ANNOTATE_ENABLE_RACE_DETECTION
#define ANNOTATE_ENABLE_RACE_DETECTION(enable) REDFLAG_ANNOTATE(EnableRaceDetection, enable)
#endif

/* Everything that was seen so far is forgotten. */
#ifndef ANNOTATE_FLUSH_STATE
#define ANNOTATE_FLUSH_STATE() REDFLAG_ANNOTATE(FlushState)
#endif

/* Reads a variable that others may write meanwhile: harmless, says whoever writes this. */
#ifndef ANNOTATE_UNPROTECTED_READ
#if defined(__cplusplus) && !defined(REDFLAG_NO_ANNOTATIONS)
template <class T>
inline T RedflagUnprotectedRead(const volatile T& variable) {
  ANNOTATE_IGNORE_READS_BEGIN();
  T value = variable;
  ANNOTATE_IGNORE_READS_END();
  return value;
}
#define ANNOTATE_UNPROTECTED_READ(variable) RedflagUnprotectedRead(variable)
#elif !defined(REDFLAG_NO_ANNOTATIONS)
#define ANNOTATE_UNPROTECTED_READ(variable)                                            \
  __extension__({                                                                      \
    ANNOTATE_IGNORE_READS_BEGIN();                                                     \
    __typeof__(variable) redflag_value = *(volatile __typeof__(variable)*)&(variable); \
    ANNOTATE_IGNORE_READS_END();                                                       \
    redflag_value;                                                                     \
  })
#else
#define ANNOTATE_UNPROTECTED_READ(variable) (variable)
#endif
#endif

/* ---- Names and hints ---- */

#ifndef ANNOTATE_THREAD_NAME
#define ANNOTATE_THREAD_NAME(name) REDFLAG_ANNOTATE(ThreadName, name)
#endif
#ifndef ANNOTATE_TRACE_MEMORY
#define ANNOTATE_TRACE_MEMORY(memory) REDFLAG_ANNOTATE(TraceMemory, memory)
#endif
#ifndef ANNOTATE_NO_OP
#define ANNOTATE_NO_OP(anything) REDFLAG_ANNOTATE(NoOp, anything)
#endif

#endif /* REDFLAG_ANNOTATIONS_H_ */
