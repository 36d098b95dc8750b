#include "trace/event_blocks.h"

#include <array>
#include <span>

namespace redflag {

bool EventBlocks::Add(const Event& event, uint64_t stamp) {
  Block& block = BlockOf(event.thread);
  std::array<uint8_t, kMaxRecord> record;
  const bool plain = event.kind == EventKind::kRead || event.kind == EventKind::kWrite;
  const uint8_t* const end = plain ? PutAccess(block.state, record.data(), event.kind == EventKind::kWrite,
                                               Raw(event.addr), event.size, Raw(event.position), stamp)
                                   : PutOther(block.state, record.data(), event, stamp);
  if (block.first_stamp == kNoStamp) block.first_stamp = stamp;
  ++block.events;
  return Extend(event.thread, block, record.data(), end);
}

bool EventBlocks::AddContext(Tid thread, uint32_t context, uint32_t caller, uint64_t place) {
  std::array<uint8_t, kMaxRecord> record;
  return Extend(thread, BlockOf(thread), record.data(), PutContext(record.data(), context, caller, place));
}

bool EventBlocks::Flush() {
  bool good = true;
  for (auto& [thread, block] : blocks_) good = good && Write(thread, block);
  blocks_.clear();
  of_last_ = nullptr;
  return good;
}

EventBlocks::Block& EventBlocks::BlockOf(Tid thread) {
  if (of_last_ == nullptr || last_ != thread) {
    last_ = thread;
    of_last_ = &blocks_[thread];
  }
  return *of_last_;
}

bool EventBlocks::Extend(Tid thread, Block& block, const uint8_t* begin, const uint8_t* end) {
  block.records.insert(block.records.end(), begin, end);
  return block.records.size() + kMaxRecord <= kBlockBytes || Write(thread, block);
}

bool EventBlocks::Write(Tid thread, Block& block) {
  const bool good = block.records.empty() || writer_.AddEvents(thread, block.first_stamp, block.state.stamp,
                                                               block.events, std::as_bytes(std::span(block.records)));
  block.state = {};
  block.first_stamp = 0;
  block.events = 0;
  block.records.clear();
  return good;
}

}  // namespace redflag
