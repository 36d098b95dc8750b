#include "runtime/regions.h"

#include "base/arena.h"
#include "runtime/fence.h"

namespace redflag::rt {

constexpr uint64_t kEntries = uint64_t{1} << (Shadow::kWindowBits - Regions::kShift);

void Regions::Start(bool can_own, TakeIn take_in) {
  entries_ = static_cast<uint32_t*>(MapPages(kEntries * sizeof(uint32_t)));
  can_own_ = can_own && PrepareFences();
  if (!can_own_ || take_in == nullptr) return;
  take_in_ = take_in;
  planes_.Start(kEntries);
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
    if (i >= places_used_) places_used_ = i + 1;
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

void Regions::AwaitWindow(Owner owner, uint32_t index) const {
  AtomicMem::Wait wait;
  while (__atomic_load_n(&places_[owner].region, __ATOMIC_ACQUIRE) == index + 1) wait.Once();
}

void Regions::Take(uint32_t index, bool to_read) {
  uint32_t* entry = entries_ + index;
  ScopedLock guard(lock_);
  const uint32_t old = __atomic_load_n(entry, __ATOMIC_RELAXED);
  const auto owner = static_cast<Owner>(old);
  const bool has_place = local.owner != kOwnsNothing;
  if (owner == local.owner || owner == kShared || (to_read && owner == kReading && has_place)) return;
  uint32_t changes = 0;
  if (owner == kNobody) {
    __atomic_store_n(&entered_[PartOf(index)], true, __ATOMIC_RELAXED);
  } else {
    __atomic_store_n(entry, kMoving, __ATOMIC_SEQ_CST);
    FenceEverybody();
    if (owner != kReading) {
      AwaitWindow(owner, index);
    } else {
      for (uint32_t i = 1; i < places_used_; ++i) AwaitWindow(static_cast<Owner>(i), index);
      planes_.Detach(index, [&](uint32_t granule, uint64_t word) {
        take_in_((uint64_t{index} << kShift) + granule * uint64_t{8}, word);
      });
    }
    changes = (old >> 16) + 1;
  }
  const bool reads = to_read && owner != kNobody && take_in_ != nullptr;
  const uint32_t next = reads ? uint32_t{kReading} : uint32_t{local.owner};
  __atomic_store_n(entry, has_place && changes < kMostChanges ? changes << 16 | next : uint32_t{kShared},
                   __ATOMIC_RELEASE);
}

}  // namespace redflag::rt
