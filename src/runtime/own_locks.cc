#include "runtime/own_locks.h"

#include "runtime/marked_code.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

constexpr int kMostCalls = 4;       // from the function of a lock to its atomic operation
constexpr uint64_t kFarthest = 64;  // words of one lock are not further apart

// The function of locks that a thread is in.
struct LockCode {
  const MarkedRange* range = nullptr;  // null: in none
  const Frame* level = nullptr;        // behind the last frame that is not inside of it
  uint64_t place = 0;                  // where in it
};

// Inlined or not: the atomic operation may be in functions that it calls, as members of std::atomic are that were not inlined.
LockCode LockCodeAt(const Thread& t, uint64_t place) {
  const Frame* level = local.top;
  for (int calls = 0;; ++calls) {
    const MarkedRange* range = MarkedCode::At(place);
    if (range != nullptr && range->instance != 0) return {.range = range, .level = level, .place = place};
    if (calls == kMostCalls || level == t.frames()) return {};
    place = (--level)->pc;
  }
}

bool IsSame(const TakenLock& taken, const LockCode& code) {
  return code.range != nullptr && code.range->instance == taken.instance && code.level == taken.level;
}

// Has the function used another word than this at this place?
bool ComesAgain(const TakenLock& taken, uint64_t place, uint64_t word) {
  for (uint32_t i = 0; i < taken.step_count; ++i) {
    if (taken.steps[i].place == place) return taken.steps[i].word != word;
  }
  return false;
}

void AddStep(TakenLock& taken, uint64_t place, uint64_t word) {
  for (uint32_t i = 0; i < taken.step_count; ++i) {
    if (taken.steps[i].place == place) return;
  }
  if (taken.step_count < TakenLock::kMaxSteps) taken.steps[taken.step_count++] = {.place = place, .word = word};
}

void AddWord(TakenLock& taken, uint64_t word) {
  for (uint32_t i = 0; i < taken.word_count; ++i) {
    if (taken.words[i] == word) return;
  }
  if (taken.word_count < TakenLock::kMaxWords) taken.words[taken.word_count++] = word;
}

}  // namespace

void Runtime::SettleLock(Thread& t, uint64_t place) {
  if (!IsSame(t.taken, LockCodeAt(t, place))) TakeLock(t);
}

// The address that stands for the lock: that of a word that was found to be part of one before, or of the first.
uint64_t Runtime::OwnLockOf(const TakenLock& taken) {
  ScopedLock guard(own_locks_lock_);
  uint64_t lock = 0;
  const auto is_part = [&](uint64_t word) { return word - taken.words[0] + kFarthest <= 2 * kFarthest; };
  for (uint32_t i = 0; i < taken.word_count && lock == 0; ++i) {
    if (is_part(taken.words[i])) lock = SyncTable::Locked(syncs_, taken.words[i])->own_lock;
  }
  if (lock == 0) lock = taken.words[0];
  for (uint32_t i = 0; i < taken.word_count; ++i) {
    if (is_part(taken.words[i])) SyncTable::Locked(syncs_, taken.words[i])->own_lock = lock;
  }
  return lock;
}

// The function that takes a lock has ended. One that may fail has it if the last thing that it acquired by was changed by that.
void Runtime::TakeLock(Thread& t) {
  const TakenLock taken = t.taken;
  t.taken.instance = 0;
  t.mode.takes_lock = false;
  if (taken.word_count == 0 || (Has(taken.marks, CodeMark::kMayFail) && !taken.changed)) return;
  const uint64_t lock = OwnLockOf(taken);
  for (const HeldAt& held : t.locks) {
    if (held.address == lock) return;  // how often is its own business: it is given back by one store
  }
  const LockMode mode = Has(taken.marks, CodeMark::kForReading) ? LockMode::kShared : LockMode::kExclusive;
  const bool may_wait = !Has(taken.marks, CodeMark::kMayFail);
  if (may_wait && flags_.detect_deadlocks && !t.locks.empty()) NoteOrderAt(t, lock, mode, taken.context);
  HoldOwn(
      t,
      HeldAt{.address = lock, .context = taken.context, .chain = kNoContext, .mode = mode, .is_own = true, .depth = 1});
}

