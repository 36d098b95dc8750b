// Variables that tolerant mutexes guard. In a section of the mutex, whatever is read and written is the section's own copy; anywhere else it is
// the variable itself, in relaxed accesses of whole words, whose behaviour is defined whoever else is there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "redflag/tolerate/guard.hpp"
#include "redflag/tolerate/outside.hpp"

namespace redflag {

// A policy: the function gets the value that the section began with, what the section made of it and what others made of it, and says what it shall be.
// It is called again if that changes meanwhile.
template <class Function>
struct merge {
  Function function;
  explicit merge(Function with) : function(std::move(with)) {}
};

template <class T, class Memory>
class locked;

namespace tolerate {

template <class T>
struct value_of {
  using type = T;
};
template <class T, size_t kCount>
struct value_of<T[kCount]> {
  using type = std::array<T, kCount>;
};

constexpr size_t unit_of_size(size_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? bytes : 8; }
constexpr size_t rounded_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// ---- What reads and writes as if it were a T ----

template <class Self, class T>
class like_value {
 public:
  operator T() const { return self().read(); }  // NOLINT: it stands for a T
  const Self& assign(const T& value) const {
    self().write(value);
    return self();
  }

  // As `x = x + 1` is: a read and a write. From outside, others may come in between.
  template <class U>
  friend const Self& operator+=(const like_value& to, const U& by) {
    return to.assign(static_cast<T>(to.self().read() + by));
  }
  template <class U>
  friend const Self& operator-=(const like_value& to, const U& by) {
    return to.assign(static_cast<T>(to.self().read() - by));
  }
  template <class U>
  friend const Self& operator*=(const like_value& to, const U& by) {
    return to.assign(static_cast<T>(to.self().read() * by));
  }
  template <class U>
  friend const Self& operator|=(const like_value& to, const U& by) {
    return to.assign(static_cast<T>(to.self().read() | by));
  }
  template <class U>
  friend const Self& operator&=(const like_value& to, const U& by) {
    return to.assign(static_cast<T>(to.self().read() & by));
  }
  template <class U>
  friend const Self& operator^=(const like_value& to, const U& by) {
    return to.assign(static_cast<T>(to.self().read() ^ by));
  }
  friend const Self& operator++(const like_value& to) { return to += 1; }
  friend const Self& operator--(const like_value& to) { return to -= 1; }
  friend T operator++(const like_value& to, int) {
    const T before = to.self().read();
    to.assign(static_cast<T>(before + 1));
    return before;
  }
  friend T operator--(const like_value& to, int) {
    const T before = to.self().read();
    to.assign(static_cast<T>(before - 1));
    return before;
  }
  T operator->() const
    requires std::is_pointer_v<T>
  {
    return self().read();
  }
  auto& operator*() const
    requires std::is_pointer_v<T> && (!std::is_void_v<std::remove_pointer_t<T>>)
  {
    return *self().read();
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

template <class Variable, class U>
class part : public like_value<part<Variable, U>, U> {
 public:
  part(const Variable& of, size_t offset) : of_(of), offset_(offset) {}
  U read() const {
    alignas(U) unsigned char bytes[sizeof(U)];
    of_.read_bytes(offset_, sizeof(U), bytes);
    return *std::launder(reinterpret_cast<const U*>(bytes));
  }
  void write(const U& value) const { of_.write_bytes(offset_, sizeof(U), &value); }
  const part& operator=(const U& value) const { return this->assign(value); }            // NOLINT: it stands for a U
  const part& operator=(const part& other) const { return this->assign(other.read()); }  // NOLINT
  part(const part&) = default;

 private:
  const Variable& of_;
  size_t offset_;
};

// ---- All kinds of variables ----

template <class Self, class T, class Memory, class Cell>
class variable : public like_value<Self, typename value_of<T>::type> {
 public:
  using value_type = typename value_of<T>::type;
  using guard_type = basic_guard<Memory>;

  static_assert(std::is_trivially_copyable_v<value_type>,
                "tolerated<T>: T has to be trivially copyable, because sections work on copies of its bytes");
  static_assert(std::is_object_v<value_type> && !std::is_const_v<value_type> && !std::is_volatile_v<value_type>,
                "tolerated<T>: T has to be a type of objects that can be written, not const and not volatile");

  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

  value_type read() const {
    alignas(value_type) unsigned char bytes[sizeof(value_type)];
    read_bytes(0, sizeof(value_type), bytes);
    return *std::launder(reinterpret_cast<const value_type*>(bytes));
  }
  void write(const value_type& value) const { write_bytes(0, sizeof(value_type), &value); }

  // A member of a struct: v.at(&S::x) = 1.
  template <class U, class S>
    requires std::is_base_of_v<S, value_type>
  part<variable, U> at(U S::* member) const {
    alignas(value_type) static const unsigned char shape[sizeof(value_type)] = {};
    const auto* const object = reinterpret_cast<const value_type*>(shape);
    const auto* const place = reinterpret_cast<const unsigned char*>(&(object->*member));
    return {*this, static_cast<size_t>(place - shape)};
  }
  // An element of an array: v[i] = 1.
  auto operator[](size_t index) const
    requires std::is_array_v<T>
  {
    using U = std::remove_all_extents_t<T>;
    static_assert(std::is_same_v<std::remove_extent_t<T>, U>, "tolerated<T>: arrays have one dimension");
    if (index >= std::extent_v<T>) fail(*guard_, "an element behind the end of an array");
    return part<variable, U>(*this, index * sizeof(U));
  }

 protected:
  variable(guard_type& guard, void* global, void* copies, uint32_t units, uint8_t unit_bytes, on_conflict policy)
      : guard_(&guard), cell_(global, copies, units, unit_bytes, policy, nullptr) {
    if (policy == on_conflict::merge) fail(guard, "the policy merge needs a function: redflag::merge(function)");
  }
  template <class Function>
  variable(guard_type& guard, void* global, void* copies, uint32_t units, uint8_t unit_bytes, merge<Function>&& policy)
      : guard_(&guard),
        cell_(global, copies, units, unit_bytes, on_conflict::merge, new merges<Function>(std::move(policy.function))) {
  }
  ~variable() {
    if (cell_.merging != nullptr) [[unlikely]]
      delete cell_.merging;
  }

 private:
  template <class, class>
  friend class part;

  template <class Function>
  class merges final : public merger {
   public:
    explicit merges(Function function) : function_(std::move(function)) {}
    void merge(const void* original, const void* local, const void* global, void* result) const override {
      alignas(value_type) unsigned char theirs[sizeof(value_type)];
      std::memcpy(theirs, global, sizeof theirs);
      const value_type merged =
          function_(*static_cast<const value_type*>(original), *static_cast<const value_type*>(local),
                    *std::launder(reinterpret_cast<const value_type*>(theirs)));
      std::memcpy(result, &merged, sizeof merged);
    }

   private:
    mutable Function function_;
  };

  const void* copy_to_read() const { return static_cast<const Self*>(this)->find_copy_to_read(); }
  void* copy_to_write() const { return static_cast<const Self*>(this)->find_copy_to_write(); }

 protected:
  void read_bytes(size_t offset, size_t bytes, void* into) const {
    if (const void* copy = copy_to_read()) [[likely]] {
      std::memcpy(into, static_cast<const unsigned char*>(copy) + offset, bytes);
      return;
    }
    guard_->count_outside(false);
    outside<Memory>::read(cell_, offset, bytes, into);
  }
  void write_bytes(size_t offset, size_t bytes, const void* from) const {
    if (void* copy = copy_to_write()) [[likely]] {
      std::memcpy(static_cast<unsigned char*>(copy) + offset, from, bytes);
      return;
    }
    guard_->count_outside(true);
    outside<Memory>::write(cell_, offset, bytes, from);
    // In a shared section it is one from outside, and the thread's own: it shall see it.
    if (const void* shared = copy_to_read())
      std::memcpy(static_cast<unsigned char*>(const_cast<void*>(shared)) + offset, from, bytes);
  }

  guard_type* guard_;
  mutable Cell cell_;
};

// One that exists as long as the program wants: the guard knows it, and copies it whenever a section begins.
template <class Self, class T, class Memory>
class standing : public variable<Self, T, Memory, standing_cell> {
  using base = variable<Self, T, Memory, standing_cell>;

 public:
  // Takes the mutex for as long as the result lives; it reads and writes the section's copy.
  locked<typename base::value_type, Memory> lock() { return {*this->guard_, this->cell_, false}; }
  // The same for reading, of a shared mutex.
  locked<const typename base::value_type, Memory> lock_shared() { return {*this->guard_, this->cell_, true}; }

 protected:
  using base::base;

 private:
  template <class, class, class, class>
  friend class variable;
  const void* find_copy_to_read() const { return this->guard_->readable_copy_of(this->cell_); }
  void* find_copy_to_write() const { return this->guard_->copy_of(this->cell_); }
};

}  // namespace tolerate

// A section on one variable: what v.lock() gives.
template <class T, class Memory>
class locked {
 public:
  locked(tolerate::basic_guard<Memory>& guard, const tolerate::standing_cell& cell, bool is_shared)
      : guard_(&guard), is_shared_(is_shared) {
    if (is_shared_) {
      guard_->lock_section_shared();
    } else {
      guard_->lock_section();
    }
    const void* const copy = guard_->readable_copy_of(cell);
    value_ = static_cast<T*>(const_cast<void*>(copy != nullptr ? copy : cell.global));
  }
  locked(locked&& other) noexcept
      : guard_(std::exchange(other.guard_, nullptr)), value_(other.value_), is_shared_(other.is_shared_) {}
  locked& operator=(locked&&) = delete;
  // The epilog may throw (on_conflict::throw_error), unless another exception is on its way.
  ~locked() noexcept(false) {
    if (guard_ != nullptr) unlock();
  }
  void unlock() {
    tolerate::basic_guard<Memory>* const guard = std::exchange(guard_, nullptr);
    if (is_shared_) {
      guard->unlock_section_shared();
    } else {
      guard->unlock_section();
    }
  }

