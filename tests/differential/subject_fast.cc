// fast must equal the transcription of its paper.
#include "base/mem.h"
#include "detectors/fast.h"
#include "tests/differential/compare_reports.h"
#include "tests/differential/reference_hybrid.h"
#include "tests/differential/subject.h"

namespace redflag {
namespace {

std::optional<std::string> CompareFast(const Trace& trace) {
  return Difference(ReportsOf<Fast<PlainMem>>(trace), HybridReference(trace, true, 4).Run());
}

const RegisterSubject kFastSubject{"fast", CompareFast};

}  // namespace
}  // namespace redflag
