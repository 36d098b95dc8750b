// What a thread keeps at hand: the words that the access path reads on every call, in thread-local storage, so that each is one
// instruction away. Everything else of a thread is behind `thread`.
//
// The program has them, if the entry points are linked into it (entry_points.cc), else the runtime library. They are one interface: REDFLAG_LINKED.
//
// A thread that the runtime does not know yet has a tag that nothing equals, shadow that is one empty cell, and no room for
// frames: whatever it does first takes the slow path, which makes its acquaintance.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "clocks/packed_access.h"
#include "runtime/planes.h"

namespace redflag::rt {

// Of accesses that the user does not want to be watched: they are not recorded. No node of the tree of contexts.
inline constexpr ContextId kIgnoredContext{1};

// A call that is on the stack: where it returns to, and its node of the calling-context tree once somebody needed it.
struct Frame {
  uint64_t pc;
  uint64_t trail;   // stands for this call and all below: a stack that was seen before is known by it at a glance
  ContextId node;   // kNoContext: not known yet
  bool is_ignored;  // of one whose node is known: nothing that it calls is to be watched (marked_code.h)
};

// 64 bits that tell stacks apart: that two of the 16 million that a process can have are taken for one has a probability of 2^-17.
inline uint64_t TrailOf(uint64_t below, uint64_t pc) {
  const uint64_t turned = below << 23 | below >> 41;
  return (turned ^ pc) * 0x9e3779b97f4a7c15u;
}

class Thread;

// As an owner of regions: whoever has no regions of its own (regions.h).
inline constexpr uint16_t kOwnsNoRegion = 0xfffe;

struct Local {
  uint64_t tag;  // a plain write of 8 bytes now, above its context (PackedAccess): what the filter compares with
  char* cells;   // the cell of address a is at cells + 2 * (a & fold)
  uint64_t fold;
  Frame* top;        // one past the innermost frame
  Frame* bottom;     // `top` without a frame; where `limit` is while there are calls for which there was no room
  Frame* limit;      // there is no room from here on
  Thread* thread;    // null: not known yet
  int64_t homes[2];  // of the thread's slot in records, in small ones the second (PackedRecord::HomeOffset)
  Slot slot;         // that labels are of now, and the homes
  uint64_t now;    // the time, and all bytes: what a word of `seen` ends with for an access that need not be looked at
  uint64_t* seen;  // data with records that this thread has used (SeenWord)
  uint32_t* regions;  // who owns which memory (regions.h)
  uint32_t* window;   // the region that the thread is in, for others to see
  uint16_t owner;     // what the thread's own regions say
  PlaneOf* planes;    // where its planes are (planes.h)
};

// Shared data is in records, a cache line for 8 bytes of the program. What a thread has found there it notes in a table of its
// own, 8 bytes for 8, at the place that the address says:
//
//   [ write ][ address above the index ][ time ][ bytes ]
//
// Writes stand in the other half of the table than reads of the same address. Others need not be asked, and need not tell:
// whatever they do, an access that repeats one of the same thread at the same time adds nothing to it. Where threads go back to earlier times the visit takes the place of the time
// (Thread::NextVisit): what the thread did elsewhere meanwhile may have taken the place of what was seen.
inline constexpr int kSeenIndexBits = 15;
inline constexpr uint64_t kSeenWords = uint64_t{1} << kSeenIndexBits;
inline constexpr int kSeenTimeShift = 8;
inline constexpr int kSeenAddressShift = 28;
inline uint64_t SeenIndex(uint64_t addr, bool is_write) {
  return (addr >> 3 ^ (is_write ? kSeenWords / 2 : 0)) & (kSeenWords - 1);
}
inline uint64_t SeenWord(uint64_t addr, uint64_t now, bool is_write) {
  return uint64_t{is_write} << 63 | addr >> (3 + kSeenIndexBits) << kSeenAddressShift | now;
}

// The names by which entry points that are linked into a program and the runtime library know each other. The number is another one whenever anything changes that both
// know: Local, Frame, PlaneOf, what these functions are called for. A program that was linked with other ones is then refused by the dynamic linker.
#define REDFLAG_LINKED(name) __redflag_linked1_##name
static_assert(sizeof(Local) == 128 && sizeof(Frame) == 24 && sizeof(PlaneOf) == 16 && Planes::kRemembered == 4096);

// What a thread that nobody knows has in place of shadow.
extern "C" {
extern __attribute__((visibility("default"))) char REDFLAG_LINKED(unknown_cell)[16];
extern __attribute__((visibility("default"))) uint64_t REDFLAG_LINKED(unknown_seen)[kSeenWords];
extern __attribute__((visibility("default"))) PlaneOf REDFLAG_LINKED(unknown_planes)[Planes::kRemembered];
}
inline constexpr Local kUnknown = {.tag = 0,
                                   .cells = REDFLAG_LINKED(unknown_cell),
                                   .fold = 0,
                                   .top = nullptr,
                                   .bottom = nullptr,
                                   .limit = nullptr,
                                   .thread = nullptr,
                                   .homes = {},
                                   .slot = {},
                                   .now = 0,
                                   .seen = REDFLAG_LINKED(unknown_seen),
                                   .regions = nullptr,
                                   .window = nullptr,
                                   .owner = kOwnsNoRegion,
                                   .planes = REDFLAG_LINKED(unknown_planes)};

#ifdef REDFLAG_IN_PROGRAM
#define REDFLAG_TLS_MODEL "local-exec"
#else
#define REDFLAG_TLS_MODEL "initial-exec"
#endif
extern __attribute__((tls_model(REDFLAG_TLS_MODEL),
                      visibility("default"))) thread_local constinit Local local asm("__redflag_linked1_local");

inline uint64_t NowOf(Time time) { return PackedAccess::Label(time) << kSeenTimeShift | 0xff; }

// A call begins. "no": there is no room, or the thread is not known yet.
[[gnu::always_inline]] inline bool Enter(uint64_t pc) {
  Frame* top = local.top;
  if (top == local.limit) [[unlikely]]
    return false;
  top->pc = pc;
  top->trail = TrailOf(top[-1].trail, pc);
  top->node = kNoContext;
  local.top = top + 1;
  return true;
}
// The innermost call ends. "no": it is not among the frames.
[[gnu::always_inline]] inline bool Leave() {
  Frame* top = local.top;
  if (top == local.bottom) [[unlikely]]
    return false;
  local.top = top - 1;
  return true;
}

// Notes that the calling thread has made an access now.
inline void NoteSeen(uint64_t addr, ByteMask bytes, bool is_write) {
  uint64_t& seen = local.seen[SeenIndex(addr, is_write)];
  const uint64_t without_bytes = SeenWord(addr, local.now, is_write) & ~uint64_t{0xff};
  seen = ((seen ^ without_bytes) <= 0xff ? seen : without_bytes) | Raw(bytes);
}

inline uint64_t TagOf(Epoch epoch) {
  return PackedAccess(epoch, AccessKind::kWrite, kAllBytes, kNoContext).word() >> PackedAccess::kBytesShift;
}

}  // namespace redflag::rt
