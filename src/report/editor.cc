#include "report/editor.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace redflag {
namespace {

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace

std::string RenderEditor(const RaceReport& report, const SourceRoot& root) {
  std::string first = fmt::format("data race on {}: {}", DescribeTarget(report), SiteText(report.access));
  if (report.judgement && !report.judgement->pattern.empty()) first += fmt::format(" [{}]", report.judgement->pattern);
  std::string text = fmt::format("{}: warning: {}\n", PlaceOf(report.access.stack, root), OneLine(first));
  const auto note = [&](const std::vector<Frame>& stack, std::string what) {
    text += fmt::format("{}: note: {}\n", PlaceOf(stack, root), OneLine(std::move(what)));
  };
  for (const AccessSite& earlier : report.earlier) note(earlier.stack, "earlier " + SiteText(earlier));
  if (report.block && !report.block->allocated_at.empty())
    note(report.block->allocated_at, "the memory was allocated here");
  for (const ThreadInfo& thread : report.threads) {
    if (!thread.created_at.empty()) note(thread.created_at, fmt::format("thread {} was created here", thread.name));
  }
  if (report.judgement && !report.judgement->suggestion.empty())
    note(report.access.stack, "suggestion: " + report.judgement->suggestion);
  return text;
}

}  // namespace redflag
