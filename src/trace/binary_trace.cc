#include "trace/binary_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "trace/binary_names.h"
#include "trace/block_merge.h"
#include "trace/checker.h"

namespace redflag {

struct BinaryTrace::Parts {
  std::string path;
  std::unique_ptr<BinaryFile> file;
  std::vector<ThreadBlocks> threads;  // by number
  std::vector<FileBlock> names;
  std::vector<std::vector<std::byte>> messages;
  std::string ending;
  std::string left_out;
  uint64_t events = 0;
  uint64_t horizon = UINT64_MAX;
  uint64_t checkpoint = 0;
  EventBounds bounds;
  std::optional<Trace> text;  // all but its events
  std::vector<Tid> initial_threads;

  // Where a scan has got to.
  struct Scan {
    uint64_t offset = kFileHeaderBytes;
    uint64_t blocks = 0;
    bool ended = false;
    std::string problem;
  };

  Scan ReadBlocks(bool read_all);
  std::string Take(const FileBlock& block, BlockDecoder& decoder, bool read_all);
  std::string TakeNames();
  void SetBounds();
  std::string Complain(const Scan& scan) const;
};

// Up to the end of the trace, or to the first damage.
BinaryTrace::Parts::Scan BinaryTrace::Parts::ReadBlocks(bool read_all) {
  Scan scan;
  BlockDecoder decoder;
  std::map<Tid, size_t> places;
  while (!scan.ended) {
    FileBlock block;
    scan.problem = file->ReadHeader(scan.offset, scan.blocks, block);
    if (scan.problem.empty()) scan.problem = Take(block, decoder, read_all);
    if (!scan.problem.empty()) return scan;
    if (block.type == BlockType::kEvents) {
      const auto [place, is_new] = places.emplace(block.thread, threads.size());
      if (is_new) threads.push_back({.thread = block.thread, .blocks = {}});
      std::vector<FileBlock>& blocks = threads[place->second].blocks;
      // One that was copied while it was being filled, and is here again with what came since.
      if (!blocks.empty() && block.first_stamp != 0 && blocks.back().first_stamp == block.first_stamp) {
        events -= blocks.back().events;
        blocks.pop_back();
      }
      blocks.push_back(block);
      events += block.events;
    }
    scan.ended = block.type == BlockType::kEnd;
    scan.offset = block.end();
    ++scan.blocks;
  }
  if (scan.offset != file->size()) scan.problem = "there are bytes after the end of the trace";
  return scan;
}

std::string BinaryTrace::Parts::Take(const FileBlock& block, BlockDecoder& decoder, bool read_all) {
  std::vector<std::byte> payload;
  if (block.type != BlockType::kEvents || read_all) {
    if (std::string problem = decoder.Read(*file, block, payload); !problem.empty()) return problem;
  }
  switch (block.type) {
    case BlockType::kEvents:
      break;
    case BlockType::kMessage:
      messages.push_back(std::move(payload));
      break;
    case BlockType::kCheckpoint:
      if (block.last_stamp < checkpoint)
        return fmt::format("a checkpoint at {} after one at {}", block.last_stamp, checkpoint);
      checkpoint = block.last_stamp;
      break;
    case BlockType::kNames:
      names.push_back(block);
      break;
    case BlockType::kEnd:
      ending.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
      break;
  }
  return {};
}

std::string BinaryTrace::Parts::Complain(const Scan& scan) const {
  return fmt::format(
      "{}: {} at byte {}: {}. There {} {} whole block{} before that: --partial reads what is consistent of {}", path,
      scan.offset == file->size() ? "breaks off" : "damaged", scan.offset, scan.problem,
      scan.blocks == 1 ? "is" : "are", scan.blocks, scan.blocks == 1 ? "" : "s", scan.blocks == 1 ? "it" : "them");
}

std::string BinaryTrace::Parts::TakeNames() {
  if (names.empty()) return {};
  BlockDecoder decoder;
  std::vector<std::byte> payload;
  std::string problem;
  size_t next = 0;
  const auto read = [&]() -> std::span<const std::byte> {
    if (next == names.size() || !problem.empty()) return {};
    problem = decoder.Read(*file, names[next++], payload);
    return problem.empty() ? payload : std::span<const std::byte>();
  };
  text.emplace();
  const std::string misread = ReadNames(read, events, *text);
  if (problem.empty()) problem = misread;
  return problem.empty() ? ""
                         : fmt::format("{}: damaged at byte {}, in the names: {}", path, names.front().offset, problem);
}

void BinaryTrace::Parts::SetBounds() {
  bounds = {.threads = kMaxRecordedThread,
            .positions = kMaxContext,
            .syncs = kMaxObject,
            .functions = kMaxObject,
            .texts = kMaxObject};
  if (text) {
    const auto bound = [](size_t size) { return static_cast<uint32_t>(std::min<size_t>(size, kMaxObject)); };
    bounds.threads = bound(text->threads.size());
    bounds.positions = static_cast<uint32_t>(std::min<size_t>(text->positions.size(), UINT32_MAX));
    bounds.syncs = bound(text->syncs.size());
    bounds.functions = bound(text->functions.size());
    bounds.texts = bound(text->texts.size());
  }
  // A small file must not make a large table. Numbers are given out one by one, so there are gaps, but no large ones.
  uint64_t bytes = 0;
  for (const ThreadBlocks& thread : threads) {
    for (const FileBlock& block : thread.blocks) bytes += block.raw_bytes;
  }
  bounds.contexts = static_cast<uint32_t>(std::min<uint64_t>(kMaxContext, 65536 + 16 * bytes));
}

BinaryTrace::BinaryTrace(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
BinaryTrace::~BinaryTrace() = default;

bool BinaryTrace::IsBinary(const std::string& path) { return BinaryFile::IsBinary(path); }

std::variant<std::unique_ptr<BinaryTrace>, std::string> BinaryTrace::Open(const std::string& path,
                                                                          const Options& options) {
  auto opened = BinaryFile::Open(path);
  if (const auto* problem = std::get_if<std::string>(&opened)) return fmt::format("{}: {}", path, *problem);
  auto parts = std::make_shared<Parts>();
  parts->path = path;
  parts->file = std::get<std::unique_ptr<BinaryFile>>(std::move(opened));
  const Parts::Scan scan = parts->ReadBlocks(options.partial);
  if (!scan.problem.empty()) {
    if (!options.partial) return parts->Complain(scan);
    if (!parts->names.empty())
      return fmt::format("{}: made from text, of which a part cannot be read: {}", path, parts->Complain(scan));
    if (!scan.ended) {
      parts->horizon = parts->checkpoint;
      parts->ending.clear();
    }
    parts->left_out = fmt::format("everything from byte {} on ({} of {} bytes), where it is {}: {}", scan.offset,
                                  parts->file->size() - scan.offset, parts->file->size(),
                                  scan.offset == parts->file->size() ? "cut off" : "damaged", scan.problem);
    if (!scan.ended) {
      parts->left_out += parts->checkpoint == 0
                             ? "; and all events, as there is no checkpoint before that"
                             : fmt::format("; and events after the last checkpoint, at stamp {}", parts->checkpoint);
    }
  }
  // Of threads that were still running, something may be missing that comes before what others have.
  if (parts->checkpoint != 0) parts->horizon = parts->checkpoint;
  if (std::string problem = parts->TakeNames(); !problem.empty()) return problem;
  parts->SetBounds();
  std::ranges::sort(parts->threads, {}, &ThreadBlocks::thread);
  if (parts->text) {
    parts->initial_threads = parts->text->initial_threads;
  } else {
    parts->initial_threads = {Tid{0}};
  }
  return std::unique_ptr<BinaryTrace>(new BinaryTrace(std::move(parts)));
}

std::unique_ptr<EventStream> BinaryTrace::Open() const { return OpenPart({}); }

std::unique_ptr<EventStream> BinaryTrace::OpenPart(Shard shard) const {
  return std::make_unique<BlockMerge>(MergeInput{.owner = parts_,
                                                 .file = parts_->file.get(),
                                                 .path = &parts_->path,
                                                 .threads = &parts_->threads,
                                                 .bounds = parts_->bounds,
                                                 .horizon = parts_->horizon,
                                                 .shard = shard});
}

const std::string& BinaryTrace::name() const { return parts_->path; }
uint64_t BinaryTrace::event_count() const { return parts_->horizon == 0 ? 0 : parts_->events; }
std::span<const Tid> BinaryTrace::initial_threads() const { return parts_->initial_threads; }
const std::vector<std::vector<std::byte>>& BinaryTrace::messages() const { return parts_->messages; }
const std::string& BinaryTrace::ending() const { return parts_->ending; }
const std::string& BinaryTrace::left_out() const { return parts_->left_out; }
bool BinaryTrace::has_names() const { return parts_->text.has_value(); }

std::variant<Trace, std::string> BinaryTrace::Load() const {
  if (!has_names()) return fmt::format("{}: a recorded run, without the names that a text trace has", name());
  Trace trace = *parts_->text;
  trace.events.reserve(event_count());
  TraceChecker checker(&trace);
  for (const Tid thread : trace.initial_threads) checker.AddInitialThread(thread);
  const std::unique_ptr<EventStream> stream = Open();
  for (std::span<const Event> events = stream->Next(); !events.empty(); events = stream->Next()) {
    for (const Event& event : events) {
      if (const auto problem = checker.Check(event)) {
        return fmt::format("{}: not a trace: event {}: {}", name(), trace.events.size() + 1, problem->message);
      }
      trace.events.push_back(event);
    }
  }
  if (!stream->error().empty()) return stream->error();
  if (trace.events.size() != trace.lines.size()) return fmt::format("{}: damaged: events are missing", name());
  return trace;
}

}  // namespace redflag
