// Any bytes are a binary trace, or an error that can be shown. What comes out of a stream is what the header of binary_trace.h promises,
// and goes to text and back.
//
// The first byte chooses what the others are:
//   0  a file
//   1  the same, opened with `partial`
//   2  blocks, which get correct headers and checksums: each is type, thread, number of bytes (two), bytes
//   3  the same without an end, opened with `partial`
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "events/trace_block.h"
#include "trace/binary_convert.h"
#include "trace/binary_trace.h"
#include "trace/block_merge.h"
#include "trace/text_reader.h"

namespace {

using namespace redflag;

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void WriteRaw(int fd, std::span<const uint8_t> bytes) {
  if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) Die("cannot write to memory");
}

// Takes over the descriptor.
void WriteBlocks(int fd, std::span<const uint8_t> input, bool finish) {
  auto created = BinaryWriter::Create(fd);
  auto* writer = std::get_if<std::unique_ptr<BinaryWriter>>(&created);
  if (writer == nullptr) Die(std::get<std::string>(created));
  while (input.size() >= 4) {
    const uint8_t type = input[0] % 8;
    const Tid thread{input[1]};
    const size_t wanted = input[2] | size_t{input[3]} << 8;
    input = input.subspan(4);
    const auto payload = std::as_bytes(input.first(std::min(input.size(), wanted)));
    input = input.subspan(payload.size());
    bool good = true;
    if (type == 0) {
      good = (*writer)->AddMessage(payload);
    } else if (type == 1) {
      good = (*writer)->AddCheckpoint(wanted);
    } else if (type == 2) {
      good = (*writer)->AddNames(payload);
    } else {
      good = (*writer)->AddEvents(thread, 0, UINT64_MAX, static_cast<uint32_t>(payload.size()), payload);
    }
    if (!good) Die((*writer)->error());
  }
  if (finish && !(*writer)->Finish("end")) Die((*writer)->error());
}

void ReadStream(const BinaryTrace& trace) {
  constexpr EventBounds kBounds = {.threads = kMaxRecordedThread,
                                   .positions = UINT32_MAX,
                                   .syncs = BinaryTrace::kMaxObject,
                                   .functions = BinaryTrace::kMaxObject,
                                   .texts = BinaryTrace::kMaxObject};
  const auto stream = trace.Open();
  uint64_t count = 0;
  for (auto events = stream->Next(); !events.empty(); events = stream->Next()) {
    count += events.size();
    for (const Event& event : events) {
      if (const std::string problem = EventProblem(event, kBounds); !problem.empty())
        Die("an event that cannot be: " + problem);
      if (Raw(event.thread) >= kMaxRecordedThread) Die("a thread that cannot be");
    }
  }
  if (stream->error().empty() && count > trace.event_count()) Die("more events than there are");
  if (stream->contexts().size() > BinaryTrace::kMaxContext) Die("too many contexts");
}

void ToTextAndBack(const BinaryTrace& trace) {
  const Limits limits{.max_events = 20'000, .max_declarations = 20'000};
  std::ostringstream text;
  std::vector<std::string> notes;
  if (!WriteAsText(trace, text, notes, limits).empty()) return;
  // The names of a text trace may be any, and expectations too: what was recorded has good ones.
  if (trace.has_names()) return;
  const TraceResult read = ReadTextTraceFromString(text.str(), "fuzz", limits);
  if (const auto* error = std::get_if<TraceError>(&read)) Die(FormatError(*error, "fuzz") + text.str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t mode = data[0] % 4;
  const std::span<const uint8_t> input(data + 1, size - 1);
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0) Die("no memory file");
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  if (mode < 2) {
    WriteRaw(fd, input);
  } else {
    WriteBlocks(dup(fd), input, mode == 2);
  }
  (void)BinaryTrace::IsBinary(path);
  auto opened = BinaryTrace::Open(path, {.partial = mode % 2 == 1});
  if (const auto* problem = std::get_if<std::string>(&opened)) {
    if (problem->empty()) Die("an error without words");
  } else {
    const auto& trace = std::get<std::unique_ptr<BinaryTrace>>(opened);
    ReadStream(*trace);
    ToTextAndBack(*trace);
  }
  close(fd);
  return 0;
}
