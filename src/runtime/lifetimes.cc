// Blocks of the heap and pages of the program: where they begin and end, and what that means for the cells of their bytes. The table of
// blocks is for reports, and for detectors that keep a cell for each object.
//
// Called by the thread that allocates, frees, maps or unmaps, inside the runtime.
#include "events/event.h"
#include "runtime/benign.h"
#include "runtime/runtime.h"
#include "runtime/watch.h"

namespace redflag::rt {

uint32_t Runtime::NewBlock(Thread& t, const BlockInfo& block) {
  if (t.spare_block_count == 0) {
    ScopedLock guard(blocks_lock_);
    while (t.spare_block_count < Thread::kSpareBlocks / 2) {
      uint32_t index = free_block_;
      if (index != 0) {
        free_block_ = static_cast<uint32_t>(blocks_[index].begin);
      } else {
        index = next_block_;
        if (index >= kMaxBlocks) break;
        ++next_block_;
      }
      t.spare_blocks[t.spare_block_count++] = index;
    }
    if (t.spare_block_count == 0) return 0;
  }
  const uint32_t index = t.spare_blocks[--t.spare_block_count];
  blocks_[index] = block;
  return index;
}

void Runtime::FreeBlock(Thread& t, uint32_t index) {
  blocks_[index] = BlockInfo{.begin = 0, .bytes = 0, .context = kNoContext, .thread = kNoThread};
  if (t.spare_block_count == Thread::kSpareBlocks) GiveBlocksBack(t, Thread::kSpareBlocks / 2);
  t.spare_blocks[t.spare_block_count++] = index;
}

void Runtime::GiveBlocksBack(Thread& t, uint32_t keep) {
  ScopedLock guard(blocks_lock_);
  while (t.spare_block_count > keep) {
    const uint32_t index = t.spare_blocks[--t.spare_block_count];
    blocks_[index].begin = free_block_;
    free_block_ = index;
  }
}

void Runtime::Allocated(Thread& t, uint64_t block, uint64_t bytes, uint64_t place) {
  if (block == 0) return;
  if (t.mode.locks_to_log) LogLocks(t);
  const ContextId context = t.ContextOf(contexts_, place | static_cast<uint64_t>(PlaceFlag::kAlloc));
  const BlockInfo info{.begin = block, .bytes = bytes, .context = context, .thread = t.state.tid};
  const uint32_t index = NewBlock(t, info);
  __atomic_store_n(shadow_.BlockAt(block), index, __ATOMIC_RELEASE);
  CoverPages(info, index);
  if (t.Ignores(AccessKind::kWrite)) return BeginAnew(t, block, bytes);  // not a write, but the end of what was there
  const MemoryNote note(*this, t, EventKind::kAlloc, block, bytes, place | static_cast<uint64_t>(PlaceFlag::kAlloc));
  // The allocation is the first write. Pages of large blocks that were never touched have no past, and need no first write to
  // end it.
  DetectorLife life(detector_, t.state, block, bytes, AccessOrigin::kAlloc, context);
  ForEachTouched(block, bytes, [&](uint64_t first, uint64_t count) {
    if (kIgnoresLines) ForgetLines(first, count);
    regions_.ForEach(first, count, [&](uint64_t begin, uint64_t size, bool is_own) {
      uint64_t at = begin;
      if (at % kGranule == 0) {
        at += life.BeginWhole(static_cast<Detector::Cell*>(shadow_.CellAt(at)), size / kGranule, is_own) * kGranule;
      }
      for (; at < begin + size; at = (at | (kGranule - 1)) + 1) {
        auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(at));
        life.Begin(cell, at & ~(kGranule - 1), MaskOf(Addr{at}, begin + size - at), is_own);
      }
    });
  });
}

void Runtime::Freeing(Thread& t, uint64_t block, uint64_t place, bool is_reused) {
  uint32_t* at_block = shadow_.BlockAt(block);
  const uint32_t index = __atomic_exchange_n(at_block, 0, __ATOMIC_ACQ_REL);
  if (index == 0) return;
  const BlockInfo info = blocks_[index];
  CoverPages(info, 0);
  FreeBlock(t, index);
  const bool is_ignored = t.Ignores(AccessKind::kWrite);
  const uint64_t free_place = place | static_cast<uint64_t>(PlaceFlag::kFree);
  const MemoryNote note(*this, t, is_ignored ? EventKind::kForget : EventKind::kFree, block, info.bytes, free_place);
  syncs_.Remove(block, info.bytes);
  ForgetBenign(block, info.bytes);
  Policies::ForgetMemory(block, info.bytes);
  Watch::End(*this, block, info.bytes);
  constexpr uint64_t kMayGoBack = uint64_t{128} << 10;  // to the system, which may put something else there
  ForEachTouched(block, info.bytes, [&](uint64_t first, uint64_t count) {
    if (is_ignored) return;
    if (kIsBoxed) {
      FreeCells(t, first, count, free_place);
    } else {
      FreeRange(t, first, count, free_place, is_reused || info.bytes >= kMayGoBack);
    }
    if (kIgnoresLines) ForgetLines(first, count);
  });
  constexpr uint64_t kLarge = uint64_t{256} << 10;
  if (info.bytes < kLarge) return;
  if (Recorder::is_on()) Recorder::Note(t, Event::OnMemory(EventKind::kForget, t.state.tid, Addr{block}, info.bytes));
  ForgetPages(block, info.bytes);
}

