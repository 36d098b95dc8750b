// Tolerant mutexes: drop-in replacements of the standard ones, and an adapter for a pthread_mutex_t that is there already. A critical section of theirs is
// a section of ToleRace: prolog behind taking the lock, epilog before giving it up.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <type_traits>

#include "redflag/tolerate/guard.hpp"

namespace redflag {
namespace tolerate {

// An existing mutex, by its address: what std::mutex does with its own.
class pthread_mutex_ref {
 public:
  explicit constexpr pthread_mutex_ref(pthread_mutex_t& mutex) noexcept : mutex_(&mutex) {}
  void lock() { check(pthread_mutex_lock(mutex_), "pthread_mutex_lock"); }
  bool try_lock() {
    const int error = pthread_mutex_trylock(mutex_);
    if (error == EBUSY) return false;
    check(error, "pthread_mutex_trylock");
    return true;
  }
  void unlock() { check(pthread_mutex_unlock(mutex_), "pthread_mutex_unlock"); }
  pthread_mutex_t* native_handle() noexcept { return mutex_; }

 private:
  static void check(int error, const char* what) {
    if (error != 0 && error != EOWNERDEAD) throw std::system_error(error, std::generic_category(), what);
  }
  pthread_mutex_t* mutex_;
};

template <class Native>
concept shared_lockable = requires(Native& mutex) { mutex.lock_shared(); };

// Can a thread that has the lock take it again? Of a pthread_mutex_t that is not known, nor of other people's kinds.
template <class Native>
inline constexpr bool may_nest = true;
template <>
inline constexpr bool may_nest<std::mutex> = false;
template <>
inline constexpr bool may_nest<std::timed_mutex> = false;
template <>
inline constexpr bool may_nest<std::shared_mutex> = false;
template <>
inline constexpr bool may_nest<std::shared_timed_mutex> = false;

}  // namespace tolerate

// Aligned so that the lock and what every section looks at are in one cache line.
template <class Native, class Memory = tolerate::hardware>
class alignas(64) basic_tolerant_mutex final : public tolerate::basic_guard<Memory> {
  using base = tolerate::basic_guard<Memory>;
  static constexpr bool kIsShared = tolerate::shared_lockable<Native>;
  static constexpr bool kNests = tolerate::may_nest<Native>;

 public:
  // The name is how users choose the section; it has to live as long as the mutex. Without one, the place where the mutex is made is its name.
  constexpr explicit basic_tolerant_mutex(const char* name = nullptr, const char* file = __builtin_FILE(),
                                          int line = __builtin_LINE()) noexcept
    requires std::is_default_constructible_v<Native>
      : base(name, file, line, kIsShared) {}
  constexpr explicit basic_tolerant_mutex(pthread_mutex_t& mutex, const char* name = nullptr,
                                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept
    requires std::is_constructible_v<Native, pthread_mutex_t&>
      : base(name, file, line, kIsShared), native_(mutex) {}

  void lock() {
    native_.lock();
    entered();
  }
  bool try_lock() {
    if (!native_.try_lock()) return false;
    entered();
    return true;
  }
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& time)
    requires requires(Native& mutex) { mutex.try_lock_for(time); }
  {
    if (!native_.try_lock_for(time)) return false;
    entered();
    return true;
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time)
    requires requires(Native& mutex) { mutex.try_lock_until(time); }
  {
    if (!native_.try_lock_until(time)) return false;
    entered();
    return true;
  }
  // Throws data_race_error if a variable with the policy throw_error is in conflict, and what a function of merge throws: the mutex is not held then.
  void unlock() {
    if (this->template leaves_simply<kNests>()) [[likely]] {
      native_.unlock();
    } else {
      unlock_slowly();
    }
  }

  // ---- Shared ----
  void lock_shared()
    requires kIsShared
  {
    native_.lock_shared();
    entered_shared();
  }
  bool try_lock_shared()
    requires kIsShared
  {
    if (!native_.try_lock_shared()) return false;
    entered_shared();
    return true;
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time)
    requires requires(Native& mutex) { mutex.try_lock_shared_for(time); }
  {
    if (!native_.try_lock_shared_for(time)) return false;
    entered_shared();
    return true;
  }
  template <class Clock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& time)
    requires requires(Native& mutex) { mutex.try_lock_shared_until(time); }
  {
    if (!native_.try_lock_shared_until(time)) return false;
    entered_shared();
    return true;
  }
  void unlock_shared()
    requires kIsShared
  {
    this->leave_shared();
    native_.unlock_shared();
  }

