// VectorClock: for every slot, the latest time known. The B_t of RaceTrack, the C_t of the happens-before
// papers.
//
// Stored in chunks of 16 slots. A chunk that was never written is absent, so a clock that knows few threads
// is small wherever their slots lie; chunks are shared between clocks and copied when written, so handing a
// whole clock to a lock (the commonest operation) copies one pointer a chunk, and joining two clocks that
// have a chunk in common skips it. A clock of many threads that joins another takes over the other's chunks where it
// knows no more itself. So clocks of threads that talk to each other come to have in common what is not about
// these threads, and what they tell each other costs little more than what is new of it. Up to 32 slots live
// without a table; 10,000 threads cost 625 pointers.
//
// A clock is not thread-safe; chunks are (their count is atomic under AtomicMem), so clocks of different
// threads may share them. In-process: memory from the Arena only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "clocks/epoch.h"

namespace redflag {

template <class Mem>
class VectorClock {
 public:
  explicit VectorClock(Arena<Mem>& arena) : arena_(&arena) {}
  ~VectorClock() { Clear(); }
  VectorClock(const VectorClock&) = delete;
  VectorClock& operator=(const VectorClock&) = delete;

  Time Get(Slot slot) const {
    const uint32_t index = Raw(slot) / kChunkSlots;
    if (index >= chunk_count_) return kNever;
    const Chunk* chunk = table()[index];
    return chunk == nullptr ? kNever : chunk->times[Raw(slot) % kChunkSlots];
  }

  // Is the point `epoch` known, that is: ordered before the owner of this clock?
  bool Knows(Epoch epoch) const { return TimeOf(epoch) <= Get(SlotOf(epoch)); }

  void Set(Slot slot, Time time) {
    const uint32_t index = Raw(slot) / kChunkSlots;
    if (index >= chunk_count_) Resize(index + 1);
    Own(table()[index])->times[Raw(slot) % kChunkSlots] = time;
  }

  // Least upper bound: RaceTrack's Merge(this, other).
  void Join(const VectorClock& other) {
    if (other.chunk_count_ > chunk_count_) Resize(other.chunk_count_);
    Chunk** mine = table();
    Chunk* const* theirs = other.table();
    for (uint32_t i = 0, count = other.chunk_count_; i < count; ++i) {
      if (theirs[i] == mine[i] || theirs[i] == nullptr) continue;
      if (mine[i] == nullptr) {
        mine[i] = Share(theirs[i]);
      } else {
        JoinChunk(mine[i], theirs[i]);
      }
    }
  }

  // Becomes equal to `other`. What differs is copied if there is a place for it: the owner of `other` is about to change
  // its own time, and would have to copy what it shares.
  void Assign(const VectorClock& other) {
    if (this == &other) return;
    if (other.chunk_count_ > chunk_count_) Resize(other.chunk_count_);
    Chunk** mine = table();
    Chunk* const* theirs = other.table();
    const uint32_t count = other.chunk_count_;
    for (uint32_t i = 0; i < count; ++i) {
      if (mine[i] != theirs[i]) AssignChunk(mine[i], theirs[i]);
    }
    for (uint32_t i = count; i < chunk_count_; ++i) {
      if (mine[i] != nullptr) AssignChunk(mine[i], nullptr);
    }
  }

  bool IsEmpty() const { return chunk_count_ == 0; }  // or is there a slot that it may know something of?

  // Becomes the clock that knows nothing, and gives its memory back.
  void Clear() {
    if (chunk_count_ == 0 && capacity_ == kInlineChunks) return;
    for (uint32_t i = 0; i < chunk_count_; ++i) {
      if (table()[i] != nullptr) Drop(table()[i]);
      table()[i] = nullptr;
    }
    if (capacity_ > kInlineChunks) arena_->Free(heap_table_, capacity_ * sizeof(Chunk*));
    chunk_count_ = 0;
    capacity_ = kInlineChunks;
    inline_table_[0] = inline_table_[1] = nullptr;
  }

  // Calls visit(Slot, Time) for every slot with a known time.
  template <class Visitor>
  void ForEach(Visitor visit) const {
    for (uint32_t i = 0; i < chunk_count_; ++i) {
      const Chunk* chunk = table()[i];
      if (chunk == nullptr) continue;
      for (uint32_t j = 0; j < kChunkSlots; ++j) {
        if (chunk->times[j] != kNever) visit(Slot(static_cast<uint16_t>(i * kChunkSlots + j)), chunk->times[j]);
      }
    }
  }

