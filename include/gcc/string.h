// What g++ copies and fills itself.
//
// g++ does memset and memcpy of a size that it knows in place, and tells nobody of it: with -fsanitize=thread, no memset whose size is a constant is seen, nor a
// copy of most sizes. So they are told here, as glibc checks them for _FORTIFY_SOURCE: by an inline function of the same name, which the compiler prefers.
// `redflag c++` puts this folder before those of the system if the compiler is g++; there is nothing here for others.
//
// Not told: where _FORTIFY_SOURCE has such functions already, and what the compiler makes of other calls (strcpy of a literal, std::copy).
#pragma GCC system_header
#include_next <string.h>

#if !defined REDFLAG_GCC_STRING_H && defined __SANITIZE_THREAD__ && !defined __clang__ && defined __OPTIMIZE__ && \
    defined __extern_always_inline && defined __NTH && !(defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL > 0)
#define REDFLAG_GCC_STRING_H

__BEGIN_DECLS

// By other names: what the compiler knows them as is its own business.
extern void __redflag_reads(const void* __from, size_t __bytes) __asm__("__tsan_read_range");
extern void __redflag_writes(void* __to, size_t __bytes) __asm__("__tsan_write_range");

// A copy of one of these sizes becomes a load and a store, which are told as others are.
#define REDFLAG_IS_A_WORD(bytes) ((bytes) == 1 || (bytes) == 2 || (bytes) == 4 || (bytes) == 8 || (bytes) == 16)

__extern_always_inline __attribute_artificial__ void* __NTH(memset(void* __to, int __byte, size_t __bytes)) {
  if (__builtin_constant_p(__bytes) && __bytes != 0) __redflag_writes(__to, __bytes);
  return __builtin_memset(__to, __byte, __bytes);
}

__extern_always_inline __attribute_artificial__ void* __NTH(memcpy(void* __restrict __to, const void* __restrict __from,
                                                                   size_t __bytes)) {
  if (__builtin_constant_p(__bytes) && __bytes != 0 && !REDFLAG_IS_A_WORD(__bytes)) {
    __redflag_reads(__from, __bytes);
    __redflag_writes(__to, __bytes);
  }
  return __builtin_memcpy(__to, __from, __bytes);
}

__extern_always_inline __attribute_artificial__ void* __NTH(memmove(void* __to, const void* __from, size_t __bytes)) {
  if (__builtin_constant_p(__bytes) && __bytes != 0 && !REDFLAG_IS_A_WORD(__bytes)) {
    __redflag_reads(__from, __bytes);
    __redflag_writes(__to, __bytes);
  }
  return __builtin_memmove(__to, __from, __bytes);
}

#undef REDFLAG_IS_A_WORD

__END_DECLS

#endif
