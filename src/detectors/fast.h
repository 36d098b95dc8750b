// fast: hybrid, with every line of 64 bytes ignored until a second thread touches it (ThreadSanitizer 4.4.2). Cheaper, and
// silent about initialization; misses races with what the first thread did before the line was shared.
// docs/algorithms/fast.md.
//
// Notation and rules: detectors/hybrid.h; the line's first thread is HybridCore::Line::first.
#pragma once

#include "detectors/hybrid.h"

namespace redflag {

template <class Mem, template <class> class CellOf = SegmentCell>
class Fast : public HybridCore<Mem, true, CellOf> {
 public:
  using HybridCore<Mem, true, CellOf>::HybridCore;
  static constexpr const char* kName = "fast";
  static constexpr const char* kSummary = "hybrid that ignores memory until a second thread comes";
  static constexpr const char* kWhyMore =
      "takes no order from locks: what a lock ordered in this run may come the other way in the next [TS 4.4.1]";
  static constexpr const char* kWhyLess = "ignores a line of 64 bytes until a second thread touches it [TS 4.4.2]";
};

}  // namespace redflag