// As Lock() and Unlock() do it, but that order is left to the atomic operations by those who take it from locks.
void Runtime::HoldOwn(Thread& t, HeldAt lock) {
  t.SetChain(t.Child(contexts_, t.chain(), ContextTree::Held(lock.context)));
  lock.chain = t.chain();
  t.mode.locks_to_log = true;
  if (Recorder::is_on()) Recorder::Prepare(t, contexts_, lock.context);
  SyncTable::Locked object(syncs_, lock.address);
  NoteSync(t, EventKind::kLock, *object, lock.context, lock.mode, EventFlag::kOwn);
  lock.name = object->name;
  t.locks.Push(lock);
  if (kAsksForLocks) t.state.held.Acquire(lock.name, lock.mode);
  if (Detector::kClaim != Claim::kUnordered) Changed(t, detector_.OnLock(t.state, object->sync, lock.mode));
}

void Runtime::LetGoOfOwn(Thread& t, size_t index) {
  const HeldAt lock = t.locks[index];
  if (kAsksForLocks) t.state.held.Release(lock.name, lock.mode);
  RemoveLock(t, index);
  t.mode.locks_to_log = !t.locks.empty();
  SyncTable::Locked object(syncs_, lock.address);
  NoteSync(t, EventKind::kUnlock, *object, kNoContext, lock.mode, EventFlag::kOwn);
  if (Detector::kClaim != Claim::kUnordered) Changed(t, detector_.OnUnlock(t.state, object->sync, lock.mode));
}

// What gives a lock back does so before others can take it.
void Runtime::BeforeAtomic(Thread& t, uint64_t addr, MemoryOrder order, uint64_t place, bool changes) {
  const LockCode code = LockCodeAt(t, place);
  if (t.mode.takes_lock && !IsSame(t.taken, code)) TakeLock(t);
  if (code.range == nullptr || !Has(code.range->marks, CodeMark::kGivesBackLock) || !changes) return;
  const SyncObject* object = syncs_.Peek(addr);
  const uint64_t known = object == nullptr ? 0 : __atomic_load_n(&object->own_lock, __ATOMIC_RELAXED);
  const uint64_t lock = known != 0 ? known : addr;
  const bool is_new = t.taken.given_instance != code.range->instance || t.taken.given_level != code.level;
  size_t innermost = t.locks.size();
  for (size_t i = t.locks.size(); i-- > 0;) {
    if (!t.locks[i].is_own) continue;
    if (innermost == t.locks.size()) innermost = i;
    if (t.locks[i].address != lock) continue;
    innermost = i;
    break;
  }
  if (innermost == t.locks.size()) return;
  // Through a word that the lock was not taken by, such as one of the thread that is next: the latest lock. But once.
  if (t.locks[innermost].address != lock && (!is_new || !Releases(order))) return;
  t.taken.given_instance = code.range->instance;
  t.taken.given_level = code.level;
  LetGoOfOwn(t, innermost);
}

void Runtime::AfterAtomic(Thread& t, uint64_t addr, MemoryOrder order, uint64_t place, bool changes) {
  const LockCode code = LockCodeAt(t, place);
  if (code.range == nullptr || !Has(code.range->marks, CodeMark::kTakesLock)) return;
  TakenLock& taken = t.taken;
  if (t.mode.takes_lock && ComesAgain(taken, code.place, addr)) TakeLock(t);
  if (!t.mode.takes_lock) {
    taken = TakenLock{.instance = code.range->instance, .level = code.level, .marks = code.range->marks};
    t.mode.takes_lock = true;
  }
  AddStep(taken, code.place, addr);
  if (taken.acquires && !Acquires(order)) return;
  if (Acquires(order) && !taken.acquires) taken.word_count = 0;
  taken.acquires = Acquires(order);
  taken.changed = changes;
  taken.context = t.CallsAt(contexts_, place);
  if (taken.acquires || taken.word_count == 0) AddWord(taken, addr);
}

}  // namespace redflag::rt