 private:
  static constexpr uint32_t kChunkSlots = 16;
  static constexpr uint32_t kInlineChunks = 2;
  static constexpr uint32_t kFewChunks = 4;  // to have as many of one's own is cheaper than to share them

  struct Chunk {
    typename Mem::Counter owners;
    Time times[kChunkSlots];
  };

  Chunk** table() { return capacity_ > kInlineChunks ? heap_table_ : inline_table_; }
  Chunk* const* table() const { return capacity_ > kInlineChunks ? heap_table_ : inline_table_; }

  static Chunk* Share(Chunk* chunk) {
    chunk->owners.Add(1);
    return chunk;
  }

  static void CopyTimes(Chunk* to, const Chunk* from) {
    for (uint32_t i = 0; i < kChunkSlots; ++i) to->times[i] = from->times[i];
  }

  void Drop(Chunk* chunk) {
    if (chunk->owners.Sub(1) == 0) arena_->Free(chunk, sizeof(Chunk));
  }

  Chunk* NewChunk() {
    Chunk* chunk = arena_->template New<Chunk>();
    chunk->owners.Add(1);
    return chunk;
  }

  // Makes the chunk behind `place` writable: present, and not shared.
  Chunk* Own(Chunk*& place) {
    if (place == nullptr) {
      place = NewChunk();
      for (Time& time : place->times) time = kNever;
    } else if (place->owners.Load() != 1) {
      Chunk* copy = NewChunk();
      CopyTimes(copy, place);
      Drop(place);
      place = copy;
    }
    return place;
  }

  void AssignChunk(Chunk*& mine, Chunk* theirs) {
    if (mine != nullptr && theirs != nullptr && mine->owners.Load() == 1) {
      CopyTimes(mine, theirs);
    } else {
      if (mine != nullptr) Drop(mine);
      mine = theirs == nullptr ? nullptr : Share(theirs);
    }
  }

  // Looks before it copies: most joins learn nothing new.
  void JoinChunk(Chunk*& mine, Chunk* theirs) {
    if (chunk_count_ > kFewChunks) {
      // What is new of one thread, which is about to have more of it, is noted in place if that can be.
      const bool is_noted = mine->owners.Load() == 1 && CountLater(*theirs, *mine) == 1;
      if (!is_noted && CountLater(*mine, *theirs) == 0) {
        Drop(mine);
        mine = Share(theirs);
        return;
      }
    }
    uint32_t news = 0;
    while (news < kChunkSlots && theirs->times[news] <= mine->times[news]) ++news;
    if (news == kChunkSlots) return;
    Chunk* chunk = Own(mine);
    for (uint32_t i = news; i < kChunkSlots; ++i) {
      if (theirs->times[i] > chunk->times[i]) chunk->times[i] = theirs->times[i];
    }
  }

  // Slots of which `chunk` knows a later time.
  static uint32_t CountLater(const Chunk& chunk, const Chunk& than) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < kChunkSlots; ++i) count += uint32_t{chunk.times[i] > than.times[i]};
    return count;
  }

  void Resize(uint32_t chunks) {
    if (chunks > capacity_) {
      uint32_t capacity = capacity_;
      while (capacity < chunks) capacity *= 2;
      auto** bigger = static_cast<Chunk**>(arena_->Allocate(capacity * sizeof(Chunk*)));
      for (uint32_t i = 0; i < chunk_count_; ++i) bigger[i] = table()[i];
      if (capacity_ > kInlineChunks) arena_->Free(heap_table_, capacity_ * sizeof(Chunk*));
      heap_table_ = bigger;
      capacity_ = capacity;
    }
    for (uint32_t i = chunk_count_; i < chunks; ++i) table()[i] = nullptr;
    chunk_count_ = chunks;
  }

  Arena<Mem>* arena_;
  uint32_t chunk_count_ = 0;
  uint32_t capacity_ = kInlineChunks;
  union {
    Chunk* inline_table_[kInlineChunks] = {};
    Chunk** heap_table_;
  };
};

}  // namespace redflag
