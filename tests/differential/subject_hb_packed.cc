// hb as it runs inside programs, its cells in two words: it must agree with the oracle as well. Once with the general way alone,
// and once as the runtime does it: the shortcuts first, and contexts that stand for several.
#include <utility>
#include <vector>

#include "base/mem.h"
#include "clocks/packed_cell.h"
#include "detectors/hb.h"
#include "tests/differential/compare.h"
#include "tests/differential/subject.h"

namespace redflag {
namespace {

class HbWithShortcuts : public Hb<PlainMem, PackedCell> {
 public:
  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    const PackedAccess mine(t.clock.epoch(), access.kind, access.bytes, access.context);
    if (cell.CoversInPlace(mine) || cell.Covers(mine)) return kNoBytes;
    is_alone_ = !is_alone_;
    if (access.kind == AccessKind::kRead && cell.RecordsQuickly<AccessKind::kRead>(t.clock, mine, is_alone_)) {
      return kNoBytes;
    }
    if (access.kind == AccessKind::kWrite && cell.RecordsQuickly<AccessKind::kWrite>(t.clock, mine, is_alone_)) {
      return kNoBytes;
    }
    const auto mix = [this](ContextId old, ContextId fresh, ByteMask bytes) {
      mixed_.push_back({.old = old, .fresh = fresh, .bytes = bytes});
      return ContextId{kFirstMixed + static_cast<uint32_t>(mixed_.size()) - 1};
    };
    if (TakesShortcut(t, cell, mine, mix, is_alone_)) return kNoBytes;
    const ByteMask raced = Hb::OnAccess(t, cell, access, record);
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

}  // namespace

const RegisterSubject kHbPacked{"hb-packed", FindDisagreement<Hb<PlainMem, PackedCell>>};
const RegisterSubject kHbShortcuts{"hb-shortcuts", FindDisagreement<HbWithShortcuts>};

}  // namespace redflag
