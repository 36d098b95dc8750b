// Shared libraries that come and go while the program runs.
//
// What dlclose unmapped has no past for whoever gets the addresses next. libc unmaps by itself, so which libraries are gone is seen by
// comparing lists. Destructors run inside: the place that called dlclose is on their stacks.
//
// dlopen searches by the run path of the file that calls it, and that must not be ours: the real one is jumped to. Only if somebody wants to know what
// comes (hooks::WatchesLibraries), and a path leaves nothing to search, it is called.
#include <dlfcn.h>
#include <link.h>

#include "base/tail_call.h"
#include "intercept/calls.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

struct Image {
  uintptr_t begin, end;
};

// The images that are loaded; what does not fit is taken to stay.
class Images {
 public:
  void Look() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
          auto& self = *static_cast<Images*>(data);
          self.unloads_ = info->dlpi_subs;
          return self.Add(*info) ? 0 : 1;
        },
        this);
  }
  bool Has(const Image& image) const {
    for (const Image& other : *this) {
      if (other.begin == image.begin && other.end == image.end) return true;
    }
    return false;
  }
  unsigned long long unloads() const { return unloads_; }
  const Image* begin() const { return images_; }
  const Image* end() const { return images_ + count_; }

 private:
  bool Add(const dl_phdr_info& info) {
    if (count_ == kMost) return false;
    Image image{.begin = UINTPTR_MAX, .end = 0};
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const auto& part = info.dlpi_phdr[i];
      if (part.p_type != PT_LOAD) continue;
      const uintptr_t begin = (info.dlpi_addr + part.p_vaddr) & ~uintptr_t{4095};
      const uintptr_t end = (info.dlpi_addr + part.p_vaddr + part.p_memsz + 4095) & ~uintptr_t{4095};
      if (begin < image.begin) image.begin = begin;
      if (end > image.end) image.end = end;
    }
    if (image.begin < image.end) images_[count_++] = image;
    return true;
  }

  static constexpr uint32_t kMost = 512;
  uint32_t count_ = 0;
  unsigned long long unloads_ = 0;
  Image images_[kMost];
};

// Does it mean the same file whoever opens it?
bool IsPath(const char* name) {
  bool has_slash = false;
  for (; name != nullptr && *name != '\0'; ++name) {
    if (*name == '$') return false;
    has_slash |= *name == '/';
  }
  return has_slash;
}

}  // namespace

REDFLAG_REAL(void*, dlopen, const char* name, int mode)

[[gnu::noinline]] static void* OpenAndTell(const char* name, int mode) {
  void* library = real::dlopen(name, mode);
  if (library != nullptr && hooks::Active()) hooks::LibrariesChanged();
  return library;
}

REDFLAG_EXPORT(void*, dlopen, const char* name, int mode) {
  if (IsPath(name) && hooks::WatchesLibraries()) return OpenAndTell(name, mode);
  const auto real_one = reinterpret_cast<void* (*)(const char*, int)>(real::dlopen.address());
  REDFLAG_TAIL_CALL real_one(name, mode);
}

REDFLAG_INTERCEPT(int, dlclose, void* library) {
  REDFLAG_LEFT_BY_EXCEPTIONS;
  if (!hooks::Active()) return real::dlclose(library);
  Images before;
  before.Look();
  hooks::Unloading();
  int result;
  {
    const Call call(REDFLAG_CALLER);
    result = real::dlclose(library);
  }
  Images after;
  after.Look();
  if (after.unloads() == before.unloads()) return result;
  for (const Image& image : before) {
    if (!after.Has(image)) hooks::Unloaded(reinterpret_cast<void*>(image.begin), image.end - image.begin);
  }
  if (hooks::WatchesLibraries()) hooks::LibrariesChanged();
  return result;
}

}  // namespace redflag
