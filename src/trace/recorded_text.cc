#include "trace/recorded_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "trace/text_verbs.h"

namespace redflag {
namespace {

SyncKind KindOf(EventKind kind) {
  switch (kind) {
    case EventKind::kSignal:
    case EventKind::kWait:
      return SyncKind::kSignal;
    case EventKind::kBarrierArrive:
    case EventKind::kBarrierLeave:
      return SyncKind::kBarrier;
    default:
      return SyncKind::kLock;
  }
}

// Loads release nothing and stores acquire nothing, whatever was asked of them.
MemoryOrder OrderFor(const Event& event) {
  if (event.kind == EventKind::kAtomicLoad && event.order != MemoryOrder::kSeqCst) {
    return Acquires(event.order) ? MemoryOrder::kAcquire : MemoryOrder::kRelaxed;
  }
  if (event.kind == EventKind::kAtomicStore && event.order != MemoryOrder::kSeqCst) {
    return Releases(event.order) ? MemoryOrder::kRelease : MemoryOrder::kRelaxed;
  }
  return event.order;
}

std::string Listed(const std::map<std::string_view, uint64_t>& counts) {
  std::string list;
  for (const auto& [what, count] : counts) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, what);
  return list;
}

uint64_t Sum(const std::map<std::string_view, uint64_t>& counts) {
  uint64_t sum = 0;
  for (const auto& [what, count] : counts) sum += count;
  return sum;
}

}  // namespace

void RecordedText::Add(Event event) {
  const std::string_view word = VerbFor(event, SyncKind::kSignal).word;
  if (!Translate(event)) {
    ++left_out_[word];
    return;
  }
  if (Emit(event)) return;
  if (Replace(event)) {
    ++replaced_[word];
  } else {
    ++left_out_[word];
  }
}

std::vector<std::string> RecordedText::Notes() const {
  std::vector<std::string> notes;
  const auto add = [&](const std::map<std::string_view, uint64_t>& counts, std::string_view what) {
    const uint64_t sum = Sum(counts);
    if (sum != 0) notes.push_back(fmt::format("{} event{} {} ({})", sum, sum == 1 ? "" : "s", what, Listed(counts)));
  };
  add(replaced_, "that a text trace cannot have were replaced by others that mean the same");
  add(left_out_, "that a text trace cannot have were left out");
  return notes;
}

// Ids of the recording to ids of the trace. False: it names what there is no name for.
bool RecordedText::Translate(Event& event) {
  const bool forks = event.kind == EventKind::kThreadFork;
  const bool joins = event.kind == EventKind::kThreadJoin;
  event.thread = ThreadFor(Raw(event.thread));
  if (!exists_[Raw(event.thread)]) {
    exists_[Raw(event.thread)] = true;
    trace_.initial_threads.push_back(event.thread);
    checker_.AddInitialThread(event.thread);
  }
  event.position = PositionFor(event.position);
  if (forks || joins) {
    const Tid child = ThreadFor(event.object);
    event.object = Raw(child);
    return true;
  }
  switch (event.kind) {
    case EventKind::kLock:
    case EventKind::kUnlock:
    case EventKind::kSignal:
    case EventKind::kWait:
    case EventKind::kBarrierArrive:
    case EventKind::kBarrierLeave:
    case EventKind::kPureHbMutex:
    case EventKind::kLockCreate:
    case EventKind::kLockDestroy:
      event.object = Raw(SyncFor(event));
      return true;
    case EventKind::kThreadName:
      return false;  // the text is not known here
    case EventKind::kFunctionEnter:
      trace_.functions.push_back(fmt::format("function{}", event.object));
      event.object = static_cast<uint32_t>(trace_.functions.size() - 1);
      return true;
    default:
      return true;
  }
}

Tid RecordedText::ThreadFor(uint32_t recorded) {
  const auto [found, is_new] = threads_.emplace(recorded, Tid{static_cast<uint32_t>(trace_.threads.size())});
  if (is_new) {
    trace_.threads.push_back(recorded == 0 ? "main" : fmt::format("T{}", recorded));
    exists_.push_back(false);
  }
  return found->second;
}

