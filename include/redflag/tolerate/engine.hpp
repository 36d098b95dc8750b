// The prolog and the epilog of a section, on words of memory.
//
// A cell is one variable: its words in memory that others may access (global), what they held when the section began (original) and the section's
// own copy (local). Original and local are touched by the thread in the section only, under the lock. Global is touched by loads, stores and
// compare-exchanges of whole words (units of 1, 2, 4 or 8 bytes), through `Memory`: the hardware's, or that of a test which runs these very functions
// under every interleaving (tests/tolerate/steps.h).
//
// The table is that of tolerate/epilog.h. Words of a section that are dirty are published in this order:
//   1. if there are several, all are checked first: a conflict that is seen now is settled before anything is published, and with the policies
//      abort and throw_error nothing of the section is
//   2. each is published by compare-exchange, in the order of cells and addresses. If one fails midway, the policy of its variable settles it:
//      report and local_wins publish the rest; other_wins, throw_error and abort take back what was published of this variable (unless
//      somebody has changed it since); merge counts what was published as no change any more
// Somebody outside who reads several words may see some of them published and others not yet: that is so without ToleRace as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "redflag/tolerate/epilog.h"
#include "redflag/tolerate/section.hpp"

namespace redflag::tolerate {

// Words of memory whose type is the program's.
struct unit1 {
  using word [[gnu::may_alias]] = uint8_t;
  using value = uint8_t;
};
struct unit2 {
  using word [[gnu::may_alias]] = uint16_t;
  using value = uint16_t;
};
struct unit4 {
  using word [[gnu::may_alias]] = uint32_t;
  using value = uint32_t;
};
struct unit8 {
  using word [[gnu::may_alias]] = uint64_t;
  using value = uint64_t;
};

// The one that a whole value of so many bytes is.
template <size_t kBytes>
struct unit_of_bytes;
template <>
struct unit_of_bytes<1> {
  using type = unit1;
};
template <>
struct unit_of_bytes<2> {
  using type = unit2;
};
template <>
struct unit_of_bytes<4> {
  using type = unit4;
};
template <>
struct unit_of_bytes<8> {
  using type = unit8;
};

struct hardware {
  // Sections: a load is not made before an earlier one, and what the section wrote elsewhere is there when its words are.
  template <class Unit>
  static uint64_t load(const void* at) {
    return __atomic_load_n(static_cast<const typename Unit::word*>(at), __ATOMIC_ACQUIRE);
  }
  template <class Unit>
  static bool replace(void* at, uint64_t& expected, uint64_t desired) {
    auto seen = static_cast<typename Unit::value>(expected);
    const bool done = __atomic_compare_exchange_n(static_cast<typename Unit::word*>(at), &seen,
                                                  static_cast<typename Unit::value>(desired), false, __ATOMIC_ACQ_REL,
                                                  __ATOMIC_ACQUIRE);
    expected = seen;
    return done;
  }
  template <class Unit>
  static void store(void* at, uint64_t value) {
    __atomic_store_n(static_cast<typename Unit::word*>(at), static_cast<typename Unit::value>(value), __ATOMIC_RELEASE);
  }
  // From outside of sections.
  template <class Unit>
  static uint64_t outside_load(const void* at) {
    return __atomic_load_n(static_cast<const typename Unit::word*>(at), __ATOMIC_RELAXED);
  }
  template <class Unit>
  static void outside_store(void* at, uint64_t value) {
    __atomic_store_n(static_cast<typename Unit::word*>(at), static_cast<typename Unit::value>(value), __ATOMIC_RELAXED);
  }
  template <class Unit>
  static bool outside_replace(void* at, uint64_t& expected, uint64_t desired) {
    auto seen = static_cast<typename Unit::value>(expected);
    const bool done = __atomic_compare_exchange_n(static_cast<typename Unit::word*>(at), &seen,
                                                  static_cast<typename Unit::value>(desired), true, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED);
    expected = seen;
    return done;
  }
};

// Copies, which no other thread touches.
template <class Unit>
uint64_t value_at(const void* words, size_t index) {
  typename Unit::value value;
  std::memcpy(&value, static_cast<const unsigned char*>(words) + index * sizeof value, sizeof value);
  return value;
}
template <class Unit>
void put_value(void* words, size_t index, uint64_t wide) {
  const auto value = static_cast<typename Unit::value>(wide);
  std::memcpy(static_cast<unsigned char*>(words) + index * sizeof value, &value, sizeof value);
}

// Settles a conflict: original, local and global are given, the result is written.
class merger {
 public:
  virtual ~merger() = default;
  virtual void merge(const void* original, const void* local, const void* global, void* result) const = 0;
};

struct cell {
  cell(void* where, void* both_copies, uint32_t count, uint8_t bytes_of_unit, on_conflict with, const merger* by)
      : global(where), copies(both_copies), merging(by), units(count), unit_bytes(bytes_of_unit), policy(with) {}

