// RaceTrack's state of one object, or of the bytes of one field, in two words: the paper's Figure 6. The whole encoding is
// in this file. The words are twice as wide as the paper's, so that a lockset fits beside a clock (Exclusive2) and two
// locks fit into a word as they are (3.3, note 3).
//
//   first word                          second word
//   63            32 31      4   3   2-0
//   0             0              0   0    ...          Virgin
//   thread + 1    0              0   0    ...          Exclusive0
//   thread + 1    0              0   1    label        Exclusive1
//   lockset                      g   2    ...          Shared-Read
//   lockset                      g   3    ...          Shared-Modify1
//   lockset                      g   4    label        Exclusive2
//   lockset                      g   5    threadset    Shared-Modify2
//   thread + 1    reports        0   6    ...          Race-Detected, of a field
//   address of the fields            7    ...          Race-Detected, of an object: refined
//
//   lockset, g = 0: the lock of bits 4-33 and the lock of bits 34-63, each as its id + 1, the smaller one first, 0: none;
//            g = 1: a LocksetId in bits 32-63; only for sets that do not fit otherwise, so equal words are equal sets
//   label:     an Epoch, <t, B_t(t)>; threadset: the address of an interned set (racetrack_threadset.h)
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "clocks/epoch.h"
#include "clocks/lockset.h"
#include "detectors/counted_locks.h"

namespace redflag {

// C_x and L_t as they are stored: up to two locks in place, larger sets by their id.
enum class PackedLockset : uint64_t {};
inline constexpr PackedLockset kNoLocks{0};

inline constexpr int kLockBits = 30;
inline constexpr uint64_t kLockMask = (uint64_t{1} << kLockBits) - 1;
inline constexpr int kFirstLockShift = 4;
inline constexpr int kSecondLockShift = kFirstLockShift + kLockBits;
inline constexpr uint64_t kByIdBit = 8;
inline constexpr uint64_t kTransactionCode = kLockMask;  // TL
static_assert(kSecondLockShift + kLockBits == 64);

// 0: the lock does not fit.
constexpr uint64_t CodeOf(HeldLock lock) {
  if (lock == kTransactionLock) return kTransactionCode;
  const uint64_t code = uint64_t{Raw(LockOf(lock))} + 1;
  return code < kTransactionCode ? code : 0;
}
constexpr HeldLock LockOfCode(uint64_t code) {
  if (code == kTransactionCode) return kTransactionLock;
  return MakeHeldLock(SyncId{static_cast<uint32_t>(code - 1)}, LockMode::kExclusive);
}
static_assert(CodeOf(LockOfCode(1)) == 1);
static_assert(CodeOf(LockOfCode(kTransactionCode)) == kTransactionCode);
static_assert(CodeOf(MakeHeldLock(SyncId{(1u << kLockBits) - 2}, LockMode::kExclusive)) == 0);

constexpr bool IsById(PackedLockset set) { return (Raw(set) & kByIdBit) != 0; }
constexpr PackedLockset PackId(LocksetId id) { return PackedLockset{(uint64_t{Raw(id)} << 32) | kByIdBit}; }
constexpr LocksetId IdOf(PackedLockset set) { return LocksetId{static_cast<uint32_t>(Raw(set) >> 32)}; }
constexpr PackedLockset PackCodes(uint64_t first, uint64_t second) {
  return PackedLockset{(first << kFirstLockShift) | (second << kSecondLockShift)};
}
constexpr uint64_t FirstCode(PackedLockset set) { return (Raw(set) >> kFirstLockShift) & kLockMask; }
constexpr uint64_t SecondCode(PackedLockset set) { return Raw(set) >> kSecondLockShift; }
static_assert(IdOf(PackId(LocksetId{UINT32_MAX})) == LocksetId{UINT32_MAX} && IsById(PackId(LocksetId{1})));
static_assert(FirstCode(PackCodes(5, kTransactionCode)) == 5);
static_assert(SecondCode(PackCodes(5, kTransactionCode)) == kTransactionCode);
static_assert(!IsById(PackCodes(kLockMask, kLockMask)));

template <class Mem>
PackedLockset Pack(LocksetTable<Mem>& table, LocksetId id) {
  const LocksetView view = table.View(id);
  if (view.count == 0) return kNoLocks;
  const uint64_t first = CodeOf(view.first[0]);
  const uint64_t second = view.count > 1 ? CodeOf(view.first[1]) : 0;
  const bool fits = view.count <= 2 && first != 0 && (view.count == 1 || second != 0);
  return fits ? PackCodes(first, second) : PackId(id);
}

// Calls visit(HeldLock) for each lock of the set.
template <class Mem, class Visitor>
void ForEachLock(LocksetTable<Mem>& table, PackedLockset set, Visitor visit) {
  if (IsById(set)) {
    for (const HeldLock lock : table.View(IdOf(set))) visit(lock);
    return;
  }
  if (FirstCode(set) != 0) visit(LockOfCode(FirstCode(set)));
  if (SecondCode(set) != 0) visit(LockOfCode(SecondCode(set)));
}

template <class Mem>
PackedLockset Intersect(LocksetTable<Mem>& table, PackedLockset a, PackedLockset b) {
  if (a == b) return a;
  if (a == kNoLocks || b == kNoLocks) return kNoLocks;
  if (IsById(a) && IsById(b)) return Pack(table, table.Intersect(IdOf(a), IdOf(b)));
  if (IsById(a)) return Intersect(table, b, a);
  uint64_t first = 0;
  uint64_t second = 0;
  ForEachLock(table, b, [&](HeldLock lock) {
    const uint64_t code = CodeOf(lock);
    if (code == FirstCode(a)) first = code;
    if (code == SecondCode(a)) second = code;
  });
  return first == 0 ? PackCodes(second, 0) : PackCodes(first, second);
}

struct TrackState {
  enum class Phase : uint8_t {
    kExclusive0,  // without a thread: Virgin
    kExclusive1,
    kSharedRead,
    kSharedModify1,
    kExclusive2,
    kSharedModify2,
    kRace,
    kRefined,
    kVirgin,  // never stored
  };
  static constexpr uint64_t kPhaseMask = 7;
  static_assert(static_cast<uint64_t>(Phase::kRefined) == kPhaseMask);

