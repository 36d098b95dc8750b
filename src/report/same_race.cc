#include "report/same_race.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/own_code.h"

namespace redflag {
namespace {

std::string PlaceOf(const AccessSite& site) {
  const Frame* frame = InnermostOwn(site.stack);
  std::string place = fmt::format("{} {}", Describe(site), site.size);
  if (frame == nullptr) return place;
  if (frame->line == 0) return place + fmt::format(" {}+{:x}", frame->module, frame->offset);
  return place + fmt::format(" {}:{}:{}", frame->file, frame->line, frame->column);
}

}  // namespace

// Of the earlier accesses, the first: how many more there are is chance.
std::string SameRaceKey(const RaceReport& report) {
  if (report.fingerprint.empty()) return {};
  std::vector<std::string> places = {PlaceOf(report.access)};
  if (!report.earlier.empty()) places.push_back(PlaceOf(report.earlier.front()));
  std::sort(places.begin(), places.end());
  return fmt::format("{} {} {}\n{}", report.fingerprint, report.offset,
                     report.block ? static_cast<int>(report.block->place) : -1, fmt::join(places, "\n"));
}

}  // namespace redflag
