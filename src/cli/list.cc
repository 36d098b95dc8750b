// redflag list: which detectors there are.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cli/command.h"
#include "offline/analysis.h"

namespace redflag::cli {
namespace {

int List() {
  size_t width = 0;
  for (const DetectorInfo& detector : Detectors()) width = std::max(width, std::strlen(detector.name));
  for (const DetectorInfo& detector : Detectors()) {
    const bool is_default = &detector == &Detectors().front();
    fmt::print("{:<{}}  {}{}\n", detector.name, width, detector.summary, is_default ? " (default)" : "");
  }
  return kOk;
}

}  // namespace

Run AddList(CLI::App& app) {
  app.add_subcommand("list", "List the detectors")
      ->footer(
          "Choose one with -d NAME. docs/algorithms/NAME.md says what it promises and what it costs.\n"
          "redflag run also has goldilocks-lists, where locksets decide and not times: slow, and the same races.");
  return List;
}

}  // namespace redflag::cli
