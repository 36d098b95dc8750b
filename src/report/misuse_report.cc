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
    race.block->place = RacyBlock::Place::kStack;
    race.block->thread = report.on_stack_of;
  } else if (!report.taken_at.empty()) {
    race.block.emplace().declared_at = report.taken_at;
  }
  race.size = report.number;
  for (const WaiterInfo& waiter : report.cycle) {
    AccessSite& site = race.earlier.emplace_back();
    site.thread = waiter.thread;
    site.stack = waiter.wanted.taken_at;
    site.locks = {waiter.held, waiter.wanted};
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

std::string Took(const HeldLockInfo& lock) { return lock.mode == LockMode::kShared ? " for reading" : ""; }

// Each thread with what it holds and what it wants.
std::string Circle(const RaceReport& report) {
  std::string text;
  for (const AccessSite& site : report.earlier) {
    const HeldLockInfo& held = site.locks[0];
    const HeldLockInfo& wanted = site.locks[1];
    text += fmt::format("  thread {} wanted {}{} while it held {}{}:\n{}", site.thread, wanted.name, Took(wanted),
                        held.name, Took(held), ShortStack(site.stack));
    if (!held.taken_at.empty()) text += fmt::format("    {} was taken at:\n{}", held.name, ShortStack(held.taken_at));
  }
  return text + "  if each of them comes so far before any goes on, they wait for one another for ever\n";
}

std::string Ours(std::string_view what, const RaceReport& report, Colour colour) {
  const bool is_deadlock = !report.earlier.empty();
  std::string title = fmt::format("{}: {}", is_deadlock ? "DEADLOCK" : "MISUSE", what);
  const bool has_mutex = !report.access.locks.empty() && !is_deadlock;
  if (has_mutex) title += ": " + report.access.locks.front().name;
  if (is_deadlock) {
    title = "DEADLOCK is possible: ";
    for (const AccessSite& site : report.earlier) title += site.locks[0].name + " -> ";
    title += report.earlier.front().locks[0].name;
  }
  std::string text = colour == Colour::kYes ? fmt::format("\033[1;31m{}\033[0m\n", title) : title + "\n";
  if (is_deadlock) {
    text += Circle(report);
  } else if (!report.access.stack.empty()) {
    text += fmt::format("  by thread {}:\n{}", report.access.thread, ShortStack(report.access.stack));
  }
  if (has_mutex && !report.access.locks.front().taken_at.empty()) {
    text += "  it was taken at:\n" + ShortStack(report.access.locks.front().taken_at);
  }
  if (has_mutex && !report.block->allocated_at.empty()) {
    text += "  it was made, or first used, at:\n" + ShortStack(report.block->allocated_at);
  }
  if (report.block && !report.block->thread.empty()) {
    text += fmt::format("  it is on the stack of thread {}\n", report.block->thread);
  }
  if (report.size != 0 && report.access.stack.empty()) text += fmt::format("  and {} more like this\n", report.size);
  for (const ThreadInfo& thread : report.threads) {
    if (thread.created_at.empty()) continue;
    text += fmt::format("  thread {} was created by {} at:\n{}", thread.name, thread.creator,
                        ShortStack(thread.created_at));
  }
  return text + fmt::format("  in: {} (process {})\n\n", report.command, report.pid);
}

bool IsDeadlock(const MisuseReport& report) { return !report.cycle.empty(); }

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
  if (IsDeadlock(report)) {
    const auto lock_to_json = [](const HeldLockInfo& lock, const char* where) {
      return nlohmann::ordered_json{{"name", lock.name},
                                    {"mode", lock.mode == LockMode::kShared ? "shared" : "exclusive"},
                                    {"address", fmt::format("{:#x}", Raw(lock.addr))},
                                    {where, StackToJson(lock.taken_at)}};
    };
    auto cycle = nlohmann::ordered_json::array();
    for (const WaiterInfo& waiter : report.cycle) {
      nlohmann::ordered_json held = lock_to_json(waiter.held, "taken_at");
      held["made_at"] = StackToJson(waiter.held.made_at);
      cycle.push_back({{"thread", waiter.thread}, {"held", held}, {"wanted", lock_to_json(waiter.wanted, "taken_at")}});
    }
    json["cycle"] = cycle;
  } else if (!report.mutex.empty()) {
    json["mutex"] = report.mutex;
    json["address"] = fmt::format("{:#x}", Raw(report.addr));
    json["taken_at"] = StackToJson(report.taken_at);
    json["made_at"] = StackToJson(report.made_at);
  }
  if (!report.on_stack_of.empty()) json["on_stack_of"] = report.on_stack_of;
  if (report.mutex.empty() && !report.taken_at.empty()) json["taken_at"] = StackToJson(report.taken_at);
  if (report.number != 0) json[report.category == "thread" ? "more" : "signal"] = report.number;
  auto threads = nlohmann::ordered_json::array();
  for (const ThreadInfo& thread : report.threads) {
    threads.push_back(
        {{"name", thread.name}, {"creator", thread.creator}, {"created_at", StackToJson(thread.created_at)}});
  }
  json["threads"] = threads;
  json["process"] = {{"pid", report.pid}, {"command", report.command}};
  return json;
}

std::string Headline(const MisuseReport& report) {
  if (!IsDeadlock(report))
    return report.mutex.empty() ? report.title : fmt::format("{}: {}", report.title, report.mutex);
  std::string text = report.title;
  const char* before = ": ";
  for (const WaiterInfo& waiter : report.cycle) {
    text += before + waiter.held.name;
    before = ", ";
  }
  return text;
}

std::vector<MisuseNote> NotesOf(const MisuseReport& report) {
  std::vector<MisuseNote> notes;
  for (const WaiterInfo& waiter : report.cycle) {
    notes.push_back({waiter.wanted.taken_at,
                     fmt::format("thread {} wanted {}{} while it held {}{}", waiter.thread, waiter.wanted.name,
                                 Took(waiter.wanted), waiter.held.name, Took(waiter.held))});
    if (!waiter.held.taken_at.empty()) {
      notes.push_back({waiter.held.taken_at, fmt::format("{} was taken here", waiter.held.name)});
    }
  }
  if (!IsDeadlock(report) && !report.taken_at.empty()) notes.push_back({report.taken_at, "it was taken here"});
  if (!IsDeadlock(report) && !report.made_at.empty()) {
    notes.push_back({report.made_at, "it was made, or first used, here"});
  }
  for (const ThreadInfo& thread : report.threads) {
    if (!thread.created_at.empty() && !report.where.empty()) {
      notes.push_back({thread.created_at, fmt::format("thread {} was created here", thread.name)});
    }
  }
  return notes;
}

const std::vector<Frame>& PlaceOfMisuse(const MisuseReport& report) {
  return report.where.empty() && !report.threads.empty() ? report.threads.front().created_at : report.where;
}

}  // namespace redflag