  // The section's copy; of a section that is not tolerated, the variable itself.
  T* get() const { return value_; }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }

 private:
  tolerate::basic_guard<Memory>* guard_;
  T* value_;
  bool is_shared_;
};

// A variable of its own.
template <class T, class Memory = tolerate::hardware>
class tolerated : public tolerate::standing<tolerated<T, Memory>, T, Memory> {
  using base = tolerate::standing<tolerated<T, Memory>, T, Memory>;

 public:
  using value_type = typename base::value_type;

  explicit tolerated(tolerate::basic_guard<Memory>& guard, const value_type& initial = {},
                     on_conflict policy = on_conflict::report)
      : base(guard, global_, copies_, kUnits, kUnit, policy) {
    begin(initial);
  }
  template <class Function>
  tolerated(tolerate::basic_guard<Memory>& guard, const value_type& initial, merge<Function> policy)
      : base(guard, global_, copies_, kUnits, kUnit, std::move(policy)) {
    begin(initial);
  }
  ~tolerated() { this->guard_->remove(this->cell_); }
  tolerated(const tolerated&) = delete;

  const tolerated& operator=(const value_type& value) const {
    return this->assign(value);
  }  // NOLINT: it stands for a T
  const tolerated& operator=(const tolerated& other) const { return this->assign(other.read()); }  // NOLINT

