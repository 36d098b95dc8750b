// redflag::checked<T>: a variable whose racy accesses do not happen. Each access is checked before it is made, with any compiler and any flags,
// and throws redflag::data_race_error if it races (or does what the second parameter says; on_race::inherit: what scope, thread and process say).
//
//   struct Connection {
//     redflag::checked<Writer*> writer;       // a field
//     redflag::checked<int[16]> counts;       // an array: each element by itself
//     redflag::checked_pointer<Request> in;   // a pointer to what is checked
//   };
//   connection.writer = nullptr;
//   ++connection.counts[3];
//   connection.in.field(&Request::length) = 0;
//
// Not a means of synchronization: what races is still wrong, but it does not happen. Same size as T, and without Redflag's runtime in the
// process as fast as T but for a comparison.
#ifndef REDFLAG_CHECKED_HPP_
#define REDFLAG_CHECKED_HPP_

#include <redflag/race_error.hpp>
#include <type_traits>

namespace redflag {

namespace detail {

template <class T>
struct checkable {
  static_assert(
      std::is_trivially_copyable<T>::value,
      "redflag::checked<T> reads and writes T as a whole: T has to be trivially copyable (a number, a "
      "pointer, an enumeration, a plain struct). For a class with a copy constructor or destructor of its "
      "own, such as std::string or std::unique_ptr: make its fields checked, keep a checked pointer to it, or "
      "compile the code that uses it with `redflag c++ --throw` and use redflag::race_scope.");
  static_assert(!std::is_const<T>::value && !std::is_volatile<T>::value && !std::is_reference<T>::value,
                "redflag::checked<T>: T without const, volatile and &. What is constant can't race; for a reference, "
                "use redflag::checked_pointer<T>.");
};

}  // namespace detail

// An object somewhere in memory, each access to which is checked.
template <class T, on_race Policy = on_race::throw_error>
class checked_reference : private detail::checkable<T> {
 public:
  explicit checked_reference(T& object) noexcept : object_(&object) {}
  checked_reference(const checked_reference&) = default;

  __attribute__((always_inline)) T load() const {
    check_access(object_, sizeof(T), false, Policy);
    return *object_;
  }
  __attribute__((always_inline)) void store(T value) const {
    check_access(object_, sizeof(T), true, Policy);
    *object_ = value;
  }
  // As one access: what races with a read or a write of it races with this.
  template <class Change>
  __attribute__((always_inline)) T update(Change change) const {
    check_access(object_, sizeof(T), true, Policy);
    return *object_ = change(*object_);
  }

  __attribute__((always_inline)) operator T() const { return load(); }
  __attribute__((always_inline)) T operator=(T value) const {
    store(value);
    return value;
  }
  __attribute__((always_inline)) T operator=(const checked_reference& other) const { return *this = other.load(); }
  // Of a pointer: what it points to, after a checked read of the pointer.
  __attribute__((always_inline)) T operator->() const {
    static_assert(std::is_pointer<T>::value, "-> is for checked pointers: use .field(&T::member) for a struct");
    return load();
  }
  // A member of a struct, checked by itself.
  template <class Member, class Class>
  checked_reference<Member, Policy> field(Member Class::* member) const {
    return checked_reference<Member, Policy>(object_->*member);
  }

#define REDFLAG_UPDATE(op)                                                          \
  template <class Operand>                                                          \
  __attribute__((always_inline)) T operator op##=(Operand operand) const {          \
    return update([operand](T value) { return static_cast<T>(value op operand); }); \
  }
  REDFLAG_UPDATE(+)
  REDFLAG_UPDATE(-)
  REDFLAG_UPDATE(*)
  REDFLAG_UPDATE(/)
  REDFLAG_UPDATE(%)
  REDFLAG_UPDATE(&)
  REDFLAG_UPDATE(|)
  REDFLAG_UPDATE(^)
  REDFLAG_UPDATE(<<)
  REDFLAG_UPDATE(>>)
#undef REDFLAG_UPDATE
  __attribute__((always_inline)) T operator++() const {
    return update([](T value) { return ++value; });
  }
  __attribute__((always_inline)) T operator--() const {
    return update([](T value) { return --value; });
  }
  __attribute__((always_inline)) T operator++(int) const {
    T before{};
    update([&before](T value) {
      before = value;
      return ++value;
    });
    return before;
  }
  __attribute__((always_inline)) T operator--(int) const {
    T before{};
    update([&before](T value) {
      before = value;
      return --value;
    });
    return before;
  }