  uint64_t first = 0;
  uint64_t second = 0;

  bool operator==(const TrackState&) const = default;

  static TrackState Exclusive0(Tid thread) { return {WithThread(thread, Phase::kExclusive0), 0}; }
  static TrackState Exclusive1(Tid thread, Epoch label) { return {WithThread(thread, Phase::kExclusive1), Raw(label)}; }
  static TrackState SharedRead(PackedLockset locks) { return {WithLocks(locks, Phase::kSharedRead), 0}; }
  static TrackState SharedModify1(PackedLockset locks) { return {WithLocks(locks, Phase::kSharedModify1), 0}; }
  static TrackState Exclusive2(PackedLockset locks, Epoch label) {
    return {WithLocks(locks, Phase::kExclusive2), Raw(label)};
  }
  static TrackState SharedModify2(PackedLockset locks, const void* threadset) {
    return {WithLocks(locks, Phase::kSharedModify2), reinterpret_cast<uint64_t>(threadset)};
  }
  static TrackState Race(Tid thread, uint32_t reports) {
    return {WithThread(thread, Phase::kRace) | (uint64_t{reports} << kFirstLockShift), 0};
  }
  static TrackState Refined(const void* fields) {
    return {reinterpret_cast<uint64_t>(fields) | static_cast<uint64_t>(Phase::kRefined), 0};
  }

  Phase phase() const { return first == 0 ? Phase::kVirgin : static_cast<Phase>(first & kPhaseMask); }
  // Exclusive0, Exclusive1, Race.
  Tid thread() const { return Tid{static_cast<uint32_t>(first >> 32) - 1}; }
  // Shared-Read, Shared-Modify1, Exclusive2, Shared-Modify2.
  PackedLockset locks() const { return PackedLockset{first & ~kPhaseMask}; }
  // Exclusive1, Exclusive2.
  Epoch label() const { return Epoch{second}; }
  // Shared-Modify2.
  const void* threadset() const { return reinterpret_cast<const void*>(second); }
  // Race.
  uint32_t reports() const { return static_cast<uint32_t>(first) >> kFirstLockShift; }
  // Refined.
  void* fields() const { return reinterpret_cast<void*>(first & ~kPhaseMask); }

 private:
  static uint64_t WithThread(Tid thread, Phase phase) {
    return ((uint64_t{Raw(thread)} + 1) << 32) | static_cast<uint64_t>(phase);
  }
  static uint64_t WithLocks(PackedLockset locks, Phase phase) { return Raw(locks) | static_cast<uint64_t>(phase); }
};
static_assert(sizeof(TrackState) == 16);
static_assert(kNoThread == Tid{UINT32_MAX}, "thread + 1 never wraps for a real thread");

}  // namespace redflag
