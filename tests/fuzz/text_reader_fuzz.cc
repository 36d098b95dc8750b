// libFuzzer entry for the text trace format: any bytes are either refused with an error that can be shown, or
// read to a trace that can be written and read again unchanged, ids included.
//
// Build with clang -fsanitize=fuzzer,address,undefined; run with -dict=tests/fuzz/trace.dict and a copy of
// tests/fuzz/corpus/text_reader.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <variant>

#include "trace/compare.h"
#include "trace/text_reader.h"
#include "trace/text_writer.h"

namespace {

[[noreturn]] void Die(const std::string& what, const std::string& written) {
  std::fprintf(stderr, "%s\n--- written:\n%s\n", what.c_str(), written.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace redflag;
  const Limits limits{.max_events = 20'000, .max_declarations = 20'000};
  std::string_view text(reinterpret_cast<const char*>(data), size);
  TraceResult result = ReadTextTraceFromString(text, "fuzz.trace", limits);
  if (const TraceError* error = std::get_if<TraceError>(&result)) {
    std::string shown = FormatError(*error, "fuzz.trace");
    if (error->line == 0 || error->column == 0 || error->message.empty() || shown.find('\0') != shown.npos) {
      Die("an error that cannot be shown", shown);
    }
    return 0;
  }
  const Trace& trace = std::get<Trace>(result);
  std::string written = TextOf(trace);
  TraceResult reread = ReadTextTraceFromString(written, "fuzz.trace", limits);
  if (const TraceError* error = std::get_if<TraceError>(&reread)) Die(FormatError(*error, "written"), written);
  const Trace& again = std::get<Trace>(reread);
  if (auto difference = FirstDifference(trace, again)) Die(*difference, written);
  if (std::memcmp(trace.events.data(), again.events.data(), trace.events.size() * sizeof(Event)) != 0) {
    Die("the events have other ids", written);
  }
  if (TextOf(again) != written) Die("the second text differs", written);
  return 0;
}