 private:
  static constexpr size_t kUnit = tolerate::unit_of_size(sizeof(value_type));
  static constexpr size_t kBytes = tolerate::rounded_up(sizeof(value_type), kUnit);
  static constexpr size_t kUnits = kBytes / kUnit;
  static constexpr size_t kAlign = std::max(kUnit, alignof(value_type));

  void begin(const value_type& initial) {
    std::memcpy(global_, &initial, sizeof initial);
    this->guard_->add(this->cell_);
  }

  alignas(kAlign) unsigned char global_[kBytes] = {};
  alignas(kAlign) unsigned char copies_[2 * kBytes] = {};
};

namespace tolerate {

// The copies of an object that is there already, whose words are as large as its alignment allows.
template <class T>
struct copies {
  static constexpr uint8_t kUnit = std::min<size_t>(alignof(T), 8);
  static constexpr uint32_t kUnits = sizeof(T) / kUnit;
  static_assert(sizeof(T) % kUnit == 0);

  alignas(T) unsigned char bytes[2 * sizeof(T)];
};

}  // namespace tolerate

// A variable that is there already, and that code which knows nothing of this accesses: `tolerated<Script*&> script(m, gScript)`.
template <class T, class Memory>
class tolerated<T&, Memory> : public tolerate::standing<tolerated<T&, Memory>, T, Memory> {
  using base = tolerate::standing<tolerated<T&, Memory>, T, Memory>;

