// Accesses that the program, or the runtime of another language inside it, tells of by itself, with the place in the code that they are
// made at; those that are spelled as functions because the language has no word for them; and how deep the stack of calls is.
#include <cstdint>

#include "runtime/abi.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

void Tell(void* p, uint64_t bytes, AccessKind kind, uint64_t place) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().AccessRange(*t, reinterpret_cast<uint64_t>(p), bytes, kind, place & kPlaceMask);
  Runtime::Leave(t);
}

template <class T>
struct [[gnu::packed, gnu::may_alias]] Unaligned {
  T value;
};

template <class T>
T Load(void* p, uint64_t place) {
  Tell(p, sizeof(T), AccessKind::kRead, place);
  return static_cast<Unaligned<T>*>(p)->value;
}

template <class T>
void Store(void* p, T value, uint64_t place) {
  Tell(p, sizeof(T), AccessKind::kWrite, place);
  static_cast<Unaligned<T>*>(p)->value = value;
}

}  // namespace
}  // namespace redflag::rt

using redflag::AccessKind;
using namespace redflag::rt;  // NOLINT: this file is the outside of that namespace

#define REDFLAG_ACCESSES(size)                                         \
  REDFLAG_ABI void __tsan_read##size##_pc(void* p, void* pc) {         \
    Tell(p, size, AccessKind::kRead, reinterpret_cast<uint64_t>(pc));  \
  }                                                                    \
  REDFLAG_ABI void __tsan_write##size##_pc(void* p, void* pc) {        \
    Tell(p, size, AccessKind::kWrite, reinterpret_cast<uint64_t>(pc)); \
  }
REDFLAG_ACCESSES(1)
REDFLAG_ACCESSES(2)
REDFLAG_ACCESSES(4)
REDFLAG_ACCESSES(8)
REDFLAG_ACCESSES(16)
#undef REDFLAG_ACCESSES

REDFLAG_ABI void __tsan_read_range_pc(void* p, unsigned long bytes, void* pc) {
  Tell(p, bytes, AccessKind::kRead, reinterpret_cast<uint64_t>(pc));
}
REDFLAG_ABI void __tsan_write_range_pc(void* p, unsigned long bytes, void* pc) {
  Tell(p, bytes, AccessKind::kWrite, reinterpret_cast<uint64_t>(pc));
}

#define REDFLAG_UNALIGNED(bits)                                                \
  REDFLAG_ABI uint##bits##_t __sanitizer_unaligned_load##bits(const void* p) { \
    return Load<uint##bits##_t>(const_cast<void*>(p), REDFLAG_CALLER);         \
  }                                                                            \
  REDFLAG_ABI void __sanitizer_unaligned_store##bits(void* p, uint##bits##_t value) { Store(p, value, REDFLAG_CALLER); }
REDFLAG_UNALIGNED(16)
REDFLAG_UNALIGNED(32)
REDFLAG_UNALIGNED(64)
#undef REDFLAG_UNALIGNED

// For tests: whether functions that were left in other ways than by returning are off the stack.
REDFLAG_ABI unsigned long __tsan_testonly_shadow_stack_current_size() {
  const Thread* t = local.thread;
  return t == nullptr ? 0 : static_cast<unsigned long>(local.top - t->frames()) + t->lost_frames();
}
