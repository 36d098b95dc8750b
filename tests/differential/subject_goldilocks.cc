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

}  // namespace
}  // namespace redflag
