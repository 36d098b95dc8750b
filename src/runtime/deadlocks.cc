// Locks that are taken while others are held: told to LockOrder, and what that finds is told to the user.
//
// Most of it was told before. A thread remembers what it has told, by a number that is made of the names of all the locks: these are never
// used again, so that a lock that was destroyed and made anew is another one.
#include "base/hash_map.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

constexpr int kGenerations = 64;  // of threads that created one another, or waited for one another, that are looked at

}  // namespace

SyncId Runtime::NameInOrder(uint64_t lock) {
  const SyncObject* known = syncs_.Peek(lock);
  if (known != nullptr && __atomic_load_n(&known->is_ordered, __ATOMIC_RELAXED)) return known->name;
  SyncTable::Locked object(syncs_, lock);
  object->is_ordered = true;
  return object->name;
}

void Runtime::NoteOrder(Thread& t, uint64_t lock, LockMode mode, uint64_t place) {
  if (!flags_.detect_deadlocks) return;
  if (t.mode.takes_lock) SettleLock(t, place);
  if (!t.locks.empty()) NoteOrderAt(t, lock, mode, t.CallsAt(contexts_, place));
}

void Runtime::NoteOrderAt(Thread& t, uint64_t lock, LockMode mode, ContextId taken_at) {
  constexpr uint32_t kFew = 16;
  const SyncId name = NameInOrder(lock);
  uint64_t key = HashKey(uint64_t{Raw(name)} << 32 | t.step) + Raw(mode);
  for (HeldAt& held : t.locks) {
    if (held.address == lock) return;  // it has it already
    key += HashKey(uint64_t{Raw(held.name)} << 8 | Raw(held.mode));
  }
  if (t.KnowsOrder(key | 1)) return;
  const auto count = static_cast<uint32_t>(t.locks.size());
  OrderedLock few[kFew];
  OrderedLock* held =
      count <= kFew ? few : static_cast<OrderedLock*>(arena_.Allocate(uint64_t{count} * sizeof(OrderedLock)));
  for (uint32_t i = 0; i < count; ++i) {
    const HeldAt& at = t.locks[i];
    held[i] = {.name = NameInOrder(at.address), .mode = at.mode, .taken_at = at.context, .address = at.address};
  }
  LockOrder::Cycle cycle(arena_);
  const LockOrder::Rules rules{.by_order_alone = flags_.deadlocks_by_order, .are_ordered = AreOrdered};
  const OrderedLock wanted{.name = name, .mode = mode, .taken_at = taken_at, .address = lock};
  if (lock_order_.Add({t.state.tid, t.step}, wanted, held, count, rules, cycle)) MayDeadlock(t, cycle);
  if (held != few) arena_.Free(held, uint64_t{count} * sizeof(OrderedLock));
}

// By the creation of threads and by waiting for their end. What a thread did comes before what its joiner did from then on, and so on; what an
// ancestor did before the creation comes before all that the thread did.
bool Runtime::AreOrdered(ThreadStep a, ThreadStep b) {
  const auto comes_before = [](ThreadStep first, ThreadStep second) {
    for (int joins = 0; joins < kGenerations; ++joins) {
      ThreadStep at = second;
      for (int creations = 0; creations < kGenerations; ++creations) {
        if (at.thread == first.thread && first.step <= at.step) return true;
        const ThreadInfo& info = Get().InfoOf(at.thread);
        if (info.creator == kNoThread || info.is_forgotten()) break;
        at = {.thread = info.creator, .step = info.creator_step};
      }
      const ThreadInfo& info = Get().InfoOf(first.thread);
      if (info.joiner == kNoThread || info.is_forgotten()) return false;
      first = {.thread = info.joiner, .step = info.joined_step};
    }
    return false;
  };
  return comes_before(a, b) || comes_before(b, a);
}

}  // namespace redflag::rt
