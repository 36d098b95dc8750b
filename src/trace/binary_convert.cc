#include "trace/binary_convert.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <variant>

#include "trace/binary_names.h"
#include "trace/event_blocks.h"
#include "trace/recorded_text.h"
#include "trace/text_writer.h"

namespace redflag {
namespace {

// Those that positions name, and their callers.
void WriteContexts(const Trace& trace, const std::vector<RecordedContext>& contexts, std::ostream& out) {
  std::set<uint32_t> used;
  for (const SourcePosition& position : trace.positions) {
    for (uint32_t at = position.line; at != 0 && at < contexts.size() && used.insert(at).second;)
      at = contexts[at].caller;
  }
  if (used.empty()) return;
  out << "# Contexts: the number behind @ctx, the context of the caller, the place in the code.\n";
  for (const uint32_t at : used) out << fmt::format("# {} {} {:#x}\n", at, contexts[at].caller, contexts[at].place);
}

std::string TooMany(const std::string& name, const Limits& limits) {
  return fmt::format("{}: has more than {} events: too many for a text trace", name, limits.max_events);
}

}  // namespace

std::string WriteBinaryTrace(const Trace& trace, BinaryWriter& writer) {
  EventBlocks blocks(writer);
  uint64_t stamp = 0;
  bool good = true;
  // A stamp each: the order of a text trace is part of what it says.
  for (size_t i = 0; i < trace.events.size() && good; ++i) good = blocks.Add(trace.events[i], ++stamp);
  good = good && blocks.Flush() && writer.AddCheckpoint(stamp) &&
         WriteNames(trace, [&](std::span<const std::byte> piece) { return writer.AddNames(piece); }) &&
         writer.Finish("made from a text trace");
  return good ? "" : writer.error();
}

std::string WriteAsText(const BinaryTrace& trace, std::ostream& out, std::vector<std::string>& notes,
                        const Limits& limits) {
  if (trace.has_names()) {
    if (trace.event_count() > limits.max_events) return TooMany(trace.name(), limits);
    std::variant<Trace, std::string> loaded = trace.Load();
    if (const auto* problem = std::get_if<std::string>(&loaded)) return *problem;
    WriteTextTrace(std::get<Trace>(loaded), out);
    return {};
  }
  RecordedText recorded(trace.name());
  const std::unique_ptr<EventStream> stream = trace.Open();
  for (std::span<const Event> events = stream->Next(); !events.empty(); events = stream->Next()) {
    for (const Event& event : events) recorded.Add(event);
    if (recorded.trace().events.size() > limits.max_events) return TooMany(trace.name(), limits);
  }
  if (!stream->error().empty()) return stream->error();
  if (recorded.trace().events.empty())
    return fmt::format("{}: has no events: there is no such text trace", trace.name());
  WriteTextTrace(recorded.trace(), out);
  WriteContexts(recorded.trace(), stream->contexts(), out);
  for (std::string& note : recorded.Notes()) notes.push_back(std::move(note));
  return {};
}

}  // namespace redflag