  // ---- Waiting for a condition: the section ends before, and another one begins behind ----
  // If the epilog throws, the mutex is held, and a new section has begun: nothing was waited for.
  void wait(std::condition_variable& condition)
    requires std::is_same_v<Native, std::mutex>
  {
    pause([&](std::unique_lock<std::mutex>& lock) { condition.wait(lock); });
  }
  template <class Predicate>
  void wait(std::condition_variable& condition, Predicate is_met)
    requires std::is_same_v<Native, std::mutex>
  {
    while (!is_met()) wait(condition);
  }
  template <class Clock, class Duration>
  std::cv_status wait_until(std::condition_variable& condition, const std::chrono::time_point<Clock, Duration>& time)
    requires std::is_same_v<Native, std::mutex>
  {
    auto status = std::cv_status::no_timeout;
    pause([&](std::unique_lock<std::mutex>& lock) { status = condition.wait_until(lock, time); });
    return status;
  }
  // The result of pthread_cond_wait or, with a time, of pthread_cond_timedwait.
  int wait(pthread_cond_t& condition, const timespec* until = nullptr)
    requires std::is_same_v<Native, tolerate::pthread_mutex_ref>
  {
    end_before_wait();
    const begins_again begins(*this);
    return until == nullptr ? pthread_cond_wait(&condition, native_.native_handle())
                            : pthread_cond_timedwait(&condition, native_.native_handle(), until);
  }

  auto native_handle() { return native_.native_handle(); }

 private:
  void entered() {
    if (this->is_active() || this->chooses()) this->template enter<kNests>();
  }
  void entered_shared() {
    if (this->is_active() || this->chooses()) this->enter_shared();
  }
  [[gnu::noinline]] void unlock_slowly() {
    const unlocks_native unlocks(*this);
    this->leave();
  }

  void lock_section() override { lock(); }
  void unlock_section() override { unlock(); }
  void lock_section_shared() override {
    if constexpr (kIsShared) {
      lock_shared();
    } else {
      base::lock_section_shared();
    }
  }
  void unlock_section_shared() override {
    if constexpr (kIsShared) unlock_shared();
  }
  void lock_native() override { native_.lock(); }
  void unlock_native() override { native_.unlock(); }

  struct unlocks_native {
    basic_tolerant_mutex& mutex;
    explicit unlocks_native(basic_tolerant_mutex& of) : mutex(of) {}
    ~unlocks_native() { mutex.native_.unlock(); }
    unlocks_native(const unlocks_native&) = delete;
    unlocks_native& operator=(const unlocks_native&) = delete;
  };
  struct begins_again {
    basic_tolerant_mutex& mutex;
    explicit begins_again(basic_tolerant_mutex& of) : mutex(of) {}
    ~begins_again() { mutex.entered(); }
    begins_again(const begins_again&) = delete;
    begins_again& operator=(const begins_again&) = delete;
  };

  void end_before_wait() {
    if (!this->is_entered()) return;
    if (this->depth() > 1) tolerate::fail(*this, "a condition is waited for in a nested section");
    try {
      this->leave();
    } catch (...) {
      entered();
      throw;
    }
  }
  template <class Wait>
  void pause(const Wait& wait) {
    end_before_wait();
    const begins_again begins(*this);
    std::unique_lock<std::mutex> lock(native_, std::adopt_lock);
    const auto releases = [](std::unique_lock<std::mutex>* held) { held->release(); };
    const std::unique_ptr<std::unique_lock<std::mutex>, decltype(releases)> at_end(&lock, releases);
    wait(lock);
  }

  Native native_;
};

using tolerant_mutex = basic_tolerant_mutex<std::mutex>;
using tolerant_recursive_mutex = basic_tolerant_mutex<std::recursive_mutex>;
using tolerant_timed_mutex = basic_tolerant_mutex<std::timed_mutex>;
using tolerant_recursive_timed_mutex = basic_tolerant_mutex<std::recursive_timed_mutex>;
using tolerant_shared_mutex = basic_tolerant_mutex<std::shared_mutex>;
using tolerant_shared_timed_mutex = basic_tolerant_mutex<std::shared_timed_mutex>;
using tolerant_pthread_mutex = basic_tolerant_mutex<tolerate::pthread_mutex_ref>;

}  // namespace redflag
