#include "trace/block_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trace/binary_trace.h"
#include "trace/checker.h"

namespace redflag {
namespace {

const uint8_t* BytesOf(const std::vector<std::byte>& bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

bool InRange(uint64_t addr, uint64_t size, uint64_t most) { return size - 1 < most && size <= UINT64_MAX - addr; }

// kNoPosition becomes 0.
bool HasGoodPosition(const Event& event, const EventBounds& bounds) {
  return Raw(event.position) + 1 <= bounds.positions;
}

}  // namespace

std::string EventProblem(const Event& event, const EventBounds& bounds) {
  const uint64_t addr = Raw(event.addr);
  if (!HasGoodPosition(event, bounds)) return fmt::format("position {}: there is no such number", Raw(event.position));
  if (!FlagFits(event))
    return fmt::format("a flag {} that is not for an event of kind {}", Raw(event.flag), Raw(event.kind));
  const auto object = [&](std::string_view what, uint32_t bound) {
    return event.object < bound ? std::string() : fmt::format("{} {}: there is no such number", what, event.object);
  };
  const auto range = [&](uint64_t most) {
    return InRange(addr, event.size, most)
               ? std::string()
               : fmt::format("{} bytes at {:#x} in an event of kind {}", event.size, addr, Raw(event.kind));
  };
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kTxRead:
    case EventKind::kTxWrite:
      return range(BinaryTrace::kMaxAccess);
    case EventKind::kAtomicLoad:
    case EventKind::kAtomicStore:
    case EventKind::kAtomicRmw:
      if (event.size != 0 && (event.size & (event.size - 1)) != 0)
        return fmt::format("an atomic access of {} bytes", event.size);
      return range(16);
    case EventKind::kAlloc:
    case EventKind::kFree:
    case EventKind::kBenignRace:
    case EventKind::kExpectRace:
    case EventKind::kPublish:
    case EventKind::kUnpublish:
    case EventKind::kNewMemory:
    case EventKind::kForget:
      return range(BinaryTrace::kMaxRange);
    case EventKind::kLock:
    case EventKind::kUnlock:
    case EventKind::kSignal:
    case EventKind::kWait:
    case EventKind::kPureHbMutex:
    case EventKind::kLockCreate:
    case EventKind::kLockDestroy:
      return object("object", addr != 0 ? BinaryTrace::kMaxName : bounds.syncs);
    case EventKind::kBarrierArrive:
    case EventKind::kBarrierLeave:
      if (event.size - 1 >= TraceChecker::kMaxBarrierParties) return fmt::format("a barrier of {} parties", event.size);
      return object("object", addr != 0 ? BinaryTrace::kMaxName : bounds.syncs);
    case EventKind::kThreadFork:
    case EventKind::kThreadJoin:
      return object("thread", bounds.threads);
    case EventKind::kThreadName:
      return object("text", bounds.texts);
    case EventKind::kFunctionEnter:
      return object("function", bounds.functions);
    case EventKind::kTold:
      return event.size - 1 < 255 ? std::string()
                                  : fmt::format("a race told on the bytes {:#x} of a granule", event.size);
    case EventKind::kFence:
    case EventKind::kThreadEnd:
    case EventKind::kTxCommit:
    case EventKind::kFunctionExit:
    case EventKind::kIgnoreReadsBegin:
    case EventKind::kIgnoreReadsEnd:
    case EventKind::kIgnoreWritesBegin:
    case EventKind::kIgnoreWritesEnd:
      return {};
  }
  return fmt::format("an event of the unknown kind {}", Raw(event.kind));
}

BlockMerge::BlockMerge(MergeInput input)
    : input_(std::move(input)), cursors_(input_.threads->size()), filter_(input_.shard) {
  contexts_.emplace_back();
  for (size_t i = 0; i < cursors_.size(); ++i) {
    cursors_[i].of = &(*input_.threads)[i];
    heap_.push_back({cursors_[i].of->blocks.front().first_stamp, &cursors_[i]});
  }
  for (size_t i = heap_.size() / 2; i-- > 0;) SiftDown(i);
  uint64_t events = 1;
  for (const ThreadBlocks& thread : *input_.threads) {
    for (const FileBlock& block : thread.blocks) events += block.events;
  }
  batch_.resize(std::min<uint64_t>(events, kBatch));
  if (input_.shard.count > 1) places_.resize(batch_.size());
}

std::span<const Event> BlockMerge::Next() {
  count_ = 0;
  while (count_ < batch_.size()) {
    if (current_ == nullptr && !Choose()) break;
    Run();
  }
  // What was read before a fault was good.
  return {batch_.data(), count_};
}

// Whose turn is it? Its stamped event goes into the batch, which has room.
bool BlockMerge::Choose() {
  while (!heap_.empty()) {
    Cursor& cursor = *heap_[0].cursor;
    if (!cursor.reader) {
      OpenThread(cursor);
      continue;
    }
    if (cursor.stamp > input_.horizon) {
      Finish();
      return false;
    }
    if (cursor.stamp <= emitted_) {
      Fail(cursor, fmt::format("the stamp {} is that of an event of another thread, too", cursor.stamp));
      return false;
    }
    emitted_ = cursor.stamp;
    batch_[count_] = cursor.waiting;
    if (!places_.empty()) places_[count_] = passed_;
    if (places_.empty() || filter_.Concerns(cursor.waiting)) ++count_;
    ++passed_;
    ++cursor.events;
    second_ = SecondStamp();
    current_ = &cursor;
    return true;
  }
  return false;
}

[[gnu::always_inline]] inline bool BlockMerge::IsSound(const Event& event, const Cursor& cursor) {
  if (event.kind <= EventKind::kWrite && event.flag == EventFlag::kNone &&
      InRange(Raw(event.addr), event.size, BinaryTrace::kMaxAccess) && HasGoodPosition(event, input_.bounds))
      [[likely]] {
    return true;
  }
  return CheckOther(event, cursor);
}

void BlockMerge::Run() {
  if (places_.empty()) {
    RunOn<false>();
  } else {
    RunOn<true>();
  }
}

// The current thread, until it is another's turn or the batch is full.
template <bool kIsPart>
void BlockMerge::RunOn() {
  Cursor& cursor = *current_;
  Event* const batch = batch_.data();
  uint64_t* const places = places_.data();
  const size_t room = batch_.size();
  size_t count = count_;
  uint64_t passed = passed_;
  const auto pause = [&] {
    cursor.events += passed - passed_;
    passed_ = passed;
    count_ = count;
  };
  while (count < room) {
    BlockReader& reader = *cursor.reader;
    Event& event = batch[count];
    const BlockReader::Item item = reader.Next(event);
    if (item == BlockReader::Item::kEvent) [[likely]] {
      if (!IsSound(event, cursor)) return pause();
      if (reader.stamp != kNoStamp) {
        if (!HasGoodStamp(cursor, reader.stamp)) return pause();
        cursor.stamp = reader.stamp;
        if (reader.stamp >= second_ || reader.stamp > input_.horizon) {
          cursor.waiting = event;
          heap_[0].stamp = reader.stamp;
          SiftDown(0);
          current_ = nullptr;
          return pause();
        }
        emitted_ = reader.stamp;
      }
      if constexpr (kIsPart) {
        places[count] = passed;
        count += filter_.Concerns(event) ? 1 : 0;
      } else {
        ++count;
      }
      ++passed;
    } else if (item == BlockReader::Item::kContext) {
      if (!Define(reader, cursor)) return pause();
    } else {
      pause();
      if (!NextBlock(cursor)) return;
    }
  }
  pause();
}

// The first of the heap, which gets its true place there.
void BlockMerge::OpenThread(Cursor& cursor) {
  if (!LoadBlock(cursor)) return;
  Event& event = cursor.waiting;
  for (;;) {
    BlockReader& reader = *cursor.reader;
    const BlockReader::Item item = reader.Next(event);
    if (item == BlockReader::Item::kContext) {
      if (!Define(reader, cursor)) return;
    } else if (item == BlockReader::Item::kEnd) {
      if (!NextBlock(cursor)) return;
    } else {
      break;
    }
  }
  const uint64_t stamp = cursor.reader->stamp;
  if (!IsSound(event, cursor)) return;
  if (stamp == kNoStamp) return Fail(cursor, "the first event of the thread has no stamp");
  if (stamp < cursor.of->blocks.front().first_stamp) {
    return Fail(cursor, fmt::format("the stamp {} is smaller than the header of the block says", stamp));
  }
  cursor.stamp = stamp;
  heap_[0].stamp = stamp;
  SiftDown(0);
}

bool BlockMerge::LoadBlock(Cursor& cursor) {
  const FileBlock& block = cursor.of->blocks[cursor.block];
  if (std::string problem = decoder_.Read(*input_.file, block, cursor.records); !problem.empty()) {
    Fail(cursor, problem);
    return false;
  }
  const uint8_t* const begin = BytesOf(cursor.records);
  cursor.reader.emplace(begin, begin + cursor.records.size(), cursor.of->thread);
  cursor.events = 0;
  return true;
}

// At the end of a block. False: a fault, or the thread has no more.
bool BlockMerge::NextBlock(Cursor& cursor) {
  const FileBlock& block = cursor.of->blocks[cursor.block];
  if (!cursor.reader->ok()) {
    Fail(cursor, "the block has bytes that are no event");
    return false;
  }
  if (cursor.events > block.events) {
    Fail(cursor, fmt::format("the block has {} events, its header says {}", cursor.events, block.events));
    return false;
  }
  if (++cursor.block < cursor.of->blocks.size()) return LoadBlock(cursor);
  Close(cursor);
  return false;
}

// The first of the heap.
void BlockMerge::Close(Cursor& cursor) {
  cursor = Cursor{};
  current_ = nullptr;
  heap_[0] = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) SiftDown(0);
}

