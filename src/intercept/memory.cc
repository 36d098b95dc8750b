// The heap. operator new and delete, strdup and whatever else allocates come through here; sizes are what the block can
// hold, so that the end of its life covers what the beginning did.
//
// malloc_usable_size and mallopt are not interposed: they tell nothing.
#include <cerrno>
#include <cstdlib>

#include "intercept/heap.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {

REDFLAG_REAL(size_t, malloc_usable_size, void* block)

namespace {

constinit bool operators_are_apart = false;  // once true, always

// Of the calling thread.
[[gnu::tls_model("initial-exec")]] constinit thread_local size_t blocks_born = 0;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool is_asking = false;

// What a block can hold. An allocator that allocates to find that out does so for itself.
size_t SizeOf(void* block) {
  is_asking = true;
  const size_t bytes = real::malloc_usable_size(block);
  is_asking = false;
  return bytes;
}

bool IsWatched() { return !is_asking && hooks::Active(); }

void* Born(hooks::Pc pc, void* block) {
  ++blocks_born;
  if (block != nullptr) hooks::Allocated(pc, block, SizeOf(block));
  return block;
}

void Dying(hooks::Pc pc, void* block) { hooks::Freeing(pc, block, SizeOf(block)); }

// For functions that can only be called when the real allocator is known, or may wait until it is.
template <class Real, class... Arguments>
void* Allocate(hooks::Pc pc, const Real& real, Arguments... arguments) {
  if (!IsWatched()) return real(arguments...);
  return Born(pc, real(arguments...));
}

}  // namespace

size_t heap::BlocksBorn() { return blocks_born; }

void heap::BornApart(hooks::Pc pc, void* block) {
  if (!IsWatched()) return;
  __atomic_store_n(&operators_are_apart, true, __ATOMIC_RELAXED);
  Born(pc, block);
}

void heap::Deleting(hooks::Pc pc, void* block) {
  if (block == nullptr || !__atomic_load_n(&operators_are_apart, __ATOMIC_RELAXED) || !IsWatched()) return;
  hooks::Freeing(pc, block, SizeOf(block), true);
}

REDFLAG_INTERCEPT(void*, malloc, size_t bytes) {
  if (real::LookingUp()) return real::EarlyBlock(bytes);
  return Allocate(REDFLAG_CALLER, real::malloc, bytes);
}

REDFLAG_INTERCEPT(void*, calloc, size_t count, size_t bytes) {
  if (real::LookingUp()) return real::EarlyBlock(count * bytes);
  return Allocate(REDFLAG_CALLER, real::calloc, count, bytes);
}

REDFLAG_INTERCEPT(void, free, void* block) {
  if (block == nullptr || real::IsEarlyBlock(block)) return;
  if (real::LookingUp() && !real::free.found()) return;  // from the lookup itself: a few bytes are lost
  if (IsWatched()) Dying(REDFLAG_CALLER, block);
  real::free(block);
}

const void* heap::AllocatorCode() { return real::malloc.address(); }

// ---- realloc: the old block dies and a new one is born, also where they are the same place ----

REDFLAG_REAL(void*, realloc, void* block, size_t bytes)

namespace {

void* MoveEarlyBlock(hooks::Pc pc, void* block, size_t bytes) {
  auto* to = static_cast<char*>(real::LookingUp() ? real::EarlyBlock(bytes) : Allocate(pc, real::malloc, bytes));
  if (to == nullptr) return nullptr;
  const size_t old_bytes = real::EarlyBlockSize(block);
  __builtin_memcpy(to, block, old_bytes < bytes ? old_bytes : bytes);
  return to;
}

// The death is told first, since another thread may be given the old place at once; it counts as a write to all of the
// block, so the copying needs no telling. If the real call fails the old block lives on.
void* Reallocate(hooks::Pc pc, void* block, size_t bytes) {
  if (real::IsEarlyBlock(block)) return MoveEarlyBlock(pc, block, bytes);
  if (!IsWatched()) return real::realloc(block, bytes);
  if (block == nullptr) return Born(pc, real::realloc(nullptr, bytes));
  Dying(pc, block);
  void* moved = real::realloc(block, bytes);
  if (moved == nullptr && bytes != 0) {
    Born(pc, block);
    return nullptr;
  }
  return Born(pc, moved);
}

}  // namespace

REDFLAG_EXPORT(void*, realloc, void* block, size_t bytes) {
  if (block == nullptr && real::LookingUp()) return real::EarlyBlock(bytes);
  return Reallocate(REDFLAG_CALLER, block, bytes);
}

// In libc it calls realloc; told from here, it has the place in the program that called it.
REDFLAG_EXPORT(void*, reallocarray, void* block, size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return Reallocate(REDFLAG_CALLER, block, total);
}

// ---- Aligned blocks ----

REDFLAG_INTERCEPT(void*, memalign, size_t align, size_t bytes) {
  if (real::LookingUp()) return real::EarlyBlock(bytes, align);  // the dynamic linker, for thread-local storage
  return Allocate(REDFLAG_CALLER, real::memalign, align, bytes);
}

REDFLAG_INTERCEPT(void*, aligned_alloc, size_t align, size_t bytes) {
  return Allocate(REDFLAG_CALLER, real::aligned_alloc, align, bytes);
}

REDFLAG_INTERCEPT(int, posix_memalign, void** block, size_t align, size_t bytes) {
  if (!IsWatched()) return real::posix_memalign(block, align, bytes);
  const int error = real::posix_memalign(block, align, bytes);
  if (error == 0) Born(REDFLAG_CALLER, *block);
  return error;
}

REDFLAG_INTERCEPT(void*, valloc, size_t bytes) { return Allocate(REDFLAG_CALLER, real::valloc, bytes); }

REDFLAG_INTERCEPT(void*, pvalloc, size_t bytes) { return Allocate(REDFLAG_CALLER, real::pvalloc, bytes); }

}  // namespace redflag
