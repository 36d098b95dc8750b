// hb as it runs inside programs, its cells in two words: it must agree with the oracle as well. Once with the general way alone,
// and once as the runtime does it.
#include "base/mem.h"
#include "clocks/opened_packed_cell.h"
#include "detectors/hb.h"
#include "tests/differential/compare.h"
#include "tests/differential/shortcuts.h"
#include "tests/differential/subject.h"

namespace redflag {

const RegisterSubject kHbPacked{"hb-packed", FindDisagreement<Hb<PlainMem, PackedCell>>};
const RegisterSubject kHbPackedByReads{"hb-packed-reads",
                                       FindDisagreement<ByReads<Hb<PlainMem, PackedCell>>, oracle::CommitArcs::kReads>};
const RegisterSubject kHbPlanes{"hb-planes", FindDisagreement<WithPlanes<Hb<PlainMem, PackedCell>>>};
const RegisterSubject kHbShortcuts{"hb-shortcuts", FindDisagreement<WithShortcuts<Hb<PlainMem, PackedCell>>>};

}  // namespace redflag
