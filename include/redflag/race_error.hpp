// Races as exceptions: an access that races does not happen, redflag::data_race_error is thrown in its place.
//
//   try {
//     serve(connection);
//   } catch (const redflag::data_race_error& error) {
//     log(error.what());      // and leave it to whoever it raced with
//   }
//
// Who throws: accesses to redflag::checked<T> (redflag/checked.hpp), with every compiler; and all accesses of code that g++ compiled with
// `redflag c++ --throw`, where the policy says so: that of the process (`redflag run --on-race throw`), of a thread, of a scope
// (race_scope) or of a variable (set_memory_policy). The report of the race is written as always. Before anything is thrown it is proved from the
// unwind tables that it will be caught; where that can't be, the access happens and the report says why. docs/race-errors.md.
//
// Header only, C++14. Without the runtime of Redflag in the process nothing is checked, and nothing thrown.
#ifndef REDFLAG_RACE_ERROR_HPP_
#define REDFLAG_RACE_ERROR_HPP_

#include <pthread.h>
#include <redflag/race_abi.h>
#include <stdio.h>

#include <memory>
#include <redflag/detail/throw_proof.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace redflag {

// One access of a race: the one that did not happen, or one that had happened before.
struct race_access {
  const void* address;
  size_t bytes;
  bool is_write;
  bool is_atomic;
  unsigned thread;                  // as reports number it
  unsigned os_thread;               // as the system does
  std::vector<const void*> frames;  // return addresses, innermost first; `redflag symbolize` and the report name them
  std::vector<const void*> locks;   // that were held
};

class data_race_error : public std::runtime_error {
 public:
  explicit data_race_error(const std::string& what) : std::runtime_error(what) {}
  explicit data_race_error(const redflag_race_info& race)
      : std::runtime_error(text_of(race)), race_(std::make_shared<const details>(race)) {}

  // The one that did not happen first; empty if nothing is known but what() says.
  const std::vector<race_access>& accesses() const noexcept {
    static const std::vector<race_access> none;
    return race_ == nullptr ? none : race_->accesses;
  }
  // The first of the bytes that race.
  const void* address() const noexcept { return race_ == nullptr ? nullptr : race_->address; }

 private:
  struct details {
    explicit details(const redflag_race_info& race) : address(reinterpret_cast<const void*>(race.address)) {
      for (uint32_t i = 0; i < race.access_count; ++i) accesses.push_back(access_of(race.accesses[i]));
    }
    const void* address;
    std::vector<race_access> accesses;
  };

  static race_access access_of(const redflag_race_access& access) {
    race_access copy{reinterpret_cast<const void*>(access.address),
                     access.bytes,
                     (access.kind & 2) != 0,
                     (access.kind & 1) == 0,
                     access.thread,
                     access.os_thread,
                     {},
                     {}};
    for (uint32_t i = 0; i < access.frame_count; ++i)
      copy.frames.push_back(reinterpret_cast<const void*>(access.frames[i]));
    for (uint32_t i = 0; i < access.lock_count; ++i)
      copy.locks.push_back(reinterpret_cast<const void*>(access.locks[i]));
    return copy;
  }
  static std::string text_of(const redflag_race_access& access) {
    char text[160];
    snprintf(text, sizeof text, "%s%s of %u bytes at %#llx by thread T%u", (access.kind & 1) == 0 ? "atomic " : "",
             (access.kind & 2) != 0 ? "write" : "read", access.bytes, static_cast<unsigned long long>(access.address),
             access.thread);
    return text;
  }
  static std::string text_of(const redflag_race_info& race) {
    std::string text = "data race: " + text_of(race.accesses[0]);
    if (race.access_count > 1) text += " and the earlier " + text_of(race.accesses[1]);
    return text;
  }

  std::shared_ptr<const details> race_;
};

// ---- What happens at a race ----

enum class on_race : uint32_t {
  inherit = REDFLAG_ON_RACE_INHERIT,
  report = REDFLAG_ON_RACE_REPORT,
  stop = REDFLAG_ON_RACE_STOP,
  core = REDFLAG_ON_RACE_CORE,
  abort = REDFLAG_ON_RACE_ABORT,
  end = REDFLAG_ON_RACE_END,
  throw_error = REDFLAG_ON_RACE_THROW,
  stop_thread = REDFLAG_ON_RACE_STOP_THREAD,
  callback = REDFLAG_ON_RACE_CALLBACK,
};

// Called before the access, by the thread that is about to make it. May throw if the access is one to redflag::checked<T>.
using race_callback = redflag_race_callback;

