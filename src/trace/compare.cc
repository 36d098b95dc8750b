#include "trace/compare.h"

#include <fmt/format.h>

#include <string_view>
#include <tuple>
#include <vector>

namespace redflag {
namespace {

std::string_view TextOf(const std::vector<std::string>& table, uint32_t id) {
  return id < table.size() ? std::string_view(table[id]) : "(none)";
}

std::string ObjectOf(const Trace& trace, const Event& event) {
  switch (event.kind) {
    case EventKind::kLock:
    case EventKind::kUnlock:
    case EventKind::kSignal:
    case EventKind::kWait:
    case EventKind::kBarrierArrive:
    case EventKind::kBarrierLeave:
    case EventKind::kPureHbMutex:
    case EventKind::kLockCreate:
    case EventKind::kLockDestroy: {
      if (event.object >= trace.syncs.size()) return fmt::format("#{}", event.object);
      const NamedSync& sync = trace.syncs[event.object];
      return fmt::format("{} of kind {}", sync.name, Raw(sync.kind));
    }
    case EventKind::kThreadFork:
    case EventKind::kThreadJoin:
      return std::string(TextOf(trace.threads, event.object));
    case EventKind::kThreadName:
      return std::string(TextOf(trace.texts, event.object));
    case EventKind::kFunctionEnter:
      return std::string(TextOf(trace.functions, event.object));
    default:
      return {};
  }
}

bool SamePosition(const Trace& a, PositionId in_a, const Trace& b, PositionId in_b) {
  if (in_a == kNoPosition || in_b == kNoPosition) return true;
  const SourcePosition& x = a.positions[Raw(in_a)];
  const SourcePosition& y = b.positions[Raw(in_b)];
  return std::tie(x.file, x.line, x.column) == std::tie(y.file, y.line, y.column);
}

bool SameEvent(const Trace& a, const Event& x, const Trace& b, const Event& y) {
  return std::tie(x.kind, x.order, x.mode, x.flag, x.addr, x.size) ==
             std::tie(y.kind, y.order, y.mode, y.flag, y.addr, y.size) &&
         TextOf(a.threads, Raw(x.thread)) == TextOf(b.threads, Raw(y.thread)) && ObjectOf(a, x) == ObjectOf(b, y) &&
         SamePosition(a, x.position, b, y.position);
}

bool SameRange(const NamedRange& x, const NamedRange& y) {
  return std::tie(x.name, x.addr, x.size, x.first_event) == std::tie(y.name, y.addr, y.size, y.first_event);
}

bool SameExpectation(const Expectation& x, const Expectation& y) {
  return std::tie(x.verdict, x.event, x.detectors, x.reason) == std::tie(y.verdict, y.event, y.detectors, y.reason);
}

// `same` is asked about the elements at one index.
template <class T, class Same>
std::optional<std::string> Compare(std::string_view what, const std::vector<T>& a, const std::vector<T>& b, Same same) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!same(a[i], b[i])) return fmt::format("{}: number {} differs", what, i);
  }
  if (a.size() != b.size()) return fmt::format("{} {} against {}", a.size(), what, b.size());
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FirstDifference(const Trace& a, const Trace& b) {
  auto same_name = [&](Tid x, Tid y) { return TextOf(a.threads, Raw(x)) == TextOf(b.threads, Raw(y)); };
  auto same_event = [&](const Event& x, const Event& y) { return SameEvent(a, x, b, y); };
  if (auto difference = Compare("initial threads", a.initial_threads, b.initial_threads, same_name)) {
    return difference;
  }
  if (auto difference = Compare("events", a.events, b.events, same_event)) return difference;
  if (auto difference = Compare("ranges", a.ranges, b.ranges, SameRange)) return difference;
  return Compare("expectations", a.expectations, b.expectations, SameExpectation);
}

}  // namespace redflag
