// SyncEventList: the synchronization event list of Goldilocks (section 5): what has happened to locksets, in order, for
// those who have not looked yet.
//
// Every rule of Figure 5 but the first and the eighth has one form: "if `from` is in LS(x), add `to`". That is a cell of the
// list. What a C++ store does to an atomic, and what the end of a thread or a lock does to everything, has the other form:
// "take `to` out". Elements are what a lockset is made of; the encoding of both is in this file.
//
// Cells lie in blocks, so that walking them is a walk through memory, and the list is linked block by block. A Position is a
// place between two cells. The list knows who stands in each block (the paper counts references, which says as much, but not
// who they are): a block at the head in which nobody stands can go, and when the list is too long, those who stand in its
// first block can be found and evaluated up to its end (5.4).
//
// In-process: Arena memory only. Not thread-safe: the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/ids.h"

namespace redflag {

// Kinds of elements. The letters are those of clocks/sync_clocks.h: an element is in LS(x) exactly when the clock of that
// name would know of the access to x.
enum class ElementKind : uint8_t {
  kNone,
  kThread,     // C_t   t: its accesses are race-free
  kFence,      // F_t   t's relaxed stores hand it on       [atomics.fences]/2,3
  kPending,    // P_t   t's next acquire fence takes it     [atomics.fences]/2,4
  kCarried,    // M_s   whoever acquires atomic or signal s becomes an owner: the paper's (o, v)
  kExclusive,  // X_s   whoever locks s becomes an owner: the paper's (o, l)
  kShared,     // R_s   whoever locks s exclusively becomes an owner: left by read unlocks
  kCommit,     // K_c   whoever commits a byte that commit c was the latest to touch becomes an owner
};

enum class Element : uint64_t {};
inline constexpr Element kNoElement{0};

inline constexpr int kElementKindBits = 3;
constexpr Element MakeElement(ElementKind kind, uint64_t id) { return Element{(id << kElementKindBits) | Raw(kind)}; }
constexpr Element ThreadElement(Tid thread) { return MakeElement(ElementKind::kThread, Raw(thread)); }
constexpr ElementKind KindOf(Element element) { return ElementKind(Raw(element) & ((1u << kElementKindBits) - 1)); }
constexpr uint64_t IdOf(Element element) { return Raw(element) >> kElementKindBits; }
constexpr bool IsOfThread(Element element) { return KindOf(element) <= ElementKind::kPending; }
// Can it make an owner of somebody, or is it one? Fences are their threads' own affair.
constexpr bool IsOwner(Element element) { return !IsOfThread(element) || KindOf(element) == ElementKind::kThread; }

static_assert(KindOf(ThreadElement(kNoThread)) == ElementKind::kThread && IdOf(ThreadElement(Tid{7})) == 7);

// from != kNoElement: adds `to` to every lockset that has `from`. Else takes `to` out of every lockset.
struct SyncEvent {
  Element from;
  Element to;
  bool takes_out() const { return from == kNoElement; }
  // The thread that made it; of a join, the thread that was joined. Not for events that take out.
  Tid thread() const { return Tid{static_cast<uint32_t>(IdOf(IsOfThread(from) ? from : to))}; }
};
static_assert(sizeof(SyncEvent) == 16);

// Where an event is among those that touch the same thread or object, for those who keep no list (clocks/ownership_log.h): the later one has
// the greater number.
struct EventTurn {
  uint64_t number = 0;
};

// How long the list may get before evaluation becomes eager: this many blocks (of 2 KB), and 128 bytes for
// everybody who stands in it, which is what a lockset of its own takes at least. A shorter list is a shorter walk for those
// who stand at its head; a longer one leaves more locksets alone until they are not needed any more.
struct EventListLimits {
  static constexpr uint32_t kBlockEvents = 126;
  static constexpr uint32_t kMaxBlocks = 16;
  static constexpr uint32_t kEventsPerHolder = 8;
};

template <class Mem, class Limits = EventListLimits>
class SyncEventList {
  struct Block;

 public:
  // A place in the list; whoever holds one derives from it. Tied to a list by PlaceAtTail or PlaceAtHead until Remove.
  class Position {
   private:
    friend class SyncEventList;
    Block* block_ = nullptr;
    Position* next_ = nullptr;  // those who stand in the same block
    Position* previous_ = nullptr;
    uint32_t index_ = 0;  // of the first event not yet seen
  };

  explicit SyncEventList(Arena<Mem>& arena) : arena_(arena), head_(NewBlock()), tail_(head_) {}
  ~SyncEventList() {
    while (head_ != nullptr) {
      Block* next = head_->next;
      arena_.Free(head_, sizeof(Block));
      head_ = next;
    }
  }
  SyncEventList(const SyncEventList&) = delete;
  SyncEventList& operator=(const SyncEventList&) = delete;

