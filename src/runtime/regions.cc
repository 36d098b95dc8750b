#include "runtime/regions.h"

#include "base/arena.h"
#include "runtime/fence.h"

namespace redflag::rt {

constexpr uint64_t kEntries = uint64_t{1} << (Shadow::kWindowBits - Regions::kShift);

void Regions::Start(bool can_own) {
  entries_ = static_cast<uint32_t*>(MapPages(kEntries * sizeof(uint32_t)));
  can_own_ = can_own && PrepareFences();
}

void Regions::Join() {
  local.regions = entries_;
  local.owner = kOwnsNothing;
  local.window = &places_[0].region;  // nobody looks there
  if (!can_own_) return;
  ScopedLock guard(lock_);
  for (uint32_t i = 1; i < kOwners; ++i) {
    if (places_[i].taken) continue;
    places_[i].taken = true;
    local.owner = static_cast<Owner>(i);
    local.window = &places_[i].region;
    return;
  }
}

void Regions::Leave() {
  if (local.owner == kOwnsNothing) return;
  ScopedLock guard(lock_);
  __atomic_store_n(local.window, 0, __ATOMIC_RELEASE);
  places_[local.owner].taken = false;
}

void Regions::BeginProcess() {
  for (uint32_t i = 0; i < kOwners; ++i) places_[i] = {.region = 0, .taken = i == local.owner};
  if (can_own_) PrepareFences();
}

void Regions::Reset() {
  ForgetPages(entries_, kEntries * sizeof(uint32_t));
  FenceEverybody();
}

void Regions::Take(uint32_t index) {
  uint32_t* entry = entries_ + index;
  ScopedLock guard(lock_);
  const uint32_t old = __atomic_load_n(entry, __ATOMIC_RELAXED);
  const auto owner = static_cast<Owner>(old);
  if (owner == local.owner || owner == kShared) return;
  uint32_t changes = 0;
  if (owner != kNobody) {
    __atomic_store_n(entry, kMoving, __ATOMIC_SEQ_CST);
    FenceEverybody();
    AtomicMem::Wait wait;
    while (__atomic_load_n(&places_[owner].region, __ATOMIC_ACQUIRE) == index + 1) wait.Once();
    changes = (old >> 16) + 1;
  }
  const bool mine = local.owner != kOwnsNothing && changes < kMostChanges;
  __atomic_store_n(entry, mine ? changes << 16 | local.owner : uint32_t{kShared}, __ATOMIC_RELEASE);
}

}  // namespace redflag::rt