namespace detail {

inline redflag_race_policy policy_of(on_race what, race_callback callback = nullptr, void* data = nullptr) {
  return {static_cast<uint32_t>(what), 0, callback, data};
}

}  // namespace detail

// Of the process: before `redflag run --on-race` and REDFLAG_OPTIONS=on_race. `callback` is also the one of policies that have none.
inline void set_process_policy(on_race what, race_callback callback = nullptr, void* data = nullptr) {
  const redflag_race_policy policy = detail::policy_of(what, callback, data);
  if (redflag_set_process_policy) redflag_set_process_policy(&policy, nullptr);
}

// Of the calling thread.
inline void set_thread_policy(on_race what, race_callback callback = nullptr, void* data = nullptr) {
  const redflag_race_policy policy = detail::policy_of(what, callback, data);
  if (redflag_set_thread_policy) redflag_set_thread_policy(&policy, nullptr);
}

// Of accesses to this variable, whoever makes them; until its memory is freed, or on_race::inherit is given.
inline void set_memory_policy(const volatile void* memory, size_t bytes, on_race what, race_callback callback = nullptr,
                              void* data = nullptr) {
  const redflag_race_policy policy = detail::policy_of(what, callback, data);
  if (redflag_set_memory_policy) redflag_set_memory_policy(memory, bytes, &policy);
}
template <class T>
void set_policy(const T& variable, on_race what, race_callback callback = nullptr, void* data = nullptr) {
  set_memory_policy(&variable, sizeof variable, what, callback, data);
}

// Of the calling thread while this is alive. They nest; each ends in the thread that began it.
class race_scope {
 public:
  explicit race_scope(on_race what, race_callback callback = nullptr, void* data = nullptr) {
    const redflag_race_policy policy = detail::policy_of(what, callback, data);
    if (redflag_set_thread_policy) redflag_set_thread_policy(&policy, &before_);
  }
  ~race_scope() {
    if (redflag_set_thread_policy) redflag_set_thread_policy(&before_, nullptr);
  }
  race_scope(const race_scope&) = delete;
  race_scope& operator=(const race_scope&) = delete;

 private:
  redflag_race_policy before_{};
};

namespace detail {

// ---- The runtime says that an access races; the program throws ----

[[noreturn]] inline void exit_thread() { pthread_exit(nullptr); }

#if defined(__cpp_exceptions)
[[noreturn]] inline void throw_race(const redflag_race_info& race) { throw data_race_error(race); }
inline void throw_current_race() { throw_race(*redflag_current_race()); }
inline const char* why_not_at(uintptr_t return_address, int is_exit) {
  return why_not_thrown(return_address, is_exit != 0, true);
}

// By each file that includes this, once: how the program throws for accesses that its compiler has instrumented.
inline int become_thrower() {
  static const redflag_thrower thrower = {1, 0, why_not_at, throw_current_race, exit_thread};
  if (redflag_set_thrower) redflag_set_thrower(&thrower);
  return 0;
}
namespace {
__attribute__((unused)) const int is_thrower = become_thrower();
}
#endif

// In place of an access that was refused; returns if it happens after all.
__attribute__((noinline, cold)) inline void refused(int how, const redflag_race_info* race) {
  if (how == REDFLAG_ON_RACE_CALLBACK) {
    redflag_race_policy policy;
    redflag_current_policy(&policy);
    if (policy.callback != nullptr) policy.callback(race, policy.data);
    redflag_refused_access_happens(nullptr);
    return;
  }
  const bool is_exit = how == REDFLAG_ON_RACE_STOP_THREAD;
  const char* why = nullptr;
#if defined(__cpp_exceptions)
  if (!redflag_throws_unproven())
    why = why_not_thrown(reinterpret_cast<uintptr_t>(__builtin_return_address(0)), is_exit, false);
  if (why == nullptr && !is_exit) throw_race(*race);
#else
  if (!is_exit) why = "it is in a file that is compiled with -fno-exceptions";
#endif
  if (why == nullptr) exit_thread();
  redflag_refused_access_happens(why);
}

}  // namespace detail

// An access to this memory is about to be made: throws, or does what else is to be done, if it races. For accesses that neither a compiler nor
// redflag::checked<T> sees.
__attribute__((always_inline)) inline void check_access(const volatile void* memory, size_t bytes, bool is_write,
                                                        on_race what = on_race::throw_error) {
  if (!redflag_check_access) return;
  const redflag_race_policy own = detail::policy_of(what);
  const redflag_race_info* race = nullptr;
  const int how = redflag_check_access(memory, bytes, is_write, &own, &race);
  if (__builtin_expect(how != 0, 0)) detail::refused(how, race);
}

}  // namespace redflag

#endif
