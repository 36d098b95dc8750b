#include "report/misuse_report.h"

#include <fmt/format.h>

#include <iterator>

#include "report/frames.h"
#include "report/own_code.h"
#include "report/printable.h"
#include "report/tsan.h"

namespace redflag {
namespace {

// The same as a race without a second access: what renderers of races know.
RaceReport Carrier(const MisuseReport& report) {
  RaceReport race;
  race.access.thread = report.thread;
  race.access.stack = report.where;
  race.addr = report.addr;
  if (!report.mutex.empty()) {
    race.access.locks.push_back(
        {.name = report.mutex, .mode = LockMode::kExclusive, .taken_at = report.taken_at, .addr = report.addr});
    race.block.emplace().allocated_at = report.made_at;
  }
  race.threads = report.threads;
  race.command = report.command;
  race.pid = report.pid;
  return Printable(std::move(race));
}

std::string ShortStack(const std::vector<Frame>& stack) {
  std::string text;
  for (const Frame& frame : stack) {
    if (!IsOwnCode(frame)) continue;
    fmt::format_to(std::back_inserter(text), "      {} {}\n", ShortName(frame.function),
                   PlaceOf({frame}, SourceRoot("")));
  }
  return text.empty() && !stack.empty() ? fmt::format("      {}\n", PlaceOf(stack, SourceRoot(""))) : text;
}

std::string Ours(std::string_view what, const RaceReport& report, Colour colour) {
  std::string title = fmt::format("MISUSE: {}", what);
  const bool has_mutex = !report.access.locks.empty();
  if (has_mutex) title += ": " + report.access.locks.front().name;
  std::string text = colour == Colour::kYes ? fmt::format("\033[1;31m{}\033[0m\n", title) : title + "\n";
  if (!report.access.stack.empty()) {
    text += fmt::format("  by thread {}:\n{}", report.access.thread, ShortStack(report.access.stack));
  }
  if (has_mutex && !report.access.locks.front().taken_at.empty()) {
    text += "  it was taken at:\n" + ShortStack(report.access.locks.front().taken_at);
  }
  if (has_mutex && !report.block->allocated_at.empty()) {
    text += "  it was made, or first used, at:\n" + ShortStack(report.block->allocated_at);
  }
  for (const ThreadInfo& thread : report.threads) {
    if (thread.created_at.empty()) continue;
    text += fmt::format("  thread {} was created by {} at:\n{}", thread.name, thread.creator,
                        ShortStack(thread.created_at));
  }
  return text + fmt::format("  in: {} (process {})\n\n", report.command, report.pid);
}

nlohmann::ordered_json StackToJson(const std::vector<Frame>& stack) {
  auto json = nlohmann::ordered_json::array();
  for (const Frame& frame : stack) {
    json.push_back({{"function", frame.function},
                    {"file", frame.file},
                    {"line", frame.line},
                    {"module", frame.module},
                    {"offset", fmt::format("{:#x}", frame.offset)}});
  }
  return json;
}

}  // namespace

std::string RenderMisuse(TextForm form, const MisuseReport& report, Colour colour) {
  const RaceReport carrier = Carrier(report);
  return form == TextForm::kTsan ? RenderTsanMisuse(report.title, carrier) : Ours(report.title, carrier, colour);
}

nlohmann::ordered_json MisuseToJson(const MisuseReport& report) {
  nlohmann::ordered_json json = {{"kind", "misuse"},
                                 {"title", report.title},
                                 {"category", report.category},
                                 {"thread", report.thread},
                                 {"stack", StackToJson(report.where)}};
  if (!report.mutex.empty()) {
    json["mutex"] = report.mutex;
    json["taken_at"] = StackToJson(report.taken_at);
    json["made_at"] = StackToJson(report.made_at);
  }
  auto threads = nlohmann::ordered_json::array();
  for (const ThreadInfo& thread : report.threads) {
    threads.push_back(
        {{"name", thread.name}, {"creator", thread.creator}, {"created_at", StackToJson(thread.created_at)}});
  }
  json["threads"] = threads;
  json["process"] = {{"pid", report.pid}, {"command", report.command}};
  return json;
}

}  // namespace redflag
