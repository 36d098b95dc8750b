// hb is precise: it must agree with the oracle.
#include "base/mem.h"
#include "detectors/hb.h"
#include "tests/differential/compare.h"
#include "tests/differential/subject.h"

namespace redflag {

const RegisterSubject kHb{"hb", FindDisagreement<Hb<PlainMem>>};
const RegisterSubject kHbByReads{"hb-reads", FindDisagreement<ByReads<Hb<PlainMem>>, oracle::CommitArcs::kReads>};

}  // namespace redflag
