// ToldRaces: which races were told, and how often each was found again. A race goes by two keys, which have to be told apart from others' by
// their hash alone: that of its pair of places in the code, and that of its call stacks and variable. Of one pair of places, kMostStacks
// are told. A set that never forgets; when it is nearly full, everything is old news.
//
// Any thread asks; one at a time, under the lock of whoever owns this, adds.
#pragma once

#include <cstdint>

#include "base/hash_map.h"
#include "base/ids.h"
#include "events/race_record.h"

namespace redflag::rt {

// What a thread has found again lately, so that it need not ask: data that is handed on in ways that a detector does not know can have as many races as bytes. By what the
// detector found, and where: on the heap, of which all is alike, in a block that it was found in before. That one may be another by now, of the heap as well.
class ToldLately {
 public:
  // Of an access in the context `mine` and one before it, of which these bytes raced. `generation`: of the races that were told (ToldRaces).
  static uint64_t KeyOf(ContextId mine, ContextId earlier, ByteMask bytes, uint32_t generation) {
    const uint64_t contexts = uint64_t{Raw(mine)} << 32 | Raw(earlier);
    return HashKey(contexts ^ HashKey(uint64_t{generation} << 8 | Raw(bytes)));
  }
  bool Knows(uint64_t key, Addr granule, uint32_t& place) const {
    const Entry* pair = entries_[key % kPairs];
    const Entry& entry = pair[pair[0].key == key ? 0 : 1];
    place = entry.place;
    return entry.key == key && Raw(granule) - entry.begin < entry.bytes;
  }
  // It is in a block of the heap; of one without bytes nothing is known.
  void Add(uint64_t key, uint64_t begin, uint64_t bytes, uint32_t place) {
    Entry* pair = entries_[key % kPairs];
    const bool is_second = pair[0].key != key && pair[1].key == key;
    if (!is_second && pair[0].key != key) pair[1] = pair[0];
    pair[is_second ? 1 : 0] = {.key = key, .begin = begin, .bytes = bytes, .place = place};
  }

 private:
  static constexpr uint32_t kPairs = 32;  // two that take turns in a loop must not push each other out
  struct Entry {
    uint64_t key;
    uint64_t begin;
    uint64_t bytes;  // 0: nothing
    uint32_t place;
  };
  Entry entries_[kPairs][2] = {};
};

// kKeys: for how many there is room, a power of two.
template <uint32_t kKeys>
class ToldRacesOf {
 public:
  // Was it told? Then `place` is where its repetitions are counted. Without the lock "yes" is certain.
  bool Knows(uint64_t places, uint64_t stacks, uint32_t& place) const {
    return Has(stacks | 1, place) || Has(Nth(places, kMostStacks - 1), place);
  }
  // It is told from now on, under this number. It is not known yet.
  void Add(uint64_t places, uint64_t stacks, uint64_t sequence) {
    uint32_t place;
    uint32_t nth = 0;
    while (Has(Nth(places, nth), place)) ++nth;
    Put(Nth(places, nth), place, sequence);
    if (!Has(stacks | 1, place)) Put(stacks | 1, place, sequence);
  }
  // `whose`: a number of the thread that has found it.
  void CountRepeat(uint32_t place, uint32_t whose) {
    __atomic_fetch_add(&repeats_[whose % kCounters][place], 1, __ATOMIC_RELAXED);
  }

  // The one that was told under this number is one that the user does not want to hear of. Under the lock.
  void MarkSuppressed(uint64_t sequence) {
    for (Told& told : told_) {
      if (told.sequence == sequence) __atomic_store_n(&told.is_suppressed, true, __ATOMIC_RELAXED);
    }
  }
  bool IsSuppressed(uint32_t place) const {
    return place < kKeys && __atomic_load_n(&told_[place].is_suppressed, __ATOMIC_RELAXED);
  }

  uint64_t repeats() const {
    uint64_t sum = 0;
    if (IsEmpty()) return sum;
    for (uint32_t place = 0; place <= kKeys; ++place) sum += RepeatsOf(place);
    return sum;
  }
  // Calls visit(sequence, repeats) for those that were found again.
  template <class Visitor>
  void ForEachRepeated(Visitor visit) const {
    for (uint32_t place = 0; place < kKeys; ++place) {
      const uint32_t repeats = RepeatsOf(place);
      if (repeats != 0 && told_[place].sequence != 0) visit(told_[place].sequence, repeats);
    }
  }

  bool IsEmpty() const { return count_ == 0; }
  // Nobody asks meanwhile.
  void Clear() {
    for (uint64_t& key : keys_) key = 0;
    for (Told& told : told_) told = {};
    for (auto& counters : repeats_) {
      for (uint32_t& counter : counters) counter = 0;
    }
    count_ = 0;
    ++generation_;
  }
  uint32_t generation() const { return generation_; }

 private:
  static constexpr uint32_t kMostStacks = 16;

  struct Told {
    uint32_t sequence;  // as which it was told
    bool is_suppressed;
  };

  uint32_t RepeatsOf(uint32_t place) const {
    uint32_t sum = 0;
    for (const auto& counters : repeats_) sum += __atomic_load_n(&counters[place], __ATOMIC_RELAXED);
    return sum;
  }

  static uint64_t Nth(uint64_t key, uint32_t n) { return HashKey(key + n) | 1; }

  // "no": `place` is where it would be.
  bool Has(uint64_t key, uint32_t& place) const {
    place = kKeys;
    if (__atomic_load_n(&count_, __ATOMIC_ACQUIRE) > kKeys / 4 * 3) return true;
    for (place = HashKey(key) % kKeys;; place = (place + 1) % kKeys) {
      const uint64_t there = __atomic_load_n(&keys_[place], __ATOMIC_ACQUIRE);
      if (there == key || there == 0) return there == key;
    }
  }
  void Put(uint64_t key, uint32_t place, uint64_t sequence) {
    __atomic_store_n(&keys_[place], key, __ATOMIC_RELEASE);
    __atomic_store_n(&count_, count_ + 1, __ATOMIC_RELEASE);
    told_[place].sequence = static_cast<uint32_t>(sequence);
  }

  uint64_t keys_[kKeys] = {};  // a hash set; 0: free
  Told told_[kKeys] = {};      // of each key
  uint32_t count_ = 0;
  uint32_t generation_ = 1;
  // Of each key, and of all that there was no room for; some threads each have their own, since all may find the same over and over.
  static constexpr uint32_t kCounters = 4;
  uint32_t repeats_[kCounters][kKeys + 1] = {};
};

using ToldRaces = ToldRacesOf<1u << 16>;

}  // namespace redflag::rt
