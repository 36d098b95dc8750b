// How an interceptor is written, and how it reaches the function that it stands in for.
//
//   namespace redflag {
//   REDFLAG_INTERCEPT(int, pthread_spin_trylock, pthread_spinlock_t* lock) {
//     if (!hooks::Active()) return real::pthread_spin_trylock(lock);
//     ...
//   }
//   }
//
// defines the exported function pthread_spin_trylock, and real::pthread_spin_trylock, the next one that the dynamic
// linker knows. The C++ name of the interceptor is another one than its symbol, so it need not agree with what the
// system's headers promise of the function: noexcept, nonnull, overloads for const.
//
// All real functions are looked up at once, when the library is initialized: a lookup takes the dynamic linker's lock, and a
// thread that meets its first pthread_mutex_unlock while another one waits for it inside dlopen must not. What is called before that is
// looked up by itself; the calls for memory that come from the lookup are served by EarlyBlock.
//
// In-process rules (hooks.h). Callable from any thread at any time after this library has been relocated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace redflag::real {

// Names a function until it has been found.
class alignas(16) Symbol {
 public:
  constexpr explicit Symbol(const char* name) : name_(name) {}

  const char* name() const { return name_; }
  // Null if no library has it.
  void Find();
  bool found() const { return __atomic_load_n(&address_, __ATOMIC_RELAXED) != nullptr; }
  void* address() const {
    void* address = __atomic_load_n(&address_, __ATOMIC_RELAXED);
    return __builtin_expect(address != nullptr, 1) ? address : FirstUse();
  }

 private:
  [[gnu::cold, gnu::noinline]] void* FirstUse() const;

  const char* name_;
  void* address_ = nullptr;
};

template <class Signature>
class Function;

template <class Result, class... Arguments>
class Function<Result(Arguments...)> : public Symbol {
 public:
  using Symbol::Symbol;

  [[gnu::always_inline]] Result operator()(Arguments... arguments) const {
    return reinterpret_cast<Result (*)(Arguments...)>(address())(arguments...);
  }
};

// True in the thread that looks up the real functions, while it does.
bool LookingUp();

// Memory from a small buffer, for the calls that come before the real allocator is known. Zeroed, never reused. `align`
// is a power of two.
void* EarlyBlock(size_t bytes, size_t align = 16);
bool IsEarlyBlock(const void* block);
size_t EarlyBlockSize(const void* block);

}  // namespace redflag::real

// The place in the program that called the interceptor. To be used in its body, not in a helper's.
#define REDFLAG_CALLER reinterpret_cast<uintptr_t>(__builtin_return_address(0))

// real::name alone; the linker gathers all of them into one array.
#define REDFLAG_REAL(result, name, ...)                                                                   \
  namespace real {                                                                                        \
  [[gnu::used, gnu::section("redflag_real")]] constinit static Function<result(__VA_ARGS__)> name{#name}; \
  }

// The exported function alone; the function's body follows. It has a second name, for programs that define the first one themselves and
// want to call ours: sanitizers have called it so for long.
#define REDFLAG_EXPORT(result, name, ...)                                                                   \
  asm(".globl __interceptor_" #name "\n.type __interceptor_" #name ", %function\n.set __interceptor_" #name \
      "," #name);                                                                                           \
  extern "C" [[gnu::visibility("default")]] result intercepted_##name(__VA_ARGS__) asm(#name);              \
  extern "C" result intercepted_##name(__VA_ARGS__)

#define REDFLAG_INTERCEPT(result, name, ...) \
  REDFLAG_REAL(result, name, __VA_ARGS__)    \
  REDFLAG_EXPORT(result, name, __VA_ARGS__)
