// PackedAccess: one remembered access in a word, where memory is dear (docs/shadow.md):
//
//   63       44 43  42 41      32 31    24 23          0
//   [  time   ][ kind ][  slot   ][ bytes  ][  context  ]
//
// A word without bytes is no access. This file is the only one that knows where the fields are; the runtime's access path takes
// the shifts from here. Values: no state, no locks.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "clocks/epoch.h"
#include "clocks/history_entry.h"
#include "events/access.h"

namespace redflag {

class PackedAccess {
 public:
  static constexpr int kContextBits = 24, kBytesShift = 24, kSlotShift = 32, kKindShift = 42, kTimeShift = 44;
  static constexpr uint32_t kMaxSlots = 1u << (kKindShift - kSlotShift);
  static constexpr uint64_t kMaxTime = (uint64_t{1} << (64 - kTimeShift)) - 1;
  static constexpr uint32_t kMaxContext = (1u << kContextBits) - 1;

  static constexpr uint64_t kBytesField = uint64_t{0xff} << kBytesShift;
  static constexpr uint64_t kSlotField = uint64_t{kMaxSlots - 1} << kSlotShift;
  static constexpr uint64_t kKindField = uint64_t{3} << kKindShift;
  static constexpr uint64_t kTimeField = kMaxTime << kTimeShift;

  constexpr explicit PackedAccess(uint64_t word = 0) : word_(word) {}
  constexpr PackedAccess(Epoch epoch, AccessKind kind, ByteMask bytes, ContextId context)
      : word_((Label(TimeOf(epoch)) << kTimeShift) | (uint64_t{Raw(kind)} << kKindShift) |
              (uint64_t{Raw(SlotOf(epoch))} << kSlotShift) | (uint64_t{Raw(bytes)} << kBytesShift) | Raw(context)) {}
  explicit PackedAccess(const HistoryEntry& entry)
      : PackedAccess(entry.epoch, entry.kind, entry.bytes, entry.context) {}

  constexpr uint64_t word() const { return word_; }
  constexpr ByteMask bytes() const { return ByteMask(static_cast<uint8_t>(word_ >> kBytesShift)); }
  constexpr AccessKind kind() const { return AccessKind(word_ >> kKindShift & 3); }
  constexpr ContextId context() const { return ContextId(word_ & kMaxContext); }
  constexpr Slot slot() const { return Slot(word_ >> kSlotShift & (kMaxSlots - 1)); }
  constexpr Epoch epoch() const { return MakeEpoch(slot(), Time{word_ >> kTimeShift}); }

  // The same access to other bytes; none: no access.
  constexpr PackedAccess With(ByteMask bytes) const {
    if (!Any(bytes)) return PackedAccess();
    return PackedAccess((word_ & ~(uint64_t{0xff} << kBytesShift)) | (uint64_t{Raw(bytes)} << kBytesShift));
  }
  // Do they differ in their bytes only?
  constexpr bool SameAccess(PackedAccess other) const {
    return ((word_ ^ other.word_) & ~(uint64_t{0xff} << kBytesShift)) == 0;
  }

  constexpr Time time() const { return Time{word_ >> kTimeShift}; }

  // Does this one make `access` redundant: the same thread and time, no byte less, and no weaker a kind?
  constexpr bool Covers(PackedAccess access) const {
    return (((word_ ^ access.word_) & (kTimeField | kSlotField)) |
            (access.word_ & ~word_ & (kBytesField | kKindField))) == 0;
  }
  // A byte in common, a write among the two, and not both atomic?
  constexpr bool ConflictsWith(PackedAccess access) const {
    return (word_ & access.word_ & kBytesField) != 0 && (~(word_ | access.word_) & kKindField) == 0;
  }

  constexpr bool SameSlot(PackedAccess other) const { return ((word_ ^ other.word_) & kSlotField) == 0; }
  // Of the same thread, at the same time, and of the same kind?
  constexpr bool SameMoment(PackedAccess other) const { return (word_ ^ other.word_) >> kSlotShift == 0; }
  // Is it another time of the same: by the same thread, to the same bytes, of the same kind?
  constexpr bool IsRenewedBy(PackedAccess other) const {
    return ((word_ ^ other.word_) & (kSlotField | kBytesField | kKindField)) == 0;
  }
  // Both in one, `other` being the later; no access if that can't be.
  template <class Mix>
  PackedAccess And(PackedAccess other, Mix mix) const {
    if (Contains(other.bytes(), bytes())) return other;
    ContextId context = this->context();
    if (context != other.context()) context = mix(context, other.context(), other.bytes());
    if (context == kNoContext) return PackedAccess();
    return PackedAccess(epoch(), kind(), bytes() | other.bytes(), context);
  }

  // ---- Freed memory (packed_cell.h): two words that stand for the free, as an access that no thread ever knows of ----

  static constexpr Slot kFreedSlot{kMaxSlots - 1};  // nobody's

  // Whoever comes, also the thread itself, comes unordered after this one.
  constexpr PackedAccess AsFreed() const {
    return PackedAccess(MakeEpoch(kFreedSlot, Time{kMaxTime - 1}), AccessKind::kWrite, bytes(), context());
  }
  constexpr bool is_freed() const { return slot() == kFreedSlot; }
  // Beside it, who freed and when. The weakest of all kinds: the thread would find its own accesses of the same time redundant.
  constexpr PackedAccess AsFreer() const { return PackedAccess(epoch(), AccessKind::kAtomicRead, bytes(), context()); }
  constexpr bool IsFreerOf(PackedAccess freed) const {
    return kind() == AccessKind::kAtomicRead && context() == freed.context() && !is_freed() && freed.is_freed();
  }

  // Times that don't fit are taken for the last one that does: whoever knows that one is taken to know them all.
  static constexpr uint64_t Label(Time time) { return Raw(time) < kMaxTime ? Raw(time) : kMaxTime; }

  HistoryEntry Unpacked() const {
    return HistoryEntry{.epoch = epoch(), .context = context(), .bytes = bytes(), .kind = kind()};
  }

 private:
  uint64_t word_;
};

}  // namespace redflag
