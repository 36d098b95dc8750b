// A guard is what all tolerant mutexes are below their locking: which thread is in the section, and which variables are copied when it begins and
// settled when it ends. Locking itself is the business of tolerate/mutex.hpp, which calls enter() behind taking the lock and leave() before giving
// it up.
//
// The lists of variables, the depth and the counters are the business of whoever holds the lock. owner_ is read by everybody: it is equal to me() only
// in the thread that has set it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "redflag/race_error.hpp"
#include "redflag/tolerate/engine.hpp"
#include "redflag/tolerate/section.hpp"

namespace redflag::tolerate {

template <class Memory>
class basic_guard;

// A variable that exists as long as the program wants: its words are copied and settled together with those of all others.
struct standing_cell : cell {
  using cell::cell;
  size_t offset = 0;  // in the copies of a shared section
};
// One that exists while a section does (tolerated_target): its words are copied and settled on their own.
struct passing_cell : cell {
  using cell::cell;
  passing_cell* below = nullptr;
};

template <class Memory>
class basic_guard : public section {
 public:
  using memory = Memory;

  constexpr basic_guard(const char* name, const char* file, int line, bool is_shared) noexcept
      : section(name, file, line, is_shared) {}
  // Is this thread in the section, and is the section tolerated?
  bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == me(); }

  // ---- For variables ----

  // Taken and given up as the program does it, whatever kind of mutex it is; for tolerated::lock().
  virtual void lock_section() = 0;
  virtual void unlock_section() = 0;
  virtual void lock_section_shared() { fail(*this, "lock_shared() of a variable whose mutex has no shared lock"); }
  virtual void unlock_section_shared() {}

  void add(standing_cell& variable) {
    if (is_mine())
      fail(*this, "a variable is made in a section of its own mutex: make it before, or use tolerated_target");
    if (is_shared_ && find_reader(this) != nullptr)
      fail(*this, "a variable is made in a shared section of its own mutex");
    lock_native();
    variable.offset = copies_bytes_;
    copies_bytes_ += (variable.bytes() + 7) & ~size_t{7};
    variable.next = nullptr;
    cell** last = &cells_;
    while (*last != nullptr) last = &(*last)->next;
    *last = &variable;
    throws_ |= variable.policy == on_conflict::throw_error;
    unlock_native();
  }
  void remove(cell& variable) {
    if (is_mine()) fail(*this, "a variable is destroyed in a section of its own mutex");
    lock_native();
    cell** at = &cells_;
    while (*at != &variable) at = &(*at)->next;
    *at = variable.next;
    unlock_native();
  }

  // The copy that this thread works on; null: it is not in the section, or the section is not tolerated. To write to it, the section has to be its alone.
  void* copy_of(const standing_cell& variable) const noexcept {
    if (is_mine()) return variable.local();
    return nullptr;
  }
  const void* readable_copy_of(const standing_cell& variable) const noexcept {
    if (is_mine()) return variable.local();
    if (is_shared_) {
      if (const reader* mine = find_reader(this)) return mine->copies + variable.offset;
    }
    return nullptr;
  }
  void count_outside(bool writes) noexcept {
    if (is_testing()) [[unlikely]]
      (writes ? outside_writes_ : outside_reads_).fetch_add(1, std::memory_order_relaxed);
  }

  // Begins a variable inside of a section, and ends it. "no": the section is not tolerated, or not this thread's.
  bool attach(passing_cell& variable) {
    return attach(variable, [&] { engine<Memory>::prolog(&variable, variable.next); });
  }
  // One that is a single word.
  template <class Unit>
  [[gnu::always_inline]] bool attach_word(passing_cell& variable, const void* global, void* copies) {
    return attach(variable, [&] { engine<Memory>::template prolog_of_word<Unit>(global, copies); });
  }
  template <class Prolog>
  [[gnu::always_inline]] bool attach(passing_cell& variable, const Prolog& prolog) {
    if (!is_mine()) [[unlikely]]
      return false;
    if (variable.policy == on_conflict::throw_error) throws_ = true;
    prolog();
    variable.is_attached = true;
    variable.below = passing_;
    passing_ = &variable;
    return true;
  }
  // Ends the latest variable, if there is nothing but one word to publish. "no": it is still there, and to be detached.
  template <class Unit>
  [[gnu::always_inline]] bool detaches_word(passing_cell& variable, const void* copies) {
    if (passing_ != &variable || is_testing()) return false;
    if (!engine<Memory>::template settles_word<Unit>(variable, copies, tallies_)) return false;
    passing_ = variable.below;
    variable.is_attached = false;
    return true;
  }
  // May throw data_race_error: the section goes on.
  void detach(passing_cell& variable, bool may_throw) {
    passing_cell** at = &passing_;
    while (*at != &variable) at = &(*at)->below;
    *at = variable.below;
    variable.is_attached = false;
    ending end(*this, tallies_, is_testing(), may_throw);
    engine<Memory>::epilog(&variable, variable.next, end);
    if (end.is_refused) [[unlikely]]
      throw data_race_error(describe(end.refused));
  }

