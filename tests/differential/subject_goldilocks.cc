// goldilocks is precise: it must agree with the oracle. Once as it is, and once with an event list so short that it is
// trimmed and evaluated eagerly all the time: traces of a few hundred events would not fill the real one. And as it runs inside programs, where
// what its locksets say of each race is held against what clocks say, element by element.
#include <set>
#include <sstream>

#include "base/mem.h"
#include "clocks/opened_packed_cell.h"
#include "detectors/goldilocks.h"
#include "detectors/goldilocks_online.h"
#include "tests/differential/compare.h"
#include "tests/differential/subject.h"

namespace redflag {
namespace {

struct ShortList {
  static constexpr uint32_t kBlockEvents = 3;
  static constexpr uint32_t kMaxBlocks = 1;
  static constexpr uint32_t kEventsPerHolder = 0;
};
struct ShortLog {
  static constexpr uint32_t kBlockEvents = 2;
  static constexpr uint32_t kBlocks = 6;
};

// What is wrong with the locksets of the trace that is being replayed.
thread_local std::ostringstream wrong_locksets;

// Who there is, so that each can be asked whether it knows of an access.
template <class Limits>
class WithOwnersChecked : public GoldilocksOnline<PlainMem, PackedCell, Limits> {
  using Base = GoldilocksOnline<PlainMem, PackedCell, Limits>;

 public:
  struct Thread : Base::Thread {
    Thread(WithOwnersChecked& d, Tid id) : Base::Thread(d, id), detector(d) { d.threads_.insert(this); }
    ~Thread() { detector.threads_.erase(this); }
    WithOwnersChecked& detector;
  };
  struct Sync : Base::Sync {
    explicit Sync(WithOwnersChecked& d) : Base::Sync(d), detector(d) { d.syncs_.insert(this); }
    ~Sync() { detector.syncs_.erase(this); }
    Sync(const Sync&) = delete;
    Sync& operator=(const Sync&) = delete;
    WithOwnersChecked& detector;
  };

  ByteMask OnAccess(Thread& t, typename Base::Cell& cell, const Access& access, RaceRecord& record) {
    const ByteMask raced = Base::OnAccess(t, cell, access, record);
    if (Any(raced)) {
      for (uint32_t i = 0; i < record.earlier_count; ++i)
        Check(t, record.earlier[i].thread, Epoch{record.earlier[i].label});
    }
    return raced;
  }

 private:
  void Check(Thread& t, Tid owner, Epoch label) {
    typename OwnershipLog<PlainMem, Limits>::Owners owners(arena_);
    uint64_t walked = 0;
    if (!Base::log().Evaluate(owner, label, owners, walked)) {
      if (Limits::kBlocks == OwnershipLogLimits::kBlocks) wrong_locksets << "forgotten at once; ";
      return;
    }
    const auto has = [&](Element element) { return owners.Find(Raw(element)) != nullptr; };
    const auto complain = [&](const char* what, Element element, bool is_there) {
      wrong_locksets << "LS of an access of T" << Raw(owner) << (is_there ? " has " : " lacks ") << what << " "
                     << IdOf(element) << "; ";
    };
    if (has(t.elements.self())) complain("the thread that races,", t.elements.self(), true);
    for (Thread* thread : threads_) {
      const Element element = thread->elements.self();
      if (thread->clock.Knows(label) != has(element)) complain("thread", element, has(element));
    }
    for (Sync* sync : syncs_) {
      const auto knows = [&](const VectorClock<PlainMem>& clock) { return clock.Knows(label); };
      const Element carried = sync->element(ElementKind::kCarried), exclusive = sync->element(ElementKind::kExclusive);
      const Element shared = sync->element(ElementKind::kShared);
      if (knows(sync->carried) != has(carried)) complain("signal", carried, has(carried));
      if (knows(sync->released_exclusive) != has(exclusive)) complain("lock", exclusive, has(exclusive));
      // What readers have left is part of what the next unlock leaves, and clocks forget it then.
      if (has(shared) ? !knows(sync->released_shared) && !knows(sync->released_exclusive)
                      : knows(sync->released_shared)) {
        complain("readers of lock", shared, has(shared));
      }
    }
  }

  Arena<PlainMem> arena_;
  std::set<Thread*> threads_;
  std::set<Sync*> syncs_;
};

template <class D, oracle::CommitArcs kCommits = oracle::CommitArcs::kCommon>
std::optional<std::string> FindDisagreementOfOwners(const Trace& trace) {
  wrong_locksets.str("");
  std::optional<std::string> wrong = FindDisagreement<D, kCommits>(trace);
  if (!wrong_locksets.str().empty()) wrong = wrong.value_or("") + wrong_locksets.str();
  return wrong;
}

const RegisterSubject kGoldilocks{"goldilocks", FindDisagreement<Goldilocks<PlainMem>>};
const RegisterSubject kGoldilocksShort{"goldilocks-short", FindDisagreement<Goldilocks<PlainMem, ShortList>>};
const RegisterSubject kGoldilocksByReads{
    "goldilocks-reads", FindDisagreement<ByReads<Goldilocks<PlainMem, ShortList>>, oracle::CommitArcs::kReads>};
const RegisterSubject kGoldilocksOnline{"goldilocks-online",
                                        FindDisagreementOfOwners<WithOwnersChecked<OwnershipLogLimits>>};
const RegisterSubject kGoldilocksOnlineShort{"goldilocks-online-short",
                                             FindDisagreementOfOwners<WithOwnersChecked<ShortLog>>};
const RegisterSubject kGoldilocksOnlineByReads{
    "goldilocks-online-reads",
    FindDisagreementOfOwners<ByReads<WithOwnersChecked<OwnershipLogLimits>>, oracle::CommitArcs::kReads>};

}  // namespace
}  // namespace redflag
