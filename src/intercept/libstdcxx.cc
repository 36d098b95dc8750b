// Functions of the C++ library that call something interposed on behalf of the program. They are not instrumented, so the place in
// the program that called them would be missing from stacks: it is told before they are called.
//
//   operator new, delete   call malloc and free, or an allocator that the program brought (heap.h)
//   std::thread            calls pthread_create from a function of its own
//
// The C++ library is never linked to: names are as its ABI has them, and the real functions are those of the program's own.
#include <cstddef>

#include "intercept/calls.h"
#include "intercept/heap.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
// Result, name, parameters, arguments.
#define REDFLAG_CALL_THROUGH(result, name, parameters, arguments) \
  REDFLAG_INTERCEPT(result, name, REDFLAG_UNPACK parameters) {    \
    REDFLAG_LEFT_BY_EXCEPTIONS;                                   \
    const Call call(REDFLAG_CALLER);                              \
    return real::name arguments;                                  \
  }
#define REDFLAG_UNPACK(...) __VA_ARGS__

#define REDFLAG_NEW(name, parameters, arguments)                       \
  REDFLAG_INTERCEPT(void*, name, REDFLAG_UNPACK parameters) {          \
    REDFLAG_LEFT_BY_EXCEPTIONS;                                        \
    const Call call(REDFLAG_CALLER);                                   \
    const size_t before = heap::BlocksBorn();                          \
    void* block = real::name arguments;                                \
    if (heap::BlocksBorn() == before && block != nullptr) [[unlikely]] \
      heap::BornApart(REDFLAG_CALLER, block);                          \
    return block;                                                      \
  }
#define REDFLAG_DELETE(name, parameters, arguments)          \
  REDFLAG_INTERCEPT(void, name, REDFLAG_UNPACK parameters) { \
    REDFLAG_LEFT_BY_EXCEPTIONS;                              \
    const Call call(REDFLAG_CALLER);                         \
    heap::Deleting(REDFLAG_CALLER, block);                   \
    return real::name arguments;                             \
  }

REDFLAG_NEW(_Znwm, (size_t bytes), (bytes))
REDFLAG_NEW(_Znam, (size_t bytes), (bytes))
REDFLAG_NEW(_ZnwmRKSt9nothrow_t, (size_t bytes, const void* tag), (bytes, tag))
REDFLAG_NEW(_ZnamRKSt9nothrow_t, (size_t bytes, const void* tag), (bytes, tag))
REDFLAG_NEW(_ZnwmSt11align_val_t, (size_t bytes, size_t align), (bytes, align))
REDFLAG_NEW(_ZnamSt11align_val_t, (size_t bytes, size_t align), (bytes, align))
REDFLAG_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t align, const void* tag), (bytes, align, tag))
REDFLAG_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t align, const void* tag), (bytes, align, tag))
REDFLAG_DELETE(_ZdlPv, (void* block), (block))
REDFLAG_DELETE(_ZdaPv, (void* block), (block))
REDFLAG_DELETE(_ZdlPvRKSt9nothrow_t, (void* block, const void* tag), (block, tag))
REDFLAG_DELETE(_ZdaPvRKSt9nothrow_t, (void* block, const void* tag), (block, tag))
REDFLAG_DELETE(_ZdlPvm, (void* block, size_t bytes), (block, bytes))
REDFLAG_DELETE(_ZdaPvm, (void* block, size_t bytes), (block, bytes))
REDFLAG_DELETE(_ZdlPvSt11align_val_t, (void* block, size_t align), (block, align))
REDFLAG_DELETE(_ZdaPvSt11align_val_t, (void* block, size_t align), (block, align))
REDFLAG_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void* block, size_t align, const void* tag), (block, align, tag))
REDFLAG_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void* block, size_t align, const void* tag), (block, align, tag))
REDFLAG_DELETE(_ZdlPvmSt11align_val_t, (void* block, size_t bytes, size_t align), (block, bytes, align))
REDFLAG_DELETE(_ZdaPvmSt11align_val_t, (void* block, size_t bytes, size_t align), (block, bytes, align))

// std::thread::_M_start_thread(std::unique_ptr<_State>, void (*)()): a class with a destructor is passed by its address.
REDFLAG_CALL_THROUGH(void, _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE,
                     (void* thread, void* state, void (*depend)()), (thread, state, depend))

}  // namespace redflag
