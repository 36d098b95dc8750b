// The copies that threads have of what shared sections protect: a list for each thread, and records that are used again.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <redflag/tolerate/section.hpp>

namespace redflag::tolerate {
namespace {

struct Readers {
  reader* active = nullptr;
  reader* unused = nullptr;

  ~Readers() {
    while (unused != nullptr) {
      reader* const at = unused;
      unused = at->next;
      std::free(at->copies);
      delete at;
    }
  }
};
thread_local Readers mine;

// The place where the record of the guard is linked, or the end of the list.
reader** Find(const void* guard) {
  reader** at = &mine.active;
  while (*at != nullptr && (*at)->guard != guard) at = &(*at)->next;
  return at;
}

}  // namespace

reader* find_reader(const void* guard) noexcept { return *Find(guard); }

reader* add_reader(const void* guard, size_t bytes) noexcept {
  reader* added = mine.unused;
  if (added != nullptr) {
    mine.unused = added->next;
  } else {
    added = new (std::nothrow) reader{};
    if (added == nullptr) std::abort();
  }
  if (added->capacity < bytes || added->copies == nullptr) {
    std::free(added->copies);
    added->capacity = static_cast<uint32_t>((std::max<size_t>(bytes, 1) + 63) & ~size_t{63});
    added->copies = static_cast<unsigned char*>(std::aligned_alloc(64, added->capacity));
    if (added->copies == nullptr) std::abort();
  }
  std::fill_n(added->copies, bytes, static_cast<unsigned char>(0));
  added->guard = guard;
  added->depth = 1;
  added->next = mine.active;
  mine.active = added;
  return added;
}

void remove_reader(const void* guard) noexcept {
  reader** const at = Find(guard);
  reader* const removed = *at;
  if (removed == nullptr) return;
  *at = removed->next;
  removed->next = mine.unused;
  mine.unused = removed;
}

}  // namespace redflag::tolerate
