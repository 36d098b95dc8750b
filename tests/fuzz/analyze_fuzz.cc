// Any input that is a trace goes through every detector and every renderer without a crash. The corpus is that of
// text_reader_fuzz.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "offline/analysis.h"
#include "offline/expectations.h"
#include "offline/trace_reports.h"
#include "report/json.h"
#include "report/text.h"
#include "trace/text_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace redflag;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Limits limits;
  limits.max_events = 20'000;
  const TraceResult result = ReadTextTraceFromString(text, "fuzz", limits);
  const auto* trace = std::get_if<Trace>(&result);
  if (trace == nullptr) return 0;
  for (const DetectorInfo& detector : Detectors()) {
    const Analysis analysis = detector.analyze(*trace, {});
    for (const RaceReport& report : BuildReports(*trace, analysis)) {
      if (RenderText(report, Colour::kYes).empty() || ToJson(report).empty()) __builtin_trap();
    }
    (void)CheckExpectations(*trace, analysis);
  }
  return 0;
}