  void* original() const { return copies; }
  void* local() const { return static_cast<unsigned char*>(copies) + bytes(); }
  size_t bytes() const { return size_t{units} * unit_bytes; }

  void* global;
  void* copies;  // the original, and the local one behind it
  cell* next = nullptr;
  const merger* merging;  // null unless the policy is merge
  uint32_t units;
  uint8_t unit_bytes;
  on_conflict policy;
  bool in_conflict = false;  // found in the epilog, and not settled yet
  bool is_attached = false;  // of one that exists while a section does
  uint32_t unit_met = 0;     // of a conflict that was met outside of epilog(): where, and with what
  uint64_t value_met;
};

// What the epilog has to say to the section it ends.
struct ending {
  ending(const section& of, tallies& counted, bool testing, bool throwing)
      : where(of), counts(counted), is_testing(testing), may_throw(throwing) {}

  const section& where;
  tallies& counts;
  bool is_testing;
  bool may_throw;
  bool is_refused = false;  // data_race_error is to be thrown when the lock is given up
  detection refused;        // if it is
};

// Loops over words, of which there are a few.
#if defined(__clang__)
#define REDFLAG_TOLERATE_UNROLLED _Pragma("clang loop unroll_count(4)")
#else
#define REDFLAG_TOLERATE_UNROLLED _Pragma("GCC unroll 4")
#endif

template <class Memory>
class engine {
 public:
  static constexpr int kMostCollects = 64;

  // Copies the words of the cells [first, end) to where `into` says, as they were at one moment: twice the same. "no": they kept changing.
  template <class Into>
  static bool snapshot(cell* first, const cell* end, const Into& into) {
    size_t words = 0;
    for (cell* at = first; at != end; at = at->next) {
      collect(*at, into(*at));
      words += at->units;
    }
    return words <= 1 || again(first, end, into);
  }
  template <class Into>
  static bool again(cell* first, const cell* end, const Into& into) {
    for (int i = 0; i < kMostCollects; ++i) {
      bool is_same = true;
      for (cell* at = first; at != end; at = at->next) is_same &= !collect(*at, into(*at));
      if (is_same) return true;
    }
    return false;
  }

  // The beginning of a section, or of a variable in it; most have one word.
  [[gnu::always_inline]] static bool prolog(cell* first, const cell* end) {
    if (first->units == 1 && first->next == end) {
      if (first->unit_bytes == 8) return prolog_of_word<unit8>(first->global, first->copies);
      if (first->unit_bytes == 4) return prolog_of_word<unit4>(first->global, first->copies);
    }
    return prolog_of_words(first, end);
  }

  // The epilog of one variable of which at most one word is dirty, in a section that is not in testing. "no": nothing was published; there is more to
  // settle, or a conflict that was met, and epilog() is to be called.
  [[gnu::always_inline]] static bool settles(cell* first, const cell* end, tallies& counts) {
    if (first->next != end) return false;
    if (first->units != 1) return first->unit_bytes == 8 && settles_words(*first, counts);
    if (first->unit_bytes == 8) return settles_word<unit8>(*first, first->copies, counts);
    if (first->unit_bytes == 4) return settles_word<unit4>(*first, first->copies, counts);
    return false;
  }

