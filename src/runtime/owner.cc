#include "runtime/owner.h"

#include "runtime/environment.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

constexpr uint32_t kMostThreads =
    65536;  // that are looked at, the youngest first: they may have the stacks of older ones
constexpr uint64_t kNextToPointer = uint64_t{1} << 16;  // thread-local variables are so near to the thread pointer

struct Mapping {
  uint64_t addr;
  uint64_t begin, end;  // of the one that it is in
};

Mapping MappingOf(uint64_t addr) {
  Mapping mapping = {.addr = addr, .begin = 0, .end = 0};
  ForEachWritableMapping(
      [](uint64_t begin, uint64_t end, void* data) {
        auto& wanted = *static_cast<Mapping*>(data);
        if (wanted.addr < begin || wanted.addr >= end) return;
        wanted.begin = begin;
        wanted.end = end;
      },
      &mapping);
  return mapping;
}

bool IsFirstThread(const ThreadInfo& info) { return info.creator == kNoThread; }

}  // namespace

// libc puts a thread's variables on top of its stack, above the frames; those of the first thread are elsewhere.
bool FindOwner(Runtime& runtime, uint64_t addr, OwnedMemory& found) {
  const Mapping mapping = MappingOf(addr);
  if (mapping.end == 0) return false;
  const auto is_there = [&](uint64_t place) { return place >= mapping.begin && place < mapping.end; };
  const uint32_t count = runtime.thread_count();
  bool is_found = false;
  for (uint32_t i = count; i-- > 0 && count - i <= kMostThreads;) {
    const ThreadInfo& info = runtime.InfoOf(Tid{i});
    if (info.frame == 0) continue;
    const uint64_t distance = addr > info.thread_pointer ? addr - info.thread_pointer : info.thread_pointer - addr;
    const bool is_on_stack = is_there(info.frame) && (IsFirstThread(info) || addr < info.frame);
    if (!is_on_stack && (!is_there(info.thread_pointer) || distance >= kNextToPointer)) continue;
    const bool is_live = (info.flags & wire::kFinished) == 0;
    if (is_live || !is_found) {
      found = {.place = is_on_stack ? wire::Place::kStack : wire::Place::kTls,
               .thread = Tid{i},
               .thread_pointer = info.thread_pointer,
               .begin = mapping.begin,
               .end = mapping.end,
               .is_live = is_live};
    }
    is_found = true;
    if (is_live) break;
  }
  return is_found;
}

}  // namespace redflag::rt