 private:
  T* object_;
};

template <class T, on_race Policy = on_race::throw_error>
class checked : private detail::checkable<T> {
  using reference = checked_reference<T, Policy>;

 public:
  // No access: nobody else knows of it yet.
  checked() : value_() {}
  checked(T value) : value_(value) {}
  __attribute__((always_inline)) checked(const checked& other) : value_(other.load()) {}

  __attribute__((always_inline)) checked& operator=(const checked& other) {
    ref().store(other.load());
    return *this;
  }
  __attribute__((always_inline)) T operator=(T value) {
    ref().store(value);
    return value;
  }
  __attribute__((always_inline)) operator T() const { return load(); }
  __attribute__((always_inline)) T load() const { return ref().load(); }
  __attribute__((always_inline)) void store(T value) { ref().store(value); }
  __attribute__((always_inline)) T operator->() const { return ref().operator->(); }
  template <class Member, class Class>
  checked_reference<Member, Policy> field(Member Class::* member) {
    return ref().field(member);
  }
  template <class Operand>
  __attribute__((always_inline)) T operator+=(Operand operand) {
    return ref() += operand;
  }
  template <class Operand>
  __attribute__((always_inline)) T operator-=(Operand operand) {
    return ref() -= operand;
  }
  template <class Change>
  __attribute__((always_inline)) T update(Change change) {
    return ref().update(change);
  }
  __attribute__((always_inline)) T operator++() { return ++ref(); }
  __attribute__((always_inline)) T operator--() { return --ref(); }
  __attribute__((always_inline)) T operator++(int) { return ref()++; }
  __attribute__((always_inline)) T operator--(int) { return ref()--; }

  // All that can be done to it.
  __attribute__((always_inline)) reference ref() const { return reference(const_cast<T&>(value_)); }

 private:
  T value_;
};

// Each element by itself.
template <class T, size_t Count, on_race Policy>
class checked<T[Count], Policy> : private detail::checkable<T> {
 public:
  checked_reference<T, Policy> operator[](size_t index) { return checked_reference<T, Policy>(values_[index]); }
  __attribute__((always_inline)) T operator[](size_t index) const {
    check_access(&values_[index], sizeof(T), false, Policy);
    return values_[index];
  }
  static constexpr size_t size() { return Count; }

 private:
  T values_[Count] = {};
};

// A pointer: both it and what it points to are checked.
template <class T, on_race Policy = on_race::throw_error>
class checked_pointer {
 public:
  checked_pointer(T* pointer = nullptr) : pointer_(pointer) {}

  __attribute__((always_inline)) checked_pointer& operator=(T* pointer) {
    pointer_ = pointer;
    return *this;
  }
  __attribute__((always_inline)) T* get() const { return pointer_.load(); }
  __attribute__((always_inline)) explicit operator bool() const { return get() != nullptr; }
  __attribute__((always_inline)) checked_reference<T, Policy> operator*() const {
    return checked_reference<T, Policy>(*get());
  }
  __attribute__((always_inline)) checked_reference<T, Policy> operator[](size_t index) const {
    return checked_reference<T, Policy>(get()[index]);
  }
  template <class Member, class Class>
  __attribute__((always_inline)) checked_reference<Member, Policy> field(Member Class::* member) const {
    return checked_reference<Member, Policy>(get()->*member);
  }

 private:
  checked<T*, Policy> pointer_;
};

}  // namespace redflag

#endif