 protected:
  ~basic_guard() {
    if (owner_.load(std::memory_order_relaxed) != nullptr)
      fail_unless_exiting(*this, "the mutex is destroyed while it is held");
    if (cells_ != nullptr) fail_unless_exiting(*this, "the mutex is destroyed before the variables that it guards");
  }

  virtual void lock_native() = 0;
  virtual void unlock_native() = 0;

  // Behind taking the lock. The thread may have it already only if kNests.
  template <bool kNests>
  void enter() {
    const void* const self = me();
    if (const void* const owner = owner_.load(std::memory_order_relaxed); owner != nullptr) [[unlikely]] {
      if (kNests && owner == self) {
        ++depth_;
        return;
      }
      passing_ = nullptr;  // the owner died with a robust mutex: its copies are forgotten
    }
    if constexpr (kNests) depth_ = 1;
    ++entered_;
    if (throws_) exceptions_ = std::uncaught_exceptions();
    if (cells_ != nullptr && !engine<Memory>::prolog(cells_, nullptr)) [[unlikely]]
      tell_inconsistent(tallies_.inconsistent);
    owner_.store(self, std::memory_order_relaxed);
  }
  bool chooses() noexcept { return !is_known() && choose(); }

  // Before giving it up: ends the section if that is simple, because there is none, or one word to publish and no more. "no": it is to be left.
  template <bool kNests>
  [[gnu::always_inline]] bool leaves_simply() noexcept {
    const void* const owner = owner_.load(std::memory_order_relaxed);
    if (owner == nullptr) return true;
    if (owner != me() || (kNests && depth_ != 1) || passing_ != nullptr || is_testing()) return false;
    if (cells_ != nullptr && !engine<Memory>::settles(cells_, nullptr, tallies_)) return false;
    owner_.store(nullptr, std::memory_order_relaxed);
    return true;
  }
  bool is_entered() const noexcept { return owner_.load(std::memory_order_relaxed) != nullptr; }
  // Whatever is thrown, the section has ended.
  void leave() {
    if (!is_mine()) [[unlikely]]
      fail(*this, "the section is exited by a thread that has not entered it");
    if (depth_ > 1) {
      --depth_;
      return;
    }
    const ending_of_ownership ends(*this);
    if (passing_ == nullptr && cells_ == nullptr) return;
    ending end(*this, tallies_, is_testing(), throws_ && std::uncaught_exceptions() <= exceptions_);
    while (passing_ != nullptr) {  // the latest first, as if they were destroyed
      passing_cell& variable = *passing_;
      passing_ = variable.below;
      variable.is_attached = false;
      engine<Memory>::epilog(&variable, variable.next, end);
    }
    if (cells_ != nullptr) engine<Memory>::epilog(cells_, nullptr, end);
    if (end.is_refused) [[unlikely]]
      throw data_race_error(describe(end.refused));
  }
  uint32_t depth() const noexcept { return depth_; }

  // A shared section has copies of its own, and changes none of them.
  void enter_shared() {
    if (reader* const mine = find_reader(this)) {
      ++mine->depth;
      return;
    }
    reader* const mine = add_reader(this, copies_bytes_);
    const bool is_steady = engine<Memory>::snapshot(
        cells_, nullptr, [&](cell& at) -> void* { return mine->copies + static_cast<standing_cell&>(at).offset; });
    if (!is_steady) [[unlikely]] {
      uint64_t count = 0;
      tell_inconsistent(count);
      inconsistent_reads_.fetch_add(count, std::memory_order_relaxed);
    }
  }
  void leave_shared() {
    if (reader* const mine = find_reader(this); mine != nullptr && --mine->depth == 0) remove_reader(this);
  }

 private:
  struct ending_of_ownership {
    basic_guard& guard;
    explicit ending_of_ownership(basic_guard& of) : guard(of) {}
    ~ending_of_ownership() { guard.owner_.store(nullptr, std::memory_order_relaxed); }
    ending_of_ownership(const ending_of_ownership&) = delete;
    ending_of_ownership& operator=(const ending_of_ownership&) = delete;
  };

  [[gnu::cold]] void tell_inconsistent(uint64_t& count) {
    ++count;
    tell({.section = name() != nullptr ? name() : "",
          .file = file(),
          .line = line(),
          .address = cells_->global,
          .bytes = cells_->unit_bytes,
          .original = 0,
          .local = 0,
          .global = 0,
          .policy = cells_->policy,
          .result = outcome::inconsistent},
         is_testing());
  }

  bool throws_ = false;  // some variable has the policy throw_error
  uint32_t depth_ = 1;   // of sections that nest
  std::atomic<const void*> owner_{nullptr};
  cell* cells_ = nullptr;
  passing_cell* passing_ = nullptr;
};

using guard = basic_guard<hardware>;

}  // namespace redflag::tolerate
