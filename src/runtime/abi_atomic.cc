// The compiler's calls in place of atomic operations. Each does the operation and what it means as one step: under the lock of the
// synchronization object, so that the order of the steps is the modification order of the variable.
#include <cstdint>

#include "detectors/atomics.h"
#include "runtime/abi.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

MemoryOrder OrderOf(int order) {
  switch (order) {
    case __ATOMIC_RELAXED:
      return MemoryOrder::kRelaxed;
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE:
      return MemoryOrder::kAcquire;
    case __ATOMIC_RELEASE:
      return MemoryOrder::kRelease;
    case __ATOMIC_ACQ_REL:
      return MemoryOrder::kAcqRel;
    default:
      return MemoryOrder::kSeqCst;
  }
}

// Null also if the thread said that what it does orders nothing: the operation is done, and that is all.
Thread* EnterSync() {
  Thread* t = Runtime::Enter();
  if (t == nullptr || t->ignore_sync == 0) [[likely]]
    return t;
  Runtime::Leave(t);
  return nullptr;
}

// The operations themselves. 16 bytes have no instruction on every machine: a lock of our own stands for it, since every atomic
// access comes through here.
template <class T>
struct Raw {
  static T Load(const volatile T* p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
  static void Store(volatile T* p, T value) { __atomic_store_n(p, value, __ATOMIC_SEQ_CST); }
  template <class Change>
  static T Modify(volatile T* p, Change change) {
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, change(old), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    return old;
  }
  static bool CompareExchange(volatile T* p, T& expected, T desired) {
    return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
};

using Wide = unsigned __int128;
constinit AtomicMem::Lock wide_lock;
template <>
struct Raw<Wide> {
  static Wide Load(const volatile Wide* p) {
    ScopedLock guard(wide_lock);
    return *p;
  }
  static void Store(volatile Wide* p, Wide value) {
    ScopedLock guard(wide_lock);
    *p = value;
  }
  template <class Change>
  static Wide Modify(volatile Wide* p, Change change) {
    ScopedLock guard(wide_lock);
    const Wide old = *p;
    *p = change(old);
    return old;
  }
  static bool CompareExchange(volatile Wide* p, Wide& expected, Wide desired) {
    ScopedLock guard(wide_lock);
    const Wide old = *p;
    if (old == expected) {
      *p = desired;
      return true;
    }
    expected = old;
    return false;
  }
};

// Each operation is there twice: the second time for programs that make locks of them (own_locks.h).
template <bool kMakesLocks, class T>
[[gnu::always_inline]] inline T LoadNow(const volatile T* p, int order, uint64_t place) {
  Thread* t = EnterSync();
  if (t == nullptr) return Raw<T>::Load(p);
  const auto addr = reinterpret_cast<uint64_t>(p);
  if (kMakesLocks) Runtime::Get().BeforeAtomic(*t, addr, OrderOf(order), place, false);
  T value = Runtime::Get().AtomicLoadAt(*t, addr, sizeof(T), OrderOf(order), place, [&] { return Raw<T>::Load(p); });
  if (kMakesLocks) Runtime::Get().AfterAtomic(*t, addr, OrderOf(order), place, false);
  Runtime::Leave(t);
  return value;
}

template <bool kMakesLocks, class T>
[[gnu::always_inline]] inline void StoreNow(volatile T* p, T value, int order, uint64_t place) {
  Thread* t = EnterSync();
  if (t == nullptr) return Raw<T>::Store(p, value);
  const auto addr = reinterpret_cast<uint64_t>(p);
  if (kMakesLocks) Runtime::Get().BeforeAtomic(*t, addr, OrderOf(order), place, true);
  Runtime::Get().AtomicStoreAt(*t, addr, sizeof(T), OrderOf(order), place, [&] { Raw<T>::Store(p, value); });
  Runtime::Leave(t);
}

template <bool kMakesLocks, class T, class Change>
[[gnu::always_inline]] inline T ModifyNow(volatile T* p, int order, uint64_t place, Change change) {
  Thread* t = EnterSync();
  if (t == nullptr) return Raw<T>::Modify(p, change);
  const auto addr = reinterpret_cast<uint64_t>(p);
  if (kMakesLocks) Runtime::Get().BeforeAtomic(*t, addr, OrderOf(order), place, true);
  T old = Runtime::Get().AtomicModifyAt(*t, addr, sizeof(T), OrderOf(order), place,
                                        [&] { return Raw<T>::Modify(p, change); });
  if (kMakesLocks) Runtime::Get().AfterAtomic(*t, addr, OrderOf(order), place, change(old) != old);
  Runtime::Leave(t);
  return old;
}

template <bool kMakesLocks, class T>
[[gnu::always_inline]] inline bool CompareExchangeNow(volatile T* p, T* expected, T desired, int order,
                                                      int failure_order, uint64_t place) {
  Thread* t = EnterSync();
  if (t == nullptr) return Raw<T>::CompareExchange(p, *expected, desired);
  const auto addr = reinterpret_cast<uint64_t>(p);
  if (kMakesLocks) Runtime::Get().BeforeAtomic(*t, addr, OrderOf(order), place, true);
  const bool done =
      Runtime::Get().AtomicCompareExchangeAt(*t, addr, sizeof(T), OrderOf(order), OrderOf(failure_order), place,
                                             [&] { return Raw<T>::CompareExchange(p, *expected, desired); });
  if (kMakesLocks) Runtime::Get().AfterAtomic(*t, addr, OrderOf(done ? order : failure_order), place, done);
  Runtime::Leave(t);
  return done;
}

#define REDFLAG_BOTH(Operation)                                                                               \
  template <class... Arguments>                                                                               \
  [[gnu::cold, gnu::noinline]] auto Operation##ForLocks(Arguments... arguments) {                             \
    return Operation##Now<true>(arguments...);                                                                \
  }                                                                                                           \
  template <class... Arguments>                                                                               \
  [[gnu::always_inline]] inline auto Operation(Arguments... arguments) {                                      \
    return MarkedCode::has_locks() ? Operation##ForLocks(arguments...) : Operation##Now<false>(arguments...); \
  }
REDFLAG_BOTH(Load)
REDFLAG_BOTH(Store)
REDFLAG_BOTH(Modify)
REDFLAG_BOTH(CompareExchange)
#undef REDFLAG_BOTH

}  // namespace
}  // namespace redflag::rt