void BlockMerge::SiftDown(size_t at) {
  const Turn turn = heap_[at];
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].stamp < heap_[child].stamp) ++child;
    if (heap_[child].stamp >= turn.stamp) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = turn;
}

uint64_t BlockMerge::SecondStamp() const {
  uint64_t stamp = UINT64_MAX;
  for (size_t i = 1; i < std::min<size_t>(heap_.size(), 3); ++i) stamp = std::min(stamp, heap_[i].stamp);
  return stamp;
}

bool BlockMerge::Define(const BlockReader& reader, const Cursor& cursor) {
  if (reader.context == 0 || reader.context >= input_.bounds.contexts || reader.caller >= BinaryTrace::kMaxContext) {
    Fail(cursor, fmt::format("context {} with caller {}: there are no such numbers", reader.context, reader.caller));
    return false;
  }
  if (reader.context >= contexts_.size()) contexts_.resize(size_t{reader.context} + 1);
  contexts_[reader.context] = {.place = reader.place, .caller = reader.caller};
  return true;
}

bool BlockMerge::HasGoodStamp(const Cursor& cursor, uint64_t stamp) {
  if (stamp > cursor.stamp) [[likely]]
    return true;
  Fail(cursor, fmt::format("the stamp {} follows {} in the same thread", stamp, cursor.stamp));
  return false;
}

bool BlockMerge::CheckOther(const Event& event, const Cursor& cursor) {
  const std::string problem = EventProblem(event, input_.bounds);
  if (problem.empty()) return true;
  Fail(cursor, problem);
  return false;
}

void BlockMerge::Fail(const Cursor& cursor, std::string_view what) {
  error_ = fmt::format("{}: damaged at byte {}, in a block of thread {}: {}", *input_.path,
                       cursor.of->blocks[cursor.block].offset, Raw(cursor.of->thread), what);
  Finish();
}

void BlockMerge::Finish() {
  heap_.clear();
  current_ = nullptr;
}

}  // namespace redflag
