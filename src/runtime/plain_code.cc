#include "runtime/plain_code.h"

#include <sys/auxv.h>

#include "intercept/calls.h"
#include "runtime/environment.h"

namespace redflag::rt {

constinit PlainCode::Range PlainCode::ranges_[kMost] = {};
constinit uint32_t PlainCode::count_ = 0;
constinit bool PlainCode::is_full_ = false;

namespace {

// The libraries of the system that serve whoever calls them, and what is loaded to watch programs.
constexpr const char* kAnybodys[] = {"ld-linux",   "libc.so",    "libc-2",      "libc++",   "libc++abi",
                                     "libdl.so",   "libdl-2",    "libgcc_s",    "libm.so",  "libm-2",
                                     "libmvec",    "libpthread", "libredflag_", "librt.so", "librt-2",
                                     "libstdc++.", "libthr",     "libunwind",   "[vdso"};

bool StartsWith(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

bool IsAnybodys(const char* path) {
  const char* name = path;
  for (const char* at = path; *at != '\0'; ++at) {
    if (*at == '/') name = at + 1;
  }
  for (const char* prefix : kAnybodys) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

}  // namespace

void PlainCode::NoteInstrumented(uint64_t place) {
  if (is_full_) return;
  const uint32_t count = __atomic_load_n(&count_, __ATOMIC_RELAXED);
  if (Find(place, count) != nullptr) return;
  // The first call of all may come from the dynamic linker, on behalf of a program whose constructor has not run.
  if (count == 0) {
    Range main{.begin = 0, .bytes = 0, .is_anybodys = false};
    Add(main);
    ForEachMappedFile(
        [](const MappedFile& file, void*) {
          if (IsAnybodys(file.path)) Add({.begin = file.begin, .bytes = file.end - file.begin, .is_anybodys = true});
          return true;
        },
        nullptr);
    return NoteInstrumented(place);
  }
  ForEachMappedFile(
      [](const MappedFile& file, void* data) {
        const uint64_t wanted = *static_cast<uint64_t*>(data);
        if (wanted - file.begin >= file.end - file.begin) return true;
        const Range found{.begin = file.begin, .bytes = file.end - file.begin, .is_anybodys = false};
        if (const uint64_t entry = getauxval(AT_ENTRY); entry - found.begin < found.bytes) {
          ranges_[kMain].begin = found.begin;
          __atomic_store_n(&ranges_[kMain].bytes, found.bytes, __ATOMIC_RELEASE);
        } else {
          Add(found);
        }
        return false;
      },
      &place);
}

void PlainCode::Add(const Range& range) {
  const uint32_t count = __atomic_load_n(&count_, __ATOMIC_RELAXED);
  if (count == kMost) {
    is_full_ = true;
    __atomic_store_n(&count_, 0, __ATOMIC_RELEASE);
  }
  if (is_full_) return;
  ranges_[count] = range;
  __atomic_store_n(&count_, count + 1, __ATOMIC_RELEASE);
}

const PlainCode::Range* PlainCode::Find(uint64_t place, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (place - ranges_[i].begin < ranges_[i].bytes) return &ranges_[i];
  }
  return nullptr;
}

bool PlainCode::Looks(uint64_t place, uint32_t count) {
  const Range* range = Find(place, count);
  return range == nullptr || (range->is_anybodys && IsServed(count));
}

// Does the thread do what it does now for plain code? It has entered no function that was compiled for race detection; or the call that it made last is
// one that an interceptor tells of, such as operator new, and was made by plain code.
bool PlainCode::IsServed(uint32_t count) {
  const Thread* t = local.thread;
  if (t == nullptr || t->lost_frames != 0) return false;
  const Calls& calls = CurrentCalls();
  if (calls.open_count > Calls::kMostOpen) return false;
  const Frame* frame = local.top;
  for (uint32_t open = calls.open_count; frame > t->frames(); --frame) {
    if (open == 0 || frame[-1].pc != calls.open[--open].pc) return false;
    const Range* range = Find(frame[-1].pc, count);
    if (range == nullptr) return true;
    if (!range->is_anybodys) return false;
  }
  return true;
}

}  // namespace redflag::rt
