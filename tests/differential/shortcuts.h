// A detector whose cells are packed (clocks/packed_cell.h), used as the runtime does it: the shortcuts first, and contexts that stand for
// several.
#pragma once

#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "clocks/opened_packed_cell.h"
#include "events/access.h"
#include "events/race_record.h"

namespace redflag {

template <class D>
class WithShortcuts : public D {
 public:
  using typename D::Thread, typename D::Cell;
  static constexpr bool kIsByOrder = kIsOrderAll<std::remove_cvref_t<decltype(D::ClockOf(std::declval<Thread&>()))>>;

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    const PackedAccess mine(t.clock.epoch(), access.kind, access.bytes, access.context);
    if (cell.CoversInPlace(mine) || cell.Covers(mine)) return kNoBytes;
    is_alone_ = !is_alone_;
    if (Renews(cell, mine) || RecordsInOwn(cell, mine)) return kNoBytes;
    if (access.kind == AccessKind::kRead &&
        cell.template RecordsQuickly<AccessKind::kRead>(D::ClockOf(t), mine, is_alone_)) {
      return kNoBytes;
    }
    if (access.kind == AccessKind::kWrite &&
        cell.template RecordsQuickly<AccessKind::kWrite>(D::ClockOf(t), mine, is_alone_)) {
      return kNoBytes;
    }
    if (!IsAtomic(access.kind) && access.bytes != kAllBytes && cell.RecordsBeside(D::ClockOf(t), mine, is_alone_)) {
      return kNoBytes;
    }
    if (is_alone_ && !IsAtomic(access.kind) && cell.GoesOn(D::ClockOf(t), mine)) return kNoBytes;
    if (!IsWrite(access.kind) && cell.Refresh(D::ClockOf(t), mine, is_alone_)) return kNoBytes;
    const auto mix = [this](ContextId old, ContextId fresh, ByteMask bytes) { return Mix(old, fresh, bytes); };
    if (D::TakesShortcut(t, cell, mine, mix, is_alone_)) return kNoBytes;
    return Examine(t, cell, access, record);
  }

 protected:
  // As the runtime does it where nothing but the order of accesses counts.
  bool Renews(Cell& cell, PackedAccess mine) {
    if (!kIsByOrder || IsAtomic(mine.kind())) return false;
    const auto words = cell.Load();
    const Renewed which =
        IsWrite(mine.kind()) ? RenewedBy<AccessKind::kWrite>(mine, words) : RenewedBy<AccessKind::kRead>(mine, words);
    if (which != Renewed::kNone) return cell.Renews(words, which, mine, is_alone_);
    return is_alone_ && cell.RenewsInRecord(mine);
  }
  bool RecordsInOwn(Cell& cell, PackedAccess mine) {
    return kIsByOrder && is_alone_ && !IsAtomic(mine.kind()) && cell.RecordsInOwn(mine);
  }
  ByteMask Examine(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    const ByteMask raced = D::OnAccess(t, cell, access, record);
    if (Any(raced)) TakeApart(record);
    return raced;
  }
  ContextId Mix(ContextId old, ContextId fresh, ByteMask bytes) {
    mixed_.push_back({.old = old, .fresh = fresh, .bytes = bytes});
    return ContextId{kFirstMixed + static_cast<uint32_t>(mixed_.size()) - 1};
  }

 private:
  static constexpr uint32_t kFirstMixed = 1u << 20;  // above the events of any trace
  struct Mixed {
    ContextId old;
    ContextId fresh;
    ByteMask bytes;
  };

  void TakeApart(RaceRecord& record) {
    const RaceRecord whole = record;
    record.earlier_count = 0;
    record.earlier_total -= whole.earlier_count;
    for (uint32_t i = 0; i < whole.earlier_count; ++i) AddParts(record, whole.earlier[i]);
  }

  void AddParts(RaceRecord& record, AccessRecord access) {
    while (Raw(access.context) >= kFirstMixed) {
      const Mixed& mixed = mixed_[Raw(access.context) - kFirstMixed];
      AccessRecord part = access;
      part.bytes = access.bytes & mixed.bytes;
      part.context = mixed.fresh;
      if (Any(part.bytes)) AddParts(record, part);
      access.bytes = access.bytes & ~mixed.bytes;
      access.context = mixed.old;
    }
    if (Any(access.bytes)) record.AddEarlier(access);
  }

  std::vector<Mixed> mixed_;
  bool is_alone_ = false;  // both ways of recording, in turn
};

// The same, with reads apart from cells (runtime/planes.h) as long as nobody writes: a granule that was read by somebody else than before has a
// word for each reader, until there is another access to it.
template <class D>
class WithPlanes : public WithShortcuts<D> {
 public:
  using typename D::Thread, typename D::Cell;

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    Plane& plane = planes_[&cell];
    const bool changes_hands = plane.last != t.tid;
    plane.last = t.tid;
    if (access.kind != AccessKind::kRead) {
      TakeAllIn(cell);
      return WithShortcuts<D>::OnAccess(t, cell, access, record);
    }
    plane.is_read = plane.is_read || changes_hands;
    if (!plane.is_read) return WithShortcuts<D>::OnAccess(t, cell, access, record);
    const PackedAccess mine(t.clock.epoch(), access.kind, access.bytes, access.context);
    uint64_t& word = plane.words[mine.slot()];
    if (PackedAccess(word).Covers(mine) || cell.CoversInPlace(mine)) return kNoBytes;
    is_quick_ = !is_quick_;
    if (is_quick_ && cell.ReadsApartQuickly(D::ClockOf(t), &word, mine)) return kNoBytes;
    const auto mix = [this](ContextId old, ContextId fresh, ByteMask bytes) { return this->Mix(old, fresh, bytes); };
    if (D::ReadsApart(D::ClockOf(t), cell, &word, mine, mix)) return kNoBytes;
    using Clock = std::remove_cvref_t<decltype(D::ClockOf(t))>;
    if (!kIsOrderAll<Clock> && word != 0) D::TakeIn(cell, PackedAccess(std::exchange(word, 0)));
    return this->Examine(t, cell, access, record);
  }

  void Revive(Cell& cell, ByteMask bytes, const typename D::Stamp& stamp) {
    TakeAllIn(cell);
    D::Revive(cell, bytes, stamp);
  }
  template <class... Bytes>
  void Forget(Cell& cell, Bytes... bytes) {
    TakeAllIn(cell);
    D::Forget(cell, bytes...);
  }

 private:
  struct Plane {
    std::map<Slot, uint64_t> words;
    Tid last = kNoThread;
    bool is_read = false;
  };

  void TakeAllIn(Cell& cell) {
    const auto found = planes_.find(&cell);
    if (found == planes_.end()) return;
    for (const auto& [slot, word] : found->second.words) {
      if (word != 0) D::TakeIn(cell, PackedAccess(word));
    }
    found->second.words.clear();
    found->second.is_read = false;
  }

  std::map<Cell*, Plane> planes_;
  bool is_quick_ = false;  // both ways, in turn
};

}  // namespace redflag