 public:
  using value_type = typename base::value_type;

  tolerated(tolerate::basic_guard<Memory>& guard, T& target, on_conflict policy = on_conflict::report)
      : base(guard, &target, copies_.bytes, copies::kUnits, copies::kUnit, policy) {
    this->guard_->add(this->cell_);
  }
  template <class Function>
  tolerated(tolerate::basic_guard<Memory>& guard, T& target, merge<Function> policy)
      : base(guard, &target, copies_.bytes, copies::kUnits, copies::kUnit, std::move(policy)) {
    this->guard_->add(this->cell_);
  }
  ~tolerated() { this->guard_->remove(this->cell_); }
  tolerated(const tolerated&) = delete;

  const tolerated& operator=(const value_type& value) const {
    return this->assign(value);
  }  // NOLINT: it stands for a T
  const tolerated& operator=(const tolerated& other) const { return this->assign(other.read()); }  // NOLINT

 private:
  using copies = tolerate::copies<value_type>;
  copies copies_;
};

// The target of a pointer, while a section lasts: `tolerated_target<Node> node(m, *head)` behind taking m. Copied here, settled where it is destroyed or the
// section ends, whichever comes first; if the section begins again (a condition was waited for), copied again at the next access. For one thread.
template <class T, class Memory = tolerate::hardware>
class tolerated_target : public tolerate::variable<tolerated_target<T, Memory>, T, Memory, tolerate::passing_cell> {
  using base = tolerate::variable<tolerated_target<T, Memory>, T, Memory, tolerate::passing_cell>;

 public:
  using value_type = typename base::value_type;

  tolerated_target(tolerate::basic_guard<Memory>& guard, T& target, on_conflict policy = on_conflict::report)
      : base(guard, &target, copies_.bytes, copies::kUnits, copies::kUnit, policy) {
    if (policy == on_conflict::throw_error) exceptions_ = std::uncaught_exceptions();
    attach();
  }
  template <class Function>
  tolerated_target(tolerate::basic_guard<Memory>& guard, T& target, merge<Function> policy)
      : base(guard, &target, copies_.bytes, copies::kUnits, copies::kUnit, std::move(policy)) {
    attach();
  }
  ~tolerated_target() noexcept(false) {
    if (!this->cell_.is_attached) return;
    if constexpr (kIsWord) {
      if (this->guard_->template detaches_word<unit>(this->cell_, copies_.bytes)) [[likely]]
        return;
    }
    detach();
  }
  tolerated_target(const tolerated_target&) = delete;

  const tolerated_target& operator=(const value_type& value) const {
    return this->assign(value);
  }  // NOLINT: it stands for a T
  const tolerated_target& operator=(const tolerated_target& other) const {
    return this->assign(other.read());
  }  // NOLINT

  // The section's copy; of a section that is not tolerated, the target itself.
  value_type* get() const { return static_cast<value_type*>(attached() ? this->cell_.local() : this->cell_.global); }

 private:
  template <class, class, class, class>
  friend class tolerate::variable;

  using copies = tolerate::copies<value_type>;
  static constexpr bool kIsWord = copies::kUnits == 1;
  using unit = typename tolerate::unit_of_bytes<copies::kUnit>::type;

  bool attach() const {
    if constexpr (kIsWord)
      return this->guard_->template attach_word<unit>(this->cell_, this->cell_.global, copies_.bytes);
    return this->guard_->attach(this->cell_);
  }
  [[gnu::noinline]] void detach() {
    const bool may_throw = this->cell_.policy == on_conflict::throw_error && std::uncaught_exceptions() <= exceptions_;
    this->guard_->detach(this->cell_, may_throw);
  }
  bool attached() const { return this->cell_.is_attached || attach(); }
  const void* find_copy_to_read() const { return find_copy_to_write(); }
  void* find_copy_to_write() const {
    return attached() ? static_cast<unsigned char*>(this->cell_.copies) + sizeof(value_type) : nullptr;
  }

  mutable copies copies_;
  int exceptions_;  // in flight when it was made; of the policy throw_error only
};

}  // namespace redflag