  template <class Unit>
  [[gnu::always_inline]] static bool prolog_of_word(const void* global, void* copies) {
    const uint64_t value = Memory::template load<Unit>(global);
    put_value<Unit>(copies, 0, value);
    put_value<Unit>(copies, 1, value);
    return true;
  }
  template <class Unit>
  [[gnu::always_inline]] static bool settles_word(cell& at, const void* copies, tallies& counts) {
    const uint64_t original = value_at<Unit>(copies, 0);
    const uint64_t local = value_at<Unit>(copies, 1);
    if (redflag_tolerate_decide(original, local, original) == REDFLAG_TOLERATE_LEAVE) return true;
    uint64_t global = original;
    if (!Memory::template replace<Unit>(at.global, global, local)) [[unlikely]]
      return meet(at, 0, global);
    ++counts.published;
    return true;
  }

  static void epilog(cell* first, const cell* end, ending& to) {
    if (first->in_conflict) return settle_met(*first, to);
    size_t dirty = 0;
    for (cell* at = first; at != end; at = at->next) {
      dirty += count_dirty(*at);
      if (to.is_testing) [[unlikely]]
        look_at_clean(*at, to);
    }
    if (dirty == 0) return;
    if (dirty > 1 && !check(first, end, to)) return;
    for (cell* at = first; at != end; at = at->next) {
      if (at->in_conflict) {
        at->in_conflict = false;
        settle(*at, 0, to);
      } else {
        publish(*at, to);
      }
    }
  }

 private:
  // Both copies at once, and whether the words are still the same; if not, as often as it takes.
  static bool prolog_of_words(cell* first, const cell* end) {
    size_t words = 0;
    for (cell* at = first; at != end; at = at->next) {
      words += at->units;
      each_word(*at, [](auto unit, void* word, void* original, void* local) {
        using Unit = decltype(unit);
        const uint64_t value = Memory::template load<Unit>(word);
        put_value<Unit>(original, 0, value);
        put_value<Unit>(local, 0, value);
      });
    }
    if (words <= 1) return true;
    bool is_same = true;
    for (cell* at = first; at != end; at = at->next) {
      each_word(*at, [&is_same](auto unit, void* word, void* original, void* local) {
        using Unit = decltype(unit);
        const uint64_t value = Memory::template load<Unit>(word);
        if (value == value_at<Unit>(original, 0)) [[likely]]
          return;
        is_same = false;
        put_value<Unit>(original, 0, value);
        put_value<Unit>(local, 0, value);
      });
    }
    return is_same || collect_again(first, end);
  }
  [[gnu::cold]] static bool collect_again(cell* first, const cell* end) {
    const bool is_steady = again(first, end, [](cell& at) { return at.original(); });
    for (cell* at = first; at != end; at = at->next) std::memcpy(at->local(), at->original(), at->bytes());
    return is_steady;
  }

  // The words of a cell, with the places of their copies.
  template <class Visitor>
  [[gnu::always_inline]] static void each_word(const cell& at, const Visitor& visit) {
    with_units(at, [&](auto unit) {
      constexpr size_t kBytes = sizeof(typename decltype(unit)::value);
      auto* const word = static_cast<unsigned char*>(at.global);
      auto* const original = static_cast<unsigned char*>(at.original());
      auto* const local = static_cast<unsigned char*>(at.local());
      const size_t end = at.bytes();
      REDFLAG_TOLERATE_UNROLLED
      for (size_t i = 0; i < end; i += kBytes) visit(unit, word + i, original + i, local + i);
    });
  }

  static bool settles_words(cell& at, tallies& counts) {
    const auto* const original = static_cast<const unsigned char*>(at.original());
    const auto* const local = static_cast<const unsigned char*>(at.local());
    const size_t bytes = at.bytes();
    size_t dirty = 0;
    size_t last = 0;
    REDFLAG_TOLERATE_UNROLLED
    for (size_t i = 0; i < bytes; i += 8) {
      if (value_at<unit8>(original + i, 0) == value_at<unit8>(local + i, 0)) continue;
      ++dirty;
      last = i;
    }
    if (dirty == 0) return true;
    if (dirty > 1) return false;
    uint64_t global = value_at<unit8>(original + last, 0);
    void* const word = static_cast<unsigned char*>(at.global) + last;
    if (!Memory::template replace<unit8>(word, global, value_at<unit8>(local + last, 0)))
      return meet(at, static_cast<uint32_t>(last / 8), global);
    ++counts.published;
    return true;
  }
  [[gnu::cold]] static bool meet(cell& at, uint32_t unit, uint64_t global) {
    at.in_conflict = true;
    at.unit_met = unit;
    at.value_met = global;
    return false;
  }
  [[gnu::cold]] static void settle_met(cell& at, ending& to) {
    at.in_conflict = false;
    with_units(at, [&](auto unit) {
      using Unit = decltype(unit);
      raise(found(at, at.unit_met, value_at<Unit>(at.original(), at.unit_met), value_at<Unit>(at.local(), at.unit_met),
                  at.value_met, to),
            to);
    });
    settle(at, at.unit_met, to);
  }

