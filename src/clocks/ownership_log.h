// OwnershipLog: what has happened to locksets lately (Goldilocks, section 5), for a detector that decides by clocks and asks for a lockset when it has
// found a race: who owned the access, and since when? It stands where OwnershipLedger (clocks/ownership.h) stands for a detector that decides by locksets.
//
//   Event    "if `from` is in LS(x), add `to`", or "take `to` out" (clocks/sync_event_list.h), with its turn and its thread's epoch
//   Turn     the number of an event. It is greater than that of every event before it of the same thread and of the same object, and that is all the
//            order that there is among events: the rules of those that have no element in common may be applied in any order. So threads count by
//            themselves and learn each other's numbers where they meet (Lamport 1978); there is no list, and no counter, that all of them write to.
//            One number, seldom changed, is known to all: that of the latest event in a block that is full. Who has not met anybody for long goes on from
//            there, so that what is overwritten, being old, has a lower number than what comes after it.
//   Block    events of one thread, in order. Blocks that are full wait in a queue, and the oldest is the next to be overwritten: however long the program
//            runs, the log takes no more memory than its limit, and one block for each thread that is alive.
//
// Evaluation merges the blocks by turns. It begins with the owner's first event at or after the epoch of the access: before that, LS(x) is {C_owner}, and
// no event of others can change that. Whoever ends or goes on in another slot leaves an event, so that there is such a first one. If an event may be
// missing that would count, the answer is "forgotten".
//
// Thread-safe under AtomicMem: a ThreadOwnership belongs to its thread, a Turn to whoever may change its object; the queue, and evaluation, have a lock.
// Evaluation holds it for milliseconds if the log is full: once for a race that is reported, while others append, and wait only if their block is full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/vector.h"
#include "clocks/epoch.h"
#include "clocks/sync_event_list.h"

namespace redflag {

struct OwnershipLogLimits {
  static constexpr uint32_t kBlockEvents = 63;
  static constexpr uint32_t kBlocks = 2048;  // of 2 KB
};

template <class Mem, class Limits = OwnershipLogLimits>
class OwnershipLog {
  struct Block;

 public:
  static constexpr bool kKeepsSets = false;

  using Turn = EventTurn;
  struct ThreadOwnership {
    Tid thread{};
    Turn turn;
    Epoch now{};  // the label of what the thread accesses
    Block* block = nullptr;
  };

  // LS(x): when each element came, and from whom.
  struct Arrival {
    Turn turn;
    Element from;
  };
  using Owners = HashMap<Arrival, Mem>;

  explicit OwnershipLog(Arena<Mem>& arena) : arena_(arena), blocks_(arena), cursors_(arena), dropped_(arena) {}
  ~OwnershipLog() {
    for (Block* block : blocks_) arena_.Free(block, sizeof(Block));
  }
  OwnershipLog(const OwnershipLog&) = delete;
  OwnershipLog& operator=(const OwnershipLog&) = delete;

  // ---- What threads do ----

  // An event of t, which touches nothing else, or the object whose turn this is too.
  void Append(ThreadOwnership& t, Turn& turn, Element from, Element to, const uint64_t* /*steps*/) {
    Follow(t, turn);
    Follow(t, {.number = __atomic_load_n(&latest_full_.number, __ATOMIC_RELAXED)});
    turn.number = ++t.turn.number;
    if (t.block == nullptr || t.block->count == Limits::kBlockEvents) [[unlikely]]
      NextBlock(t);
    Block& block = *t.block;
    block.events[block.count] = Event{.what = {.from = from, .to = to}, .turn = t.turn, .at = t.now};
    __atomic_store_n(&block.count, block.count + 1, __ATOMIC_RELEASE);
  }
  // What t does comes after what `other` has done, or what that turn was.
  static void Follow(ThreadOwnership& t, const ThreadOwnership& other) { Follow(t, other.turn); }
  static void Follow(ThreadOwnership& t, Turn turn) {
    if (t.turn.number < turn.number) t.turn = turn;
  }
  // The thread does nothing any more at its present epoch: whoever is ordered after it by its end is ordered after this.
  void Close(ThreadOwnership& t) { Append(t, t.turn, ThreadElement(t.thread), ThreadElement(t.thread), nullptr); }
  void End(ThreadOwnership& t) {
    if (t.block == nullptr) return;
    ScopedLock guard(lock_);
    Enqueue(*t.block);
    t.block = nullptr;
  }

  // Sets that would have to be ended: here, nothing is.
  static void EndOwnership(ThreadOwnership&) {}
  static void EndSegment(ThreadOwnership&) {}

  // For synchronization objects; never given twice.
  uint64_t NewNumber() {
    ScopedLock guard(lock_);
    return ++numbers_;
  }

  // No epoch means anything any more. Nobody appends meanwhile.
  void Clear() {
    ScopedLock guard(lock_);
    for (Block* block : blocks_) block->count = 0;
    dropped_.Clear();
    last_dropped_ = {};
  }

  // ---- The question ----