  // True if the list has grown by a block: the time to think of trimming.
  bool Append(Element from, Element to) {
    const bool grows = tail_->count == Limits::kBlockEvents;
    if (grows) {
      tail_->next = NewBlock();
      tail_ = tail_->next;
      ++blocks_;
    }
    tail_->events[tail_->count++] = SyncEvent{.from = from, .to = to};
    return grows;
  }

  void PlaceAtHead(Position& position) {
    position.index_ = 0;
    Enter(position, head_);
    ++holders_;
  }
  void PlaceAtTail(Position& position) {
    position.index_ = tail_->count;
    Enter(position, tail_);
    ++holders_;
  }
  void Remove(Position& position) {
    Leave(position);
    --holders_;
  }

  // Moves on to the tail, calling visit(event) for each event on the way; stops behind the first for which it is true.
  template <class Visitor>
  void Walk(Position& position, Visitor visit) {
    Block* block = position.block_;
    uint32_t index = position.index_;
    bool found = false;
    while (!found && (index < block->count || block->next != nullptr)) {
      if (index == block->count) {
        block = block->next;
        index = 0;
        continue;
      }
      found = visit(static_cast<const SyncEvent&>(block->events[index++]));
    }
    MoveTo(position, block, index);
  }

  // The same, without moving, over at most `limit` events.
  template <class Visitor>
  void Look(const Position& position, uint32_t limit, Visitor visit) const {
    const Block* block = position.block_;
    for (uint32_t index = position.index_; limit != 0; --limit) {
      while (index == block->count) {
        if (block->next == nullptr) return;
        block = block->next;
        index = 0;
      }
      if (visit(block->events[index++])) return;
    }
  }

  // ---- Trimming: 5.4 ----

  // Gives back the blocks at the head in which nobody stands; returns how many.
  uint32_t Trim() {
    uint32_t trimmed = 0;
    for (; head_ != tail_ && head_->holders == nullptr; ++trimmed) DropFirstBlock();
    return trimmed;
  }

  // `wanted`: how many of those who stand in the list can be of use for accesses to come.
  bool IsTooLong(uint64_t wanted) const {
    if (wanted > holders_) wanted = holders_;
    return blocks_ > Limits::kMaxBlocks + wanted * Limits::kEventsPerHolder / Limits::kBlockEvents;
  }

  // To evaluate the first block of a list that is too long: those who stand in it, one after the other ...
  Position* OldestHolder() { return head_->holders; }
  // ... and the events that they have not seen in it.
  template <class Visitor>
  void ForEachInFirstBlock(const Position& position, Visitor visit) const {
    for (uint32_t i = position.index_; i < head_->count; ++i) visit(static_cast<const SyncEvent&>(head_->events[i]));
  }
  template <class Visitor>
  void ForEachInFirstBlock(Visitor visit) const {
    ForEachInFirstBlock(Position{}, visit);
  }
  void DropFirstBlock() {
    Block* next = head_->next;
    arena_.Free(head_, sizeof(Block));
    head_ = next;
    --blocks_;
  }

  uint32_t blocks() const { return blocks_; }
  uint64_t holders() const { return holders_; }

 private:
  struct Block {
    Block* next;
    Position* holders;
    uint32_t count;
    SyncEvent events[Limits::kBlockEvents];
  };
  static_assert(Limits::kBlockEvents != EventListLimits::kBlockEvents || sizeof(Block) <= 2048);
  static_assert(Limits::kMaxBlocks >= 1, "there is a block to move on to");

  Block* NewBlock() {
    auto* block = static_cast<Block*>(arena_.Allocate(sizeof(Block)));
    block->next = nullptr;
    block->holders = nullptr;
    block->count = 0;
    return block;
  }

  void Enter(Position& position, Block* block) {
    position.block_ = block;
    position.previous_ = nullptr;
    position.next_ = block->holders;
    if (block->holders != nullptr) block->holders->previous_ = &position;
    block->holders = &position;
  }

  void Leave(Position& position) {
    if (position.previous_ != nullptr) {
      position.previous_->next_ = position.next_;
    } else {
      position.block_->holders = position.next_;
    }
    if (position.next_ != nullptr) position.next_->previous_ = position.previous_;
  }

  void MoveTo(Position& position, Block* block, uint32_t index) {
    position.index_ = index;
    if (block == position.block_) return;
    Leave(position);
    Enter(position, block);
  }

  Arena<Mem>& arena_;
  Block* head_;
  Block* tail_;
  uint32_t blocks_ = 1;
  uint64_t holders_ = 0;
};

}  // namespace redflag
