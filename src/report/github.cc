#include "report/github.h"

#include <fmt/format.h>

#include <string_view>

#include "report/own_code.h"

namespace redflag {
namespace {

// A line feed would end the message, and a percent sign would be taken for an escape.
std::string EscapeMessage(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '%':
        escaped += "%25";
        break;
      case '\r':
        escaped += "%0D";
        break;
      case '\n':
        escaped += "%0A";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// A comma or a colon would end the property.
std::string EscapeProperty(std::string_view text) {
  std::string escaped;
  for (const char c : EscapeMessage(text)) {
    if (c == ':') {
      escaped += "%3A";
    } else if (c == ',') {
      escaped += "%2C";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// Where it is shown.
std::string PlaceProperties(const std::vector<Frame>& stack, const SourceRoot& root) {
  const Frame* frame = InnermostOwn(stack);
  if (frame == nullptr || frame->file.empty()) return {};
  std::string properties = fmt::format("file={},line={},", EscapeProperty(root.NameOf(frame->file)), frame->line);
  if (frame->column != 0) properties += fmt::format("col={},", frame->column);
  return properties;
}

}  // namespace

std::string RenderGithub(const MisuseReport& report, const SourceRoot& root) {
  std::string message = report.thread.empty() ? Headline(report) : fmt::format("by thread {}", report.thread);
  for (const MisuseNote& note : NotesOf(report)) {
    message += fmt::format("\n{}: {}", PlaceOf(note.stack, root), note.text);
  }
  return fmt::format("::warning {}title={}::{}\n", PlaceProperties(PlaceOfMisuse(report), root),
                     EscapeProperty(Headline(report)), EscapeMessage(message));
}

std::string RenderGithub(const RaceReport& report, const SourceRoot& root) {
  const std::string properties = PlaceProperties(report.access.stack, root);
  std::string message = SiteText(report.access);
  for (const AccessSite& earlier : report.earlier) {
    message += fmt::format("\nearlier {} at {}", SiteText(earlier), PlaceOf(earlier.stack, root));
  }
  if (!report.why.empty()) message += "\nwhy: " + report.why;
  for (const std::string& seen : report.evidence) message += "\nseen: " + seen;
  for (const std::string& who : report.confirmed_by) message += "\nconfirmed by " + who;
  if (report.judgement && !report.judgement->pattern.empty()) message += "\npattern: " + report.judgement->pattern;
  if (report.judgement && !report.judgement->suggestion.empty())
    message += "\nsuggestion: " + report.judgement->suggestion;
  return fmt::format("::{} {}title={}::{}\n", LevelOf(report, "notice"), properties,
                     EscapeProperty("Data race on " + DescribeTarget(report)), EscapeMessage(message));
}

}  // namespace redflag
