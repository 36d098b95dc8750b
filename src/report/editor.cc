#include "report/editor.h"

#include <fmt/format.h>

#include <vector>

#include "report/printable.h"

namespace redflag {

std::string RenderEditor(const RaceReport& raw, const SourceRoot& root) {
  const RaceReport report = Printable(raw);
  std::string first = fmt::format("data race on {}: {}", DescribeTarget(report), SiteText(report.access));
  if (report.judgement && !report.judgement->pattern.empty()) first += fmt::format(" [{}]", report.judgement->pattern);
  std::string text = fmt::format("{}: warning: {}\n", PlaceOf(report.access.stack, root), first);
  const auto note = [&](const std::vector<Frame>& stack, const std::string& what) {
    text += fmt::format("{}: note: {}\n", PlaceOf(stack, root), what);
  };
  for (const AccessSite& earlier : report.earlier) note(earlier.stack, "earlier " + SiteText(earlier));
  if (report.block && !report.block->allocated_at.empty())
    note(report.block->allocated_at, "the memory was allocated here");
  if (report.block && !report.block->declared_at.empty())
    note(report.block->declared_at, fmt::format("{} is declared here", report.variable));
  for (const ThreadInfo& thread : report.threads) {
    if (!thread.created_at.empty()) note(thread.created_at, fmt::format("thread {} was created here", thread.name));
  }
  if (report.judgement && !report.judgement->suggestion.empty())
    note(report.access.stack, "suggestion: " + report.judgement->suggestion);
  return text;
}

std::string RenderEditor(const MisuseReport& raw, const SourceRoot& root) {
  const MisuseReport report = Printable(raw);
  std::string text = fmt::format("{}: warning: {}\n", PlaceOf(PlaceOfMisuse(report), root), Headline(report));
  for (const MisuseNote& note : NotesOf(report)) {
    text += fmt::format("{}: note: {}\n", PlaceOf(note.stack, root), note.text);
  }
  return text;
}

}  // namespace redflag