  template <class Visitor>
  static auto with_units(const cell& at, const Visitor& visit) {
    switch (at.unit_bytes) {
      case 1:
        return visit(unit1{});
      case 2:
        return visit(unit2{});
      case 4:
        return visit(unit4{});
      default:
        return visit(unit8{});
    }
  }
  template <class Unit>
  static void* word_of(const cell& at, size_t index) {
    return static_cast<unsigned char*>(at.global) + index * sizeof(typename Unit::value);
  }

  // Did anything differ from what was there?
  static bool collect(const cell& at, void* into) {
    return with_units(at, [&](auto unit) {
      using Unit = decltype(unit);
      bool is_changed = false;
      for (uint32_t i = 0; i < at.units; ++i) {
        const uint64_t value = Memory::template load<Unit>(word_of<Unit>(at, i));
        is_changed |= value_at<Unit>(into, i) != value;
        put_value<Unit>(into, i, value);
      }
      return is_changed;
    });
  }

  static size_t count_dirty(const cell& at) {
    size_t dirty = 0;
    each_word(at, [&dirty](auto unit, void*, void* original, void* local) {
      using Unit = decltype(unit);
      dirty += value_at<Unit>(local, 0) != value_at<Unit>(original, 0);
    });
    return dirty;
  }

  static detection found(const cell& at, uint32_t unit, uint64_t original, uint64_t local, uint64_t global,
                         const ending& to) {
    const char* const name = to.where.name();
    return {.section = name != nullptr ? name : "",
            .file = to.where.file(),
            .line = to.where.line(),
            .address = static_cast<const char*>(at.global) + size_t{unit} * at.unit_bytes,
            .bytes = at.unit_bytes,
            .original = original,
            .local = local,
            .global = global,
            .policy = at.policy,
            .result = outcome::tolerated};
  }

  // In testing: somebody has changed what the section has not.
  static void look_at_clean(const cell& at, ending& to) {
    with_units(at, [&](auto unit) {
      using Unit = decltype(unit);
      for (uint32_t i = 0; i < at.units; ++i) {
        const uint64_t original = value_at<Unit>(at.original(), i);
        if (value_at<Unit>(at.local(), i) != original) continue;
        const uint64_t global = Memory::template load<Unit>(word_of<Unit>(at, i));
        if (global == original) continue;
        ++to.counts.tolerated;
        tell(found(at, i, original, original, global, to), true);
      }
    });
  }

  // All dirty words, before any is published. "no": nothing may be published.
  static bool check(cell* first, const cell* end, ending& to) {
    bool may_publish = true;
    for (cell* at = first; at != end; at = at->next) {
      with_units(*at, [&](auto unit) {
        using Unit = decltype(unit);
        for (uint32_t i = 0; i < at->units && !at->in_conflict; ++i) {
          const uint64_t original = value_at<Unit>(at->original(), i);
          const uint64_t local = value_at<Unit>(at->local(), i);
          if (local == original) continue;
          const uint64_t global = Memory::template load<Unit>(word_of<Unit>(*at, i));
          if (redflag_tolerate_decide(original, local, global) != REDFLAG_TOLERATE_CONFLICT) continue;
          at->in_conflict = true;
          may_publish &= raise(found(*at, i, original, local, global, to), to);
        }
      });
    }
    if (may_publish) return true;
    for (cell* at = first; at != end; at = at->next) at->in_conflict = false;
    return false;
  }

