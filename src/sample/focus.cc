#include "sample/focus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include "collect/symbolizer.h"
#include "report/records.h"

namespace redflag {
namespace {

bool IsPathEnd(std::string_view path, std::string_view end) {
  return path == end || (path.size() > end.size() && path.ends_with(end) && path[path.size() - end.size() - 1] == '/');
}

// FILE:LINE, or a name.
struct Place {
  std::string name;
  uint32_t line = 0;
};

Place PlaceOf(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) return {.name = text};
  uint32_t line = 0;
  const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), line);
  if (error != std::errc() || end != text.data() + text.size()) return {.name = text};  // a name such as std::sort
  return {.name = text.substr(0, colon), .line = line};
}

bool IsAt(const Frame& frame, const Place& place) {
  if (place.line != 0) return frame.line == place.line && IsPathEnd(frame.file, place.name);
  const std::string_view function = frame.function;
  return function == place.name || (function.starts_with(place.name) && function.size() > place.name.size() &&
                                    std::string_view("(<").find(function[place.name.size()]) != std::string_view::npos);
}

}  // namespace

std::vector<bool> FindFocus(const SampleOptions& options, const std::string& path, const std::vector<Site>& sites,
                            std::string& problem) {
  std::vector<Place> places;
  std::set<uint64_t> offsets;
  const std::string module = std::filesystem::path(path).filename().string();
  for (const std::string& text : options.focus) {
    if (text == module || text == path) return std::vector<bool>(sites.size(), true);
    places.push_back(PlaceOf(text));
  }
  if (!options.focus_from.empty()) {
    std::ifstream stream(options.focus_from);
    Records records;
    if (!stream) problem = fmt::format("cannot read {}", options.focus_from);
    if (stream) records.Read(stream, options.focus_from);
    for (const RaceReport& report : records.TakeRanked()) {
      std::vector<const AccessSite*> accesses = {&report.access};
      for (const AccessSite& earlier : report.earlier) accesses.push_back(&earlier);
      for (const AccessSite* access : accesses) {
        if (access->stack.empty()) continue;
        const Frame& frame = access->stack.front();
        if (frame.module == path) offsets.insert(frame.offset);
        if (frame.line != 0) places.push_back({.name = frame.file, .line = frame.line});
      }
    }
  }
  Symbolizer symbolizer;
  const FileIdentity identity = IdentityOf(path);
  std::vector<bool> focus(sites.size());
  for (size_t i = 0; i < sites.size(); ++i) {
    const uint64_t behind = sites[i].address + sites[i].access.length;
    focus[i] = offsets.contains(behind);
    if (focus[i] || places.empty()) continue;
    const std::vector<Frame>& frames = symbolizer.Frames(path, identity, behind);
    focus[i] = std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) {
      return std::any_of(places.begin(), places.end(), [&](const Place& place) { return IsAt(frame, place); });
    });
  }
  if (problem.empty() && std::none_of(focus.begin(), focus.end(), [](bool is) { return is; })) {
    problem = fmt::format("nothing in {} is where --focus says", path);
  }
  return focus;
}

}  // namespace redflag
