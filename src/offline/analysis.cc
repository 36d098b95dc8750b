#include "offline/analysis.h"

namespace redflag {

namespace analyzers {
#define REDFLAG_DETECTOR(Class, name) DetectorInfo name();
#include "detectors/list.inc"
#undef REDFLAG_DETECTOR
}  // namespace analyzers

std::span<const DetectorInfo> Detectors() {
  static const DetectorInfo kDetectors[] = {
#define REDFLAG_DETECTOR(Class, name) analyzers::name(),
#include "detectors/list.inc"
#undef REDFLAG_DETECTOR
  };
  return kDetectors;
}

const DetectorInfo* FindDetector(std::string_view name) {
  for (const DetectorInfo& detector : Detectors()) {
    if (detector.name == name) return &detector;
  }
  return nullptr;
}

}  // namespace redflag