// Of large blocks, the first bytes only, as the rest is seldom what is used. Not in a recording, where a free is a write like others, as it is to
// whoever reads that.
void Runtime::FreeRange(Thread& t, uint64_t addr, uint64_t bytes, uint64_t place, bool is_reused) {
  constexpr uint64_t kMostBytes = 1024;
  uint64_t at = addr;
  if constexpr (kGoesByOrder) {
    if (flags_.report_use_after_free && !is_reused && !Recorder::is_on()) {
      if (t.mode.locks_to_log) LogLocks(t);
      ContextId context = t.ContextOf(contexts_, place);
      const PackedAccess free(t.now | uint64_t{Raw(AccessKind::kWrite)} << PackedAccess::kKindShift | Raw(context));
      const uint64_t end = addr + (bytes < kMostBytes ? bytes : kMostBytes);
      while (at < end) {
        at = EndQuickly(t, at, Regions::EndOf(at) < end ? Regions::EndOf(at) : end, free);
        if (at >= end) break;
        const uint64_t granule = at & ~(kGranule - 1);
        const ByteMask here = MaskOf(Addr{at}, end - at);
        AccessCell<false>(t, granule, here, AccessKind::kWrite, place, context, addr, bytes);
        const Regions::Stay stay(regions_, granule);
        detector_.End(*static_cast<Detector::Cell*>(shadow_.CellAt(granule)), free.With(here));
        at = granule + kGranule;
      }
    }
  }
  if (at < addr + bytes) ExamineRange(t, at, addr + bytes - at, AccessKind::kWrite, place);
}

// Of the cells from `cell` to `last`, how many this is quickly done for.
template <bool kIsAlone, class Clock>
[[gnu::always_inline]] static inline uint64_t EndWhole(const Clock& clock, Detector::Cell* cell, Detector::Cell* last,
                                                       PackedAccess free) {
  const auto* const first = cell;
  const auto fresh = Detector::Cell::FreedBy(free);
  Detector::Cell::Words known{};
  while (cell != last && cell->EndsQuickly(clock, free, fresh, kIsAlone, known)) ++cell;
  return static_cast<uint64_t>(cell - first);
}

// The part of [addr, end) of which this is quickly done: where it ends. All of it is in one region.
uint64_t Runtime::EndQuickly(Thread& t, uint64_t addr, uint64_t end, PackedAccess free) {
  if (addr % kGranule != 0) return addr;
  const PackedAccess whole = free.With(kAllBytes);
  const Regions::Stay stay(regions_, addr);
  auto* const cell = static_cast<Detector::Cell*>(shadow_.CellAt(addr));
  auto* const last = cell + (end - addr) / kGranule;
  const auto& clock = Detector::ClockOf(t.state);
  const uint64_t count =
      stay.is_owner() ? EndWhole<true>(clock, cell, last, whole) : EndWhole<false>(clock, cell, last, whole);
  Detector::Count(t.state, AccessKind::kWrite, count);
  return addr + count * kGranule;
}

// A free is a write, and begins another life. Cells that share their past are looked at once.
void Runtime::FreeCells(Thread& t, uint64_t addr, uint64_t bytes, uint64_t place) {
  if (t.mode.locks_to_log) LogLocks(t);
  ContextId context = t.ContextOf(contexts_, place);
  DetectorLife life(detector_, t.state, addr, bytes, AccessOrigin::kFree, context);
  for (uint64_t at = addr; at < addr + bytes; at = (at | (kGranule - 1)) + 1) {
    auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(at));
    const uint64_t granule = at & ~(kGranule - 1);
    const ByteMask here = MaskOf(Addr{at}, addr + bytes - at);
    if (life.EndsAnother(cell)) {
      AccessCell<true>(t, granule, here, AccessKind::kWrite, place, context, addr, bytes);
    }
    life.Begin(cell, granule, here, false);
  }
}

