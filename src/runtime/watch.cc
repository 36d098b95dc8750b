#include "runtime/watch.h"

#include "base/mem.h"
#include "runtime/emit.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

constexpr uint32_t kPlaces = 32;
constinit Watched places[kPlaces] = {};
AtomicMem::Lock lock;  // of all of them

bool IsSeen(const Watched& watched, const Watched::Seen& seen) {
  for (uint32_t i = 0; i < watched.count; ++i) {
    const Watched::Seen& other = watched.seen[i];
    if (other.thread == seen.thread && other.label == seen.label && other.context == seen.context) return true;
  }
  return false;
}

}  // namespace

constinit uint64_t Watch::filter_[] = {};
constinit bool Watch::is_on_ = false;

// Bits are never missing meanwhile, of what is watched before and after.
void Watch::FillFilter() {
  uint64_t bits[kFilterBits / 64] = {};
  bool is_on = false;
  for (const Watched& watched : places) {
    if (watched.granule == 0) continue;
    bits[NumberOf(watched.cell) / 64] |= uint64_t{1} << NumberOf(watched.cell) % 64;
    is_on = true;
  }
  for (uint32_t i = 0; i < kFilterBits / 64; ++i) __atomic_store_n(&filter_[i], bits[i], __ATOMIC_RELAXED);
  __atomic_store_n(&is_on_, is_on, __ATOMIC_RELAXED);
}

void Watch::Begin(uint64_t granule, const void* cell, ByteMask racy, uint64_t sequence) {
  ScopedLock guard(lock);
  Watched* place = nullptr;  // a free one; else that of the oldest race, whose report waits no longer
  for (Watched& watched : places) {
    if (watched.granule == granule) return;
    if (place == nullptr || watched.granule == 0 || (place->granule != 0 && watched.sequence < place->sequence)) {
      place = &watched;
    }
  }
  __atomic_store_n(&place->granule, 0, __ATOMIC_RELAXED);
  place->sequence = sequence;
  place->racy = racy;
  place->cell = cell;
  place->count = 0;
  __atomic_store_n(&place->granule, granule, __ATOMIC_RELAXED);
  FillFilter();
}

void Watch::Stop(Watched& watched) {
  __atomic_store_n(&watched.granule, 0, __ATOMIC_RELAXED);
  FillFilter();
}

void Watch::See(Runtime& runtime, Thread& t, uint64_t granule, ByteMask bytes, AccessKind kind, ContextId context,
                uint64_t addr, uint64_t size) {
  for (Watched& watched : places) {
    if (__atomic_load_n(&watched.granule, __ATOMIC_RELAXED) != granule) continue;
    ScopedLock guard(lock);
    if (watched.granule != granule || !Any(bytes & watched.racy)) return;
    Watched::Seen& seen = watched.seen[watched.count];
    seen.label = t.now;
    seen.addr = addr;
    seen.bytes = static_cast<uint32_t>(size);
    seen.thread = t.state.tid;
    seen.kind = kind;
    seen.context = context;
    seen.locks.count = static_cast<uint32_t>(t.locks.size());
    for (uint32_t i = 0; i < seen.locks.count && i < LockLog::kMaxLocks; ++i) seen.locks.locks[i] = t.locks[i];
    if (IsSeen(watched, seen) || ++watched.count != Watched::kMost) return;
    TellWatched(runtime, watched);
    Stop(watched);
    return;
  }
}

bool Watch::MayBeOn(const void* first, uint64_t count) {
  if (count >= kFilterBits) return is_on();
  for (uint64_t i = 0; i < count;) {
    const uint64_t number = (NumberOf(first) + i) % kFilterBits;
    const uint64_t here = 64 - number % 64 < count - i ? 64 - number % 64 : count - i;
    const uint64_t bits = ~uint64_t{0} >> (64 - here) << number % 64;
    if ((__atomic_load_n(&filter_[number / 64], __ATOMIC_RELAXED) & bits) != 0) return true;
    i += here;
  }
  return false;
}

void Watch::End(Runtime& runtime, uint64_t addr, uint64_t bytes) {
  if (!is_on()) return;
  const uint64_t before = addr % kGranule;
  if (!MayBeOn(runtime.shadow().CellAt(addr - before), (bytes + before + kGranule - 1) / kGranule)) return;
  EndHere(runtime, addr, bytes);
}

// Out of line: most memory that ends is watched by nobody.
void Watch::EndHere(Runtime& runtime, uint64_t addr, uint64_t bytes) {
  ScopedLock guard(lock);
  for (Watched& watched : places) {
    if (watched.granule == 0 || watched.granule + kGranule <= addr || watched.granule >= addr + bytes) continue;
    TellWatched(runtime, watched);
    Stop(watched);
  }
}

void Watch::Clear() {
  lock = {};
  for (Watched& watched : places) watched.granule = 0;
  FillFilter();
}

}  // namespace redflag::rt
