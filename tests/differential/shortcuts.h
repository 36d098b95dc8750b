// A detector whose cells are packed (clocks/packed_cell.h), used as the runtime does it: the shortcuts first, and contexts that stand for
// several.
#pragma once

#include <vector>

#include "clocks/packed_cell.h"
#include "events/access.h"
#include "events/race_record.h"

namespace redflag {

template <class D>
class WithShortcuts : public D {
 public:
  using typename D::Thread, typename D::Cell;

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    const PackedAccess mine(t.clock.epoch(), access.kind, access.bytes, access.context);
    if (cell.CoversInPlace(mine) || cell.Covers(mine)) return kNoBytes;
    is_alone_ = !is_alone_;
    if (access.kind == AccessKind::kRead &&
        cell.template RecordsQuickly<AccessKind::kRead>(D::ClockOf(t), mine, is_alone_)) {
      return kNoBytes;
    }
    if (access.kind == AccessKind::kWrite &&
        cell.template RecordsQuickly<AccessKind::kWrite>(D::ClockOf(t), mine, is_alone_)) {
      return kNoBytes;
    }
    if (!IsWrite(access.kind) && cell.Refresh(D::ClockOf(t), mine, is_alone_)) return kNoBytes;
    const auto mix = [this](ContextId old, ContextId fresh, ByteMask bytes) {
      mixed_.push_back({.old = old, .fresh = fresh, .bytes = bytes});
      return ContextId{kFirstMixed + static_cast<uint32_t>(mixed_.size()) - 1};
    };
    if (D::TakesShortcut(t, cell, mine, mix, is_alone_)) return kNoBytes;
    const ByteMask raced = D::OnAccess(t, cell, access, record);
    if (Any(raced)) TakeApart(record);
    return raced;
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

}  // namespace redflag