SyncId RecordedText::SyncFor(const Event& event) {
  static constexpr std::string_view kNames[] = {"lock", "signal", "condition", "semaphore", "barrier"};
  const SyncKind kind = KindOf(event.kind);
  const auto [found, is_new] =
      syncs_.emplace(std::tuple(kind, event.object, event.addr), SyncId{static_cast<uint32_t>(trace_.syncs.size())});
  if (is_new) {
    std::string name = fmt::format("{}{}", kNames[Raw(kind)], event.object);
    if (event.addr != Addr{}) name += fmt::format(".{:x}", Raw(event.addr));
    trace_.syncs.push_back({std::move(name), kind});
  }
  return found->second;
}

PositionId RecordedText::PositionFor(PositionId context) {
  if (context == kNoPosition) return kNoPosition;
  const auto [found, is_new] =
      positions_.emplace(Raw(context), PositionId{static_cast<uint32_t>(trace_.positions.size())});
  if (is_new) trace_.positions.push_back({.file = "ctx", .line = Raw(context), .column = 0});
  return found->second;
}

bool RecordedText::Emit(const Event& event) {
  if (checker_.Check(event)) return false;
  trace_.events.push_back(event);
  trace_.lines.push_back(0);
  if (event.kind == EventKind::kThreadFork) exists_[event.object] = true;
  if (event.kind == EventKind::kAlloc) blocks_[event.addr] = event.size;
  if (event.kind == EventKind::kFree) blocks_.erase(event.addr);
  return true;
}

bool RecordedText::Replace(const Event& event) {
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kTxRead:
    case EventKind::kTxWrite:
      return event.size > TraceChecker::kMaxAccess && EmitMemory(event, event.kind);
    case EventKind::kAtomicLoad:
    case EventKind::kAtomicStore: {
      Event other = event;
      other.order = OrderFor(event);
      return Emit(other);
    }
    case EventKind::kAlloc:
    case EventKind::kNewMemory:
      return EmitMemory(event, EventKind::kNewMemory);
    case EventKind::kFree: {
      Event other = event;
      if (const auto block = blocks_.find(event.addr); block != blocks_.end()) other.size = block->second;
      return Emit(other) || EmitMemory(event, EventKind::kWrite);
    }
    case EventKind::kLockCreate:
    case EventKind::kLockDestroy:
      ReleaseAll(event);
      return Emit(event);
    default:
      return false;
  }
}

// The bytes of the event, in pieces that the checker accepts as events of that kind. False: not even the first.
bool RecordedText::EmitMemory(const Event& event, EventKind kind) {
  Addr at = event.addr;
  const Addr end = event.addr + event.size;
  const bool is_access = kind != EventKind::kNewMemory;
  while (at < end) {
    Event piece = event;
    piece.kind = kind;
    piece.addr = at;
    piece.size = end - at;
    if (is_access) {
      piece.size = std::min(piece.size, TraceChecker::kMaxAccess);
    } else {
      // To the end of the block that this byte is in, or to the beginning of the next.
      const auto next = blocks_.upper_bound(at);
      const bool inside = next != blocks_.begin() && std::prev(next)->first + std::prev(next)->second > at;
      if (inside) {
        piece.size = std::min(piece.size, std::prev(next)->first + std::prev(next)->second - at);
      } else if (next != blocks_.end()) {
        piece.size = std::min(piece.size, next->first - at);
      }
    }
    if (!Emit(piece)) return false;
    at = at + piece.size;
  }
  return true;
}

// As far as the thread of the event holds the lock.
void RecordedText::ReleaseAll(const Event& event) {
  while (checker_.Holds(event.thread, event.sync())) {
    Event unlock = event;
    unlock.kind = EventKind::kUnlock;
    unlock.mode = LockMode::kExclusive;
    if (Emit(unlock)) continue;
    unlock.mode = LockMode::kShared;
    if (!Emit(unlock)) return;
  }
}

}  // namespace redflag
