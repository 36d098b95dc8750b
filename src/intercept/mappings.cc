// Pages: mmap, munmap, mremap. What libc maps for itself (stacks, large blocks of the heap, libraries) does not come
// through here; brk is the heap's own.
#include <sys/mman.h>

#include <cerrno>

#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {

REDFLAG_REAL(void*, mmap, void* address, size_t bytes, int protection, int flags, int file, off_t offset)
REDFLAG_REAL(int, munmap, void* pages, size_t bytes)
REDFLAG_REAL(void*, mremap, void* pages, size_t bytes, size_t new_bytes, int flags, void* new_pages)

namespace {

// Else the kernel refuses, and there is nothing to tell. (4096: the smallest page of both architectures; neither gives a program addresses of
// more than 48 bits unless it asks for them.)
bool IsPages(const void* pages, size_t bytes) {
  constexpr uint64_t kEnd = uint64_t{1} << 48;
  const auto begin = reinterpret_cast<uint64_t>(pages);
  return begin % 4096 == 0 && bytes != 0 && begin < kEnd && bytes <= kEnd - begin;
}

void* Tail(void* pages, size_t bytes) { return static_cast<char*>(pages) + bytes; }

// A mapping at a fixed place ends what was there; told before, like every end, and taken back if the call fails.
void* Map(hooks::Pc pc, void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (!hooks::Active()) return real::mmap(address, bytes, protection, flags, file, offset);
  const bool replaces =
      (flags & MAP_FIXED) != 0 && (flags & MAP_FIXED_NOREPLACE) != MAP_FIXED_NOREPLACE && IsPages(address, bytes);
  if (replaces) hooks::Unmapping(pc, address, bytes);
  void* pages = real::mmap(address, bytes, protection, flags, file, offset);
  if (pages != MAP_FAILED) {
    hooks::Mapped(pc, pages, bytes);
  } else if (replaces) {
    hooks::Mapped(pc, address, bytes);
  }
  return pages;
}

// Growing in place leaves the old pages and what is known of them alone. Whether it can is tried first: where the pages
// go is not known in advance, and their old place must be given up before another thread can be given it.
void* Grow(hooks::Pc pc, void* pages, size_t bytes, size_t new_bytes, int flags) {
  void* result = real::mremap(pages, bytes, new_bytes, flags & ~MREMAP_MAYMOVE, nullptr);
  if (result != MAP_FAILED) {
    hooks::Mapped(pc, Tail(pages, bytes), new_bytes - bytes);
    return result;
  }
  if ((flags & MREMAP_MAYMOVE) == 0 || errno != ENOMEM) return result;
  hooks::Unmapping(pc, pages, bytes);
  result = real::mremap(pages, bytes, new_bytes, flags, nullptr);
  if (result != MAP_FAILED) {
    hooks::Mapped(pc, result, new_bytes);
  } else {
    hooks::Mapped(pc, pages, bytes);
  }
  return result;
}

// A shrunk mapping stays where it is.
void* Shrink(hooks::Pc pc, void* pages, size_t bytes, size_t new_bytes, int flags) {
  if (new_bytes < bytes) hooks::Unmapping(pc, Tail(pages, new_bytes), bytes - new_bytes);
  void* result = real::mremap(pages, bytes, new_bytes, flags, nullptr);
  if (result == MAP_FAILED && new_bytes < bytes) hooks::Mapped(pc, Tail(pages, new_bytes), bytes - new_bytes);
  return result;
}

// To a given place, or leaving empty pages behind, or (of shared pages, with no bytes) making a second view of them.
void* MoveTo(hooks::Pc pc, void* pages, size_t bytes, size_t new_bytes, int flags, void* new_pages) {
  const bool replaces = (flags & MREMAP_FIXED) != 0;
  if (bytes != 0) hooks::Unmapping(pc, pages, bytes);
  if (replaces) hooks::Unmapping(pc, new_pages, new_bytes);
  void* result = real::mremap(pages, bytes, new_bytes, flags, new_pages);
  const bool failed = result == MAP_FAILED;
  if (bytes != 0 && (failed || (flags & MREMAP_DONTUNMAP) != 0)) hooks::Mapped(pc, pages, bytes);
  if (!failed) hooks::Mapped(pc, result, new_bytes);
  if (failed && replaces) hooks::Mapped(pc, new_pages, new_bytes);
  return result;
}

}  // namespace

REDFLAG_EXPORT(void*, mmap, void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return Map(REDFLAG_CALLER, address, bytes, protection, flags, file, offset);
}

REDFLAG_EXPORT(void*, mmap64, void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return Map(REDFLAG_CALLER, address, bytes, protection, flags, file, offset);
}

REDFLAG_EXPORT(int, munmap, void* pages, size_t bytes) {
  if (!hooks::Active() || !IsPages(pages, bytes)) return real::munmap(pages, bytes);
  hooks::Unmapping(REDFLAG_CALLER, pages, bytes);
  const int result = real::munmap(pages, bytes);
  if (result != 0) hooks::Mapped(REDFLAG_CALLER, pages, bytes);
  return result;
}

// Variadic in the headers; both architectures pass a fifth argument alike, and it is read only where it was given.
REDFLAG_EXPORT(void*, mremap, void* pages, size_t bytes, size_t new_bytes, int flags, void* new_pages) {
  if (!hooks::Active() || !IsPages(pages, new_bytes)) return real::mremap(pages, bytes, new_bytes, flags, new_pages);
  if (bytes == 0 || (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) {
    return MoveTo(REDFLAG_CALLER, pages, bytes, new_bytes, flags, new_pages);
  }
  if (new_bytes > bytes) return Grow(REDFLAG_CALLER, pages, bytes, new_bytes, flags);
  return Shrink(REDFLAG_CALLER, pages, bytes, new_bytes, flags);
}

}  // namespace redflag
