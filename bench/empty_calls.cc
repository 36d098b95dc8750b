// What an instrumented program calls, doing nothing: the compiler's calls before each access and around each function return at once, and atomic operations are only done. So a program that is
// linked with this takes what the calls themselves cost, and no detector behind the same calls can take less: the floor of bench/run's tables (tool calls-clang).
//
// No interceptors, no runtime, no shadow: nothing of Redflag is in it. Linked as an archive by bench/compilers/calls-clang.
#include <cstddef>
#include <cstdint>

extern "C" {

#define REDFLAG_ACCESS(name) \
  void __tsan_##name(void*) {}
#define REDFLAG_SIZES(prefix)           \
  REDFLAG_ACCESS(prefix##1)             \
  REDFLAG_ACCESS(prefix##2)             \
  REDFLAG_ACCESS(unaligned_##prefix##2) \
  REDFLAG_ACCESS(prefix##4)             \
  REDFLAG_ACCESS(unaligned_##prefix##4) \
  REDFLAG_ACCESS(prefix##8)             \
  REDFLAG_ACCESS(unaligned_##prefix##8) \
  REDFLAG_ACCESS(prefix##16)            \
  REDFLAG_ACCESS(unaligned_##prefix##16)
REDFLAG_SIZES(read)
REDFLAG_SIZES(write)
REDFLAG_SIZES(read_write)
REDFLAG_SIZES(volatile_read)
REDFLAG_SIZES(volatile_write)
REDFLAG_ACCESS(vptr_read)
REDFLAG_ACCESS(func_entry)
#undef REDFLAG_SIZES
#undef REDFLAG_ACCESS

void __tsan_init() {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_read_range(void*, unsigned long) {}
void __tsan_write_range(void*, unsigned long) {}
void* __tsan_memcpy(void* to, const void* from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
void* __tsan_memmove(void* to, const void* from, size_t bytes) { return __builtin_memmove(to, from, bytes); }
void* __tsan_memset(void* to, int value, size_t bytes) { return __builtin_memset(to, value, bytes); }

// The order that the program asks for is an argument: all are done in the strongest, as runtimes do.
#define REDFLAG_MODIFY(bits, T, name) \
  T __tsan_atomic##bits##_##name(volatile T* p, T v, int) { return __atomic_##name(p, v, __ATOMIC_SEQ_CST); }
#define REDFLAG_EXCHANGE(bits, T, name)                                                                  \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile T* p, T* expected, T desired, int, int) {   \
    return __atomic_compare_exchange_n(p, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define REDFLAG_ATOMIC(bits, T)                                                                                     \
  T __tsan_atomic##bits##_load(const volatile T* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }           \
  void __tsan_atomic##bits##_store(volatile T* p, T v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }           \
  T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) { return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); } \
  REDFLAG_MODIFY(bits, T, fetch_add)                                                                                \
  REDFLAG_MODIFY(bits, T, fetch_sub)                                                                                \
  REDFLAG_MODIFY(bits, T, fetch_and)                                                                                \
  REDFLAG_MODIFY(bits, T, fetch_or)                                                                                 \
  REDFLAG_MODIFY(bits, T, fetch_xor)                                                                                \
  REDFLAG_MODIFY(bits, T, fetch_nand)                                                                               \
  REDFLAG_EXCHANGE(bits, T, strong)                                                                                 \
  REDFLAG_EXCHANGE(bits, T, weak)                                                                                   \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T desired, int, int) {                    \
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
    return expected;                                                                                                \
  }
REDFLAG_ATOMIC(8, uint8_t)
REDFLAG_ATOMIC(16, uint16_t)
REDFLAG_ATOMIC(32, uint32_t)
REDFLAG_ATOMIC(64, uint64_t)
#undef REDFLAG_ATOMIC
#undef REDFLAG_EXCHANGE
#undef REDFLAG_MODIFY
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