void Runtime::ForgetCells(uint64_t addr, uint64_t bytes) {
  ForEachTouched(addr, bytes, [&](uint64_t first, uint64_t count) {
    regions_.ForEach(first, count, [&](uint64_t begin, uint64_t size, bool) {
      for (uint64_t at = begin; at < begin + size; at = (at | (kGranule - 1)) + 1) {
        auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(at));
        detector_.Forget(cell, MaskOf(Addr{at}, begin + size - at));
      }
    });
  });
}

void Runtime::BeginAnew(Thread& t, uint64_t addr, uint64_t bytes) {
  const MemoryNote note(*this, t, EventKind::kForget, addr, bytes, 0, EventFlag::kCells);
  ForgetCells(addr, bytes);
  Watch::End(*this, addr, bytes);
}

void Runtime::Unmapped(Thread& t, uint64_t addr, uint64_t bytes) {
  const MemoryNote note(*this, t, EventKind::kForget, addr, bytes, 0);
  ForgetPages(addr, bytes);
}

void Runtime::ForgetPages(uint64_t addr, uint64_t bytes) {
  ForEachTouched(addr, bytes, [&](uint64_t first, uint64_t count) { syncs_.Remove(first, count); });
  ForgetCells(addr, bytes);
  ForgetBenign(addr, bytes);
  Policies::ForgetMemory(addr, bytes);
  Watch::End(*this, addr, bytes);
  shadow_.Release(addr, bytes);
}

void Runtime::CoverPages(const BlockInfo& block, uint32_t index) {
  constexpr uint64_t kPage = uint64_t{1} << Shadow::kPageShift;
  for (uint64_t at = (block.begin | (kPage - 1)) + 1; at < block.begin + block.bytes; at += kPage) {
    __atomic_store_n(shadow_.CoverAt(at), index, __ATOMIC_RELEASE);
  }
}

// The block may be freed while it is being looked at: then it is not the one that was asked for.
bool Runtime::FindBlock(uint64_t addr, BlockInfo& found) {
  const uint32_t* place = shadow_.CoverAt(addr);
  const uint64_t page = addr >> Shadow::kPageShift << Shadow::kPageShift;
  for (uint64_t at = addr & ~uint64_t{15}; at >= page; at -= 16) {
    if (__atomic_load_n(shadow_.BlockAt(at), __ATOMIC_RELAXED) == 0) continue;
    place = shadow_.BlockAt(at);
    break;
  }
  const uint32_t index = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (index == 0) return false;
  found = blocks_[index];
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(place, __ATOMIC_RELAXED) == index && addr - found.begin < found.bytes;
}

// ---- Memory that a collector of garbage manages ----

bool Runtime::NextBlock(uint64_t from, uint64_t to, BlockInfo& found) const {
  for (uint64_t at = from & ~uint64_t{15}; at < to; at += 16) {
    const uint32_t index = __atomic_load_n(shadow_.BlockAt(at), __ATOMIC_ACQUIRE);
    if (index == 0 || blocks_[index].begin < from || blocks_[index].begin >= to) continue;
    found = blocks_[index];
    return true;
  }
  return false;
}

void Runtime::Collected(Thread& t, uint64_t addr, uint64_t bytes) {
  BlockInfo block = {};
  for (uint64_t at = addr; NextBlock(at, addr + bytes, block); at = block.begin + 1) {
    CoverPages(block, 0);
    FreeBlock(t, __atomic_exchange_n(shadow_.BlockAt(block.begin), 0, __ATOMIC_ACQ_REL));
  }
  syncs_.Remove(addr, bytes);
  BeginAnew(t, addr, bytes);
}

// One after the other, those first that others would come to lie on.
void Runtime::Moved(Thread& t, uint64_t from, uint64_t to, uint64_t bytes) {
  if (from == to || bytes == 0) return;
  const bool is_up = to > from;
  const auto move = [&](uint64_t at) {
    const uint32_t index = __atomic_load_n(shadow_.BlockAt(at), __ATOMIC_ACQUIRE);
    if (index == 0 || blocks_[index].begin - from >= bytes) return;
    BlockInfo& block = blocks_[index];
    CoverPages(block, 0);
    __atomic_store_n(shadow_.BlockAt(at), 0, __ATOMIC_RELEASE);
    block.begin += to - from;
    __atomic_store_n(shadow_.BlockAt(block.begin), index, __ATOMIC_RELEASE);
    CoverPages(block, index);
  };
  const uint64_t first = from & ~uint64_t{15};
  const uint64_t last = (from + bytes - 1) & ~uint64_t{15};
  for (uint64_t i = 0; i <= last - first; i += 16) move(is_up ? last - i : first + i);
  syncs_.Move(from, to, bytes);
  BeginAnew(t, from, bytes);
  BeginAnew(t, to, bytes);
}

}  // namespace redflag::rt