  static void publish(cell& at, ending& to) {
    with_units(at, [&](auto unit) {
      using Unit = decltype(unit);
      for (uint32_t i = 0; i < at.units; ++i) {
        const uint64_t original = value_at<Unit>(at.original(), i);
        const uint64_t local = value_at<Unit>(at.local(), i);
        if (redflag_tolerate_decide(original, local, original) == REDFLAG_TOLERATE_LEAVE) continue;
        uint64_t global = original;
        if (Memory::template replace<Unit>(word_of<Unit>(at, i), global, local)) [[likely]] {
          ++to.counts.published;
          continue;
        }
        if (redflag_tolerate_decide(original, local, global) == REDFLAG_TOLERATE_CONFLICT) {
          raise(found(at, i, original, local, global, to), to);
          settle(at, i, to);
          return;
        }
      }
    });
  }

  // Counts a conflict and tells of it. "no": its policy lets nothing be published.
  [[gnu::cold]] static bool raise(detection conflict, ending& to) {
    ++to.counts.conflicts;
    switch (conflict.policy) {
      case on_conflict::report:
      case on_conflict::local_wins:
        conflict.result = outcome::published;
        break;
      case on_conflict::other_wins:
        conflict.result = outcome::dropped;
        break;
      case on_conflict::merge:
        conflict.result = outcome::merged;
        break;
      case on_conflict::abort:
        conflict.result = outcome::fatal;
        tell(conflict, to.is_testing);
        std::abort();
      case on_conflict::throw_error:
        conflict.result = to.may_throw ? outcome::refused : outcome::published;
        if (to.may_throw && !to.is_refused) {
          to.is_refused = true;
          to.refused = conflict;
        }
        break;
    }
    tell(conflict, to.is_testing);
    return conflict.result != outcome::refused;
  }

  // A variable in conflict, of which the dirty words before `failed` were published.
  [[gnu::cold]] static void settle(cell& at, uint32_t failed, ending& to) {
    with_units(at, [&](auto unit) {
      using Unit = decltype(unit);
      switch (at.policy) {
        case on_conflict::report:
        case on_conflict::local_wins:
          return overwrite<Unit>(at, failed);
        case on_conflict::throw_error:
          if (!to.may_throw) return overwrite<Unit>(at, failed);
          return take_back<Unit>(at, failed);
        case on_conflict::other_wins:
        case on_conflict::abort:
          return take_back<Unit>(at, failed);
        case on_conflict::merge:
          for (uint32_t i = 0; i < failed; ++i) put_value<Unit>(at.original(), i, value_at<Unit>(at.local(), i));
          return merge<Unit>(at);
      }
    });
  }

  template <class Unit>
  static void overwrite(const cell& at, uint32_t from) {
    for (uint32_t i = from; i < at.units; ++i) {
      if (value_at<Unit>(at.local(), i) != value_at<Unit>(at.original(), i))
        Memory::template store<Unit>(word_of<Unit>(at, i), value_at<Unit>(at.local(), i));
    }
  }

  template <class Unit>
  static void take_back(const cell& at, uint32_t end) {
    for (uint32_t i = 0; i < end; ++i) {
      uint64_t published = value_at<Unit>(at.local(), i);
      if (published != value_at<Unit>(at.original(), i))
        Memory::template replace<Unit>(word_of<Unit>(at, i), published, value_at<Unit>(at.original(), i));
    }
  }

  // A word that was published with the section's change in it is no change any more: original takes the value of local. Each round that has to be
  // made again is one in which somebody else has changed a word.
  template <class Unit>
  static void merge(cell& at) {
    const size_t room = (at.bytes() + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
    const std::unique_ptr<std::max_align_t[]> buffers(new std::max_align_t[2 * room]());
    void* const theirs = buffers.get();
    void* const result = buffers.get() + room;
    for (bool is_done = false; !is_done;) {
      snapshot(&at, at.next, [&](cell&) { return theirs; });
      std::memcpy(result, theirs, at.bytes());  // what is behind the value
      at.merging->merge(at.original(), at.local(), theirs, result);
      is_done = true;
      for (uint32_t i = 0; i < at.units && is_done; ++i) {
        uint64_t global = value_at<Unit>(theirs, i);
        const uint64_t merged = value_at<Unit>(result, i);
        is_done = merged == global || Memory::template replace<Unit>(word_of<Unit>(at, i), global, merged);
        if (is_done) put_value<Unit>(at.original(), i, value_at<Unit>(at.local(), i));
      }
    }
  }
};

#undef REDFLAG_TOLERATE_UNROLLED

}  // namespace redflag::tolerate
