// goldilocks is precise: it must agree with the oracle. Once as it is, and once with an event list so short that it is
// trimmed and evaluated eagerly all the time: traces of a few hundred events would not fill the real one.
#include "base/mem.h"
#include "detectors/goldilocks.h"
#include "tests/differential/compare.h"
#include "tests/differential/subject.h"

namespace redflag {
namespace {

struct ShortList {
  static constexpr uint32_t kBlockEvents = 3;
  static constexpr uint32_t kMaxBlocks = 1;
  static constexpr uint32_t kEventsPerHolder = 0;
};

const RegisterSubject kGoldilocks{"goldilocks", FindDisagreement<Goldilocks<PlainMem>>};
const RegisterSubject kGoldilocksShort{"goldilocks-short", FindDisagreement<Goldilocks<PlainMem, ShortList>>};
// With epochs, locksets are evaluated for races only, and must tell of the same ones.
template <class D>
class WithEpochs : public D {
 public:
  WithEpochs() { D::UseEpochs(); }
};

const RegisterSubject kGoldilocksEpochs{"goldilocks-epochs",
                                        FindDisagreement<WithEpochs<Goldilocks<PlainMem, ShortList>>>};
const RegisterSubject kGoldilocksEpochsByReads{
    "goldilocks-epochs-reads", FindDisagreement<ByReads<WithEpochs<Goldilocks<PlainMem>>>, oracle::CommitArcs::kReads>};
const RegisterSubject kGoldilocksByReads{
    "goldilocks-reads", FindDisagreement<ByReads<Goldilocks<PlainMem, ShortList>>, oracle::CommitArcs::kReads>};

}  // namespace
}  // namespace redflag