  // LS of what `owner` accessed at epoch `at`, into `owners`, which is empty. False: it is forgotten.
  // events_walked: is increased.
  bool Evaluate(Tid owner, Epoch at, Owners& owners, uint64_t& events_walked) {
    ScopedLock guard(lock_);
    if (const Time* gone = dropped_.Find(Raw(SlotOf(at))); gone != nullptr && *gone >= TimeOf(at)) return false;
    owners.Insert(Raw(ThreadElement(owner)));
    Turn first;
    if (!FindFirst(owner, at, first)) return true;  // it has handed on nothing since
    if (last_dropped_.number >= first.number) return false;
    BeginMerge(first);
    while (const Event* event = NextInTurn()) {
      ++events_walked;
      if (event->what.takes_out()) {
        owners.Erase(Raw(event->what.to));
      } else if (owners.Find(Raw(event->what.from)) != nullptr && owners.Find(Raw(event->what.to)) == nullptr) {
        owners.Insert(Raw(event->what.to)) = {.turn = event->turn, .from = event->what.from};
      }
    }
    return true;
  }

  uint64_t blocks() const { return blocks_.size(); }

 private:
  struct Event {
    SyncEvent what;
    Turn turn;
    Epoch at;
  };
  struct Block {
    Block* next;  // in the queue
    Tid thread;
    uint32_t count;  // written by the thread, or by whoever takes it from the queue
    Event events[Limits::kBlockEvents];
  };
  static_assert(Limits::kBlockEvents != OwnershipLogLimits::kBlockEvents || sizeof(Block) <= 2048);

  // ---- Blocks ----

  [[gnu::noinline]] void NextBlock(ThreadOwnership& t) {
    ScopedLock guard(lock_);
    if (t.block != nullptr) Enqueue(*t.block);
    if (blocks_.size() < Limits::kBlocks || oldest_ == nullptr) {
      t.block = static_cast<Block*>(arena_.Allocate(sizeof(Block)));
      blocks_.Push(t.block);
    } else {
      t.block = oldest_;
      oldest_ = oldest_->next;
      NoteDropped(*t.block);
    }
    t.block->thread = t.thread;
    t.block->count = 0;
  }

  void Enqueue(Block& block) {
    block.next = nullptr;
    if (block.count != 0 && latest_full_.number < block.events[block.count - 1].turn.number) {
      __atomic_store_n(&latest_full_.number, block.events[block.count - 1].turn.number, __ATOMIC_RELAXED);
    }
    (oldest_ == nullptr ? oldest_ : newest_->next) = &block;
    newest_ = &block;
  }

  // Times of a slot and turns of a thread only rise: the last event of a block stands for all of them, but for those in a slot that the thread has left.
  void NoteDropped(const Block& block) {
    for (uint32_t i = 0; i < block.count; ++i) {
      const Event& event = block.events[i];
      if (i + 1 < block.count && SlotOf(block.events[i + 1].at) == SlotOf(event.at)) continue;
      Time& gone = dropped_.Insert(Raw(SlotOf(event.at)));
      if (gone < TimeOf(event.at)) gone = TimeOf(event.at);
      if (last_dropped_.number < event.turn.number) last_dropped_ = event.turn;
    }
  }

  // ---- Evaluation ----

  // The owner's first event at `at` or later.
  bool FindFirst(Tid owner, Epoch at, Turn& first) const {
    bool found = false;
    for (const Block* block : blocks_) {
      const uint32_t count = __atomic_load_n(&block->count, __ATOMIC_ACQUIRE);
      if (block->thread != owner) continue;
      for (uint32_t i = 0; i < count; ++i) {
        const Event& event = block->events[i];
        if (SlotOf(event.at) != SlotOf(at) || TimeOf(event.at) < TimeOf(at)) continue;
        if (!found || event.turn.number < first.number) first = event.turn;
        found = true;
        break;
      }
    }
    return found;
  }

  // The blocks that have events of this turn or later, as a heap of which the next event is on top.
  struct Cursor {
    const Block* block;
    uint32_t index;
    uint32_t count;
    uint64_t turn() const { return block->events[index].turn.number; }
  };

  void BeginMerge(Turn first) {
    cursors_.Clear();
    for (const Block* block : blocks_) {
      Cursor cursor{.block = block, .index = 0, .count = __atomic_load_n(&block->count, __ATOMIC_ACQUIRE)};
      if (cursor.count == 0 || block->events[cursor.count - 1].turn.number < first.number) continue;
      while (cursor.turn() < first.number) ++cursor.index;
      cursors_.Push(cursor);
    }
    for (size_t i = cursors_.size() / 2; i-- > 0;) SiftDown(i);
  }

  const Event* NextInTurn() {
    if (cursors_.empty()) return nullptr;
    Cursor& top = cursors_[0];
    const Event* event = &top.block->events[top.index];
    if (++top.index == top.count) {
      top = cursors_.back();
      cursors_.Remove(cursors_.size() - 1);
    }
    SiftDown(0);
    return event;
  }

  void SiftDown(size_t i) {
    for (;;) {
      size_t least = i;
      for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < cursors_.size(); ++child) {
        if (cursors_[child].turn() < cursors_[least].turn()) least = child;
      }
      if (least == i) return;
      const Cursor moved = cursors_[i];
      cursors_[i] = cursors_[least];
      cursors_[least] = moved;
      i = least;
    }
  }

  alignas(64) Turn latest_full_;  // of all events in blocks that are full
  alignas(64) typename Mem::Lock lock_;
  Arena<Mem>& arena_;
  Vector<Block*, Mem> blocks_;  // all of them
  Block* oldest_ = nullptr;     // the queue
  Block* newest_ = nullptr;
  Vector<Cursor, Mem> cursors_;
  HashMap<Time, Mem> dropped_;  // the latest time of each slot of which an event is gone
  Turn last_dropped_;           // no event is gone that comes after this
  uint64_t numbers_ = 0;
};

}  // namespace redflag