using namespace redflag::rt;  // NOLINT: this file is the outside of that namespace

#define REDFLAG_ATOMIC(bits, T)                                                                                       \
  REDFLAG_ABI T __tsan_atomic##bits##_load(const volatile T* p, int order) { return Load(p, order, REDFLAG_CALLER); } \
  REDFLAG_ABI void __tsan_atomic##bits##_store(volatile T* p, T v, int order) { Store(p, v, order, REDFLAG_CALLER); } \
  REDFLAG_ABI T __tsan_atomic##bits##_exchange(volatile T* p, T v, int order) {                                       \
    return Modify(p, order, REDFLAG_CALLER, [v](T) { return v; });                                                    \
  }                                                                                                                   \
  REDFLAG_ABI T __tsan_atomic##bits##_fetch_add(volatile T* p, T v, int order) {                                      \
    return Modify(p, order, REDFLAG_CALLER, [v](T old) { return static_cast<T>(old + v); });                          \
  }                                                                                                                   \
  REDFLAG_ABI T __tsan_atomic##bits##_fetch_sub(volatile T* p, T v, int order) {                                      \
    return Modify(p, order, REDFLAG_CALLER, [v](T old) { return static_cast<T>(old - v); });                          \
  }                                                                                                                   \
  REDFLAG_ABI T __tsan_atomic##bits##_fetch_and(volatile T* p, T v, int order) {                                      \
    return Modify(p, order, REDFLAG_CALLER, [v](T old) { return static_cast<T>(old & v); });                          \
  }                                                                                                                   \
  REDFLAG_ABI T __tsan_atomic##bits##_fetch_or(volatile T* p, T v, int order) {                                       \
    return Modify(p, order, REDFLAG_CALLER, [v](T old) { return static_cast<T>(old | v); });                          \
  }                                                                                                                   \
  REDFLAG_ABI T __tsan_atomic##bits##_fetch_xor(volatile T* p, T v, int order) {                                      \
    return Modify(p, order, REDFLAG_CALLER, [v](T old) { return static_cast<T>(old ^ v); });                          \
  }                                                                                                                   \
  REDFLAG_ABI T __tsan_atomic##bits##_fetch_nand(volatile T* p, T v, int order) {                                     \
    return Modify(p, order, REDFLAG_CALLER, [v](T old) { return static_cast<T>(~(old & v)); });                       \
  }                                                                                                                   \
  REDFLAG_ABI int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T desired, int order,     \
                                                                int failure_order) {                                  \
    return CompareExchange(p, expected, desired, order, failure_order, REDFLAG_CALLER);                               \
  }                                                                                                                   \
  REDFLAG_ABI int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T desired, int order,       \
                                                              int failure_order) {                                    \
    return CompareExchange(p, expected, desired, order, failure_order, REDFLAG_CALLER);                               \
  }                                                                                                                   \
  REDFLAG_ABI T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T desired, int order,           \
                                                           int failure_order) {                                       \
    CompareExchange(p, &expected, desired, order, failure_order, REDFLAG_CALLER);                                     \
    return expected;                                                                                                  \
  }
REDFLAG_ATOMIC(8, uint8_t)
REDFLAG_ATOMIC(16, uint16_t)
REDFLAG_ATOMIC(32, uint32_t)
REDFLAG_ATOMIC(64, uint64_t)
REDFLAG_ATOMIC(128, unsigned __int128)
#undef REDFLAG_ATOMIC

REDFLAG_ABI void __tsan_atomic_thread_fence(int order) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  Thread* t = EnterSync();
  if (t == nullptr) return;
  Runtime::Get().FenceNow(*t, OrderOf(order), REDFLAG_CALLER);
  Runtime::Leave(t);
}
// Orders a thread with its own signal handlers: nothing between threads.
REDFLAG_ABI void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
