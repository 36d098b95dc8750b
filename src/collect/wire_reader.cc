#include "collect/wire_reader.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>
#include <utility>

namespace redflag {
namespace {

// Reads from front to back and stops for good at the first thing that is wrong: from then on everything reads as zero, so
// that callers need to look only once, at the end and before loops over counts.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class Struct>
  Struct Take(const char* what) {
    static_assert(std::is_trivially_copyable_v<Struct> && sizeof(Struct) % 8 == 0);
    Struct value{};
    if (!Has(sizeof value, what)) return value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof value);
    offset_ += sizeof value;
    return value;
  }

  std::string TakeText(const char* what) {
    const auto head = Take<wire::Text>(what);
    const size_t padded = (size_t{head.bytes} + 7) & ~size_t{7};
    if (!Has(padded, what)) return {};
    std::string text(reinterpret_cast<const char*>(bytes_.data() + offset_), head.bytes);
    offset_ += padded;
    return text;
  }

  RawStack TakeStack(const char* what) {
    RawStack stack;
    const auto head = Take<wire::Stack>(what);
    if (head.frames > wire::kMaxFrames) Fail(fmt::format("{} frames in {}", head.frames, what));
    if (head.truncated > 1) Fail(fmt::format("{}: a flag is {}", what, head.truncated));
    const size_t size = size_t{head.frames} * sizeof(uint64_t);
    if (!Has(size, what)) return stack;
    stack.frames.resize(head.frames);
    if (size != 0) std::memcpy(stack.frames.data(), bytes_.data() + offset_, size);
    stack.truncated = head.truncated != 0;
    offset_ += size;
    return stack;
  }

  bool TakeFlag(uint32_t value, const char* what) {
    if (value > 1) Fail(fmt::format("{}: a flag is {}", what, value));
    return value == 1;
  }

  void Fail(std::string what) {
    if (failed_) return;
    failed_ = true;
    error_ = WireError{.offset = offset_, .what = std::move(what)};
  }

  bool failed() const { return failed_; }
  WireError TakeError() { return std::move(error_); }
  bool at_end() const { return offset_ == bytes_.size(); }

 private:
  bool Has(size_t size, const char* what) {
    if (!failed_ && bytes_.size() - offset_ < size) Fail(fmt::format("the message ends inside {}", what));
    return !failed_;
  }

  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
  bool failed_ = false;
  WireError error_;
};

ProcessMessage TakeProcess(Cursor& cursor) {
  const auto process = cursor.Take<wire::Process>("process");
  return {.pid = process.pid,
          .start_time = process.start_time,
          .command = cursor.TakeText("command"),
          .watch_ms = process.watch_ms};
}

ModuleMessage TakeModule(Cursor& cursor, bool gone) {
  const auto module = cursor.Take<wire::Module>("module");
  if (module.begin > module.end) cursor.Fail("a module ends before it begins");
  return {.begin = module.begin, .end = module.end, .bias = module.bias, .path = cursor.TakeText("path"), .gone = gone};
}

ThreadMessage TakeThread(Cursor& cursor) {
  const auto thread = cursor.Take<wire::Thread>("thread");
  ThreadMessage message{.id = thread.id,
                        .creator = thread.creator,
                        .os_id = thread.os_id,
                        .finished = (thread.flags & wire::kFinished) != 0,
                        .detached = (thread.flags & wire::kDetached) != 0,
                        .name = {},
                        .created_at = {}};
  message.name = cursor.TakeText("name of a thread");
  message.created_at = cursor.TakeStack("stack of a thread's creation");
  return message;
}

RawCalls TakeCalls(Cursor& cursor) {
  RawCalls calls;
  const auto head = cursor.Take<wire::Calls>("calls");
  if (head.slot_count > wire::kMaxSlots) cursor.Fail(fmt::format("{} slots of calls", head.slot_count));
  if (head.return_count > wire::kMaxReturns) cursor.Fail(fmt::format("{} returns of calls", head.return_count));
  for (uint32_t i = 0; i < head.slot_count && !cursor.failed(); ++i) {
    calls.slots.push_back(cursor.Take<uint64_t>("slot of a call"));
  }
  for (uint32_t i = 0; i < head.return_count && !cursor.failed(); ++i) {
    const auto found = cursor.Take<wire::Return>("return of a call");
    calls.returns.push_back({.address = found.address, .value = found.value, .below = found.below});
  }
  return calls;
}

RawBlock TakeBlock(Cursor& cursor) {
  const auto head = cursor.Take<wire::Block>("block");
  if (Raw(head.place) > Raw(wire::Place::kDescriptor))
    cursor.Fail(fmt::format("a block's place is {}", Raw(head.place)));
  RawBlock block{.begin = head.begin,
                 .bytes = head.bytes,
                 .thread = head.thread,
                 .place = head.place,
                 .freed = cursor.TakeFlag(head.freed, "block"),
                 .allocated_at = {},
                 .calls = {}};
  if (cursor.TakeFlag(head.has_stack, "block")) block.allocated_at = cursor.TakeStack("stack of an allocation");
  if (cursor.TakeFlag(head.has_calls, "block")) block.calls = TakeCalls(cursor);
  return block;
}

RawLock TakeLock(Cursor& cursor) {
  const auto head = cursor.Take<wire::Lock>("lock");
  RawLock lock{.address = head.address, .shared = cursor.TakeFlag(head.shared, "lock"), .taken_at = {}};
  if (head.stacks > 2) cursor.Fail(fmt::format("a lock with {} stacks", head.stacks));
  if (head.stacks >= 1) lock.taken_at = cursor.TakeStack("stack of a lock");
  if (head.stacks == 2) lock.made_at = cursor.TakeStack("stack of a lock's making");
  return lock;
}

RawKnown TakeKnown(Cursor& cursor) {
  const auto known = cursor.Take<wire::Known>("what is known of a thread");
  if (Raw(known.how) > Raw(wire::Handover::kBarrier)) cursor.Fail(fmt::format("a handover of kind {}", Raw(known.how)));
  return {.how = known.how, .object = known.object, .place = known.place, .caller = known.caller};
}

MemoryOrder TakeOrder(Cursor& cursor, uint8_t order) {
  if (order > Raw(MemoryOrder::kSeqCst)) cursor.Fail(fmt::format("a memory order of {}", order));
  return MemoryOrder{order};
}

RawWeak TakeWeak(Cursor& cursor) {
  const auto weak = cursor.Take<wire::Weak>("atomic operations");
  return {.object = weak.object,
          .store_place = weak.store_place,
          .load_place = weak.load_place,
          .store_order = TakeOrder(cursor, weak.store_order),
          .load_order = TakeOrder(cursor, weak.load_order)};
}

RawOwners TakeOwners(Cursor& cursor) {
  const auto head = cursor.Take<wire::Owners>("owners");
  if (head.count > wire::kMaxOwners) cursor.Fail(fmt::format("{} owners", head.count));
  RawOwners owners{.owners = {}, .more = head.more};
  for (uint32_t i = 0; i < head.count && !cursor.failed(); ++i) {
    const auto owner = cursor.Take<wire::Owner>("owner");
    for (const wire::OwnerKind kind : {owner.kind, owner.giver_kind}) {
      if (Raw(kind) > Raw(wire::OwnerKind::kTransaction)) cursor.Fail(fmt::format("an owner of kind {}", Raw(kind)));
    }
    owners.owners.push_back({.kind = owner.kind, .object = owner.object});
    if (owner.has_giver != 0) owners.owners.back().giver = {.kind = owner.giver_kind, .object = owner.giver};
  }
  return owners;
}

RawAccess TakeAccess(Cursor& cursor) {
  const auto head = cursor.Take<wire::AccessHead>("access");
  if (Raw(head.kind) > Raw(AccessKind::kWrite)) cursor.Fail(fmt::format("an access of kind {}", Raw(head.kind)));
  if (Raw(head.origin) > Raw(AccessOrigin::kFree)) cursor.Fail(fmt::format("an access of origin {}", Raw(head.origin)));
  RawAccess access{.address = head.address,
                   .size = head.size,
                   .thread = head.thread,
                   .kind = head.kind,
                   .origin = head.origin,
                   .vptr = (head.flags & wire::kVptr) != 0,
                   .bit_field = (head.flags & wire::kBitField) != 0,
                   .ordered = (head.flags & wire::kOrdered) != 0,
                   .locks_unknown = (head.flags & wire::kLocksUnknown) != 0,
                   .tag = static_cast<uint32_t>(head.flags) >> wire::kTagShift,
                   .value = {},
                   .stack = {},
                   .locks = {},
                   .known = {},
                   .weak = {},
                   .owners = {}};
  if ((head.flags & wire::kValueKnown) != 0) access.value = head.value;
  access.stack = cursor.TakeStack("stack of an access");
  for (uint32_t i = 0; i < head.lock_count && !cursor.failed(); ++i) access.locks.push_back(TakeLock(cursor));
  if ((head.flags & wire::kHasKnown) != 0) access.known = TakeKnown(cursor);
  if ((head.flags & wire::kHasWeak) != 0) access.weak = TakeWeak(cursor);
  if ((head.flags & wire::kHasOwners) != 0) access.owners = TakeOwners(cursor);
  return access;
}

RawObserved TakeObserved(Cursor& cursor) {
  const auto head = cursor.Take<wire::Observed>("what was observed");
  if (Raw(head.looks) > Raw(wire::Looks::kMixed)) cursor.Fail(fmt::format("a race looks like {}", Raw(head.looks)));
  return {.before = head.before,
          .after = head.after,
          .paused_ns = head.paused_ns,
          .size = head.size,
          .unknown_writer = (head.flags & wire::kUnknownWriter) != 0,
          .unwatched = (head.flags & wire::kUnwatched) != 0,
          .looks = head.looks};
}

RaceMessage TakeRace(Cursor& cursor) {
  const auto head = cursor.Take<wire::Race>("race");
  RaceMessage race{.sequence = head.sequence,
                   .address = head.address,
                   .bytes = head.bytes,
                   .accesses_found = head.accesses_found,
                   .block = {},
                   .accesses = {}};
  if (head.access_count == 0) cursor.Fail("a race without an access");
  if (head.parts > (wire::kHasBlock | wire::kHasObserved)) cursor.Fail(fmt::format("a race of parts {}", head.parts));
  if ((head.parts & wire::kHasObserved) != 0) race.observed = TakeObserved(cursor);
  if ((head.parts & wire::kHasBlock) != 0) race.block = TakeBlock(cursor);
  for (uint32_t i = 0; i < head.access_count && !cursor.failed(); ++i) race.accesses.push_back(TakeAccess(cursor));
  return race;
}

WatchedMessage TakeWatched(Cursor& cursor) {
  const auto head = cursor.Take<wire::Watched>("what was watched");
  WatchedMessage watched{.sequence = head.sequence, .accesses = {}};
  for (uint64_t i = 0; i < head.access_count && !cursor.failed(); ++i) watched.accesses.push_back(TakeAccess(cursor));
  return watched;
}

MisuseMessage TakeMisuse(Cursor& cursor) {
  const auto head = cursor.Take<wire::Misuse>("misuse");
  if (Raw(head.flaw) > Raw(wire::kLastFlaw)) cursor.Fail(fmt::format("a misuse of kind {}", Raw(head.flaw)));
  if (Raw(head.place) > Raw(wire::Place::kDescriptor)) cursor.Fail(fmt::format("a place of kind {}", Raw(head.place)));
  MisuseMessage misuse{.sequence = head.sequence,
                       .object = head.object,
                       .thread = head.thread,
                       .flaw = head.flaw,
                       .where = {},
                       .taken_at = {},
                       .made_at = {},
                       .waiters = {},
                       .place = head.place,
                       .place_thread = head.place_thread,
                       .number = head.number};
  misuse.where = cursor.TakeStack("stack of a misuse");
  misuse.taken_at = cursor.TakeStack("stack of a lock");
  misuse.made_at = cursor.TakeStack("stack of a lock");
  for (uint32_t i = 0; i < head.waiter_count && !cursor.failed(); ++i) {
    const auto waiter = cursor.Take<wire::Waiter>("thread of a deadlock");
    RawWaiter& raw = misuse.waiters.emplace_back(RawWaiter{.held = waiter.held,
                                                           .wanted = waiter.wanted,
                                                           .thread = waiter.thread,
                                                           .held_shared = waiter.held_shared != 0,
                                                           .wanted_shared = waiter.wanted_shared != 0,
                                                           .held_at = {},
                                                           .wanted_at = {},
                                                           .made_at = {}});
    raw.held_at = cursor.TakeStack("stack of a lock");
    raw.wanted_at = cursor.TakeStack("stack of a lock");
    raw.made_at = cursor.TakeStack("stack of a lock");
  }
  return misuse;
}

ToleratedMessage TakeTolerated(Cursor& cursor) {
  const auto head = cursor.Take<wire::Tolerated>("tolerated");
  return {.sequence = head.sequence,
          .local = head.local,
          .global = head.global,
          .words = cursor.TakeText("words of what was tolerated")};
}

NoteMessage TakeNote(Cursor& cursor) {
  const auto note = cursor.Take<wire::Note>("note");
  return {.severity = note.severity, .text = cursor.TakeText("text of a note")};
}

SuppressionsMessage TakeSuppressions(Cursor& cursor) {
  const auto head = cursor.Take<wire::Suppressions>("suppressions");
  const bool is_file = cursor.TakeFlag(head.is_file, "suppressions");
  const bool wants_usage = cursor.TakeFlag(head.wants_usage, "suppressions");
  return {.is_file = is_file, .wants_usage = wants_usage, .text = cursor.TakeText("text of suppressions")};
}

TagMessage TakeTag(Cursor& cursor) {
  TagMessage tag{.number = cursor.Take<wire::Tag>("tag").number, .object_type = {}, .header = {}};
  tag.object_type = cursor.TakeText("object type of a tag");
  tag.header = cursor.TakeText("header of a tag");
  return tag;
}

WireMessage TakeBody(Cursor& cursor, wire::MessageType type) {
  switch (type) {
    case wire::MessageType::kProcess:
      return TakeProcess(cursor);
    case wire::MessageType::kModule:
      return TakeModule(cursor, false);
    case wire::MessageType::kModuleGone:
      return TakeModule(cursor, true);
    case wire::MessageType::kThread:
      return TakeThread(cursor);
    case wire::MessageType::kRace:
      return TakeRace(cursor);
    case wire::MessageType::kCounters:
      return CountersMessage{cursor.Take<wire::Counters>("counters")};
    case wire::MessageType::kNote:
      return TakeNote(cursor);
    case wire::MessageType::kEnd:
      return EndMessage{};
    case wire::MessageType::kSuppressions:
      return TakeSuppressions(cursor);
    case wire::MessageType::kTag:
      return TakeTag(cursor);
    case wire::MessageType::kRepeats: {
      const auto repeats = cursor.Take<wire::Repeats>("repeats");
      return RepeatsMessage{.sequence = repeats.sequence, .count = repeats.count};
    }
    case wire::MessageType::kWatched:
      return TakeWatched(cursor);
    case wire::MessageType::kFlush:
      return FlushMessage{};
    case wire::MessageType::kMisuse:
      return TakeMisuse(cursor);
    case wire::MessageType::kTolerated:
      return TakeTolerated(cursor);
    case wire::MessageType::kDetector:
      return DetectorMessage{cursor.TakeText("name of a detector")};
  }
  cursor.Fail(fmt::format("a message of type {}", Raw(type)));
  return EndMessage{};
}

}  // namespace

std::variant<WireMessage, WireError> DecodeMessage(std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  const auto header = cursor.Take<wire::MessageHeader>("its header");
  if (header.bytes != bytes.size())
    cursor.Fail(fmt::format("{} bytes that say they are {}", bytes.size(), header.bytes));
  if (header.version != wire::kVersion) cursor.Fail(fmt::format("version {} of the format", header.version));
  if (cursor.failed()) return cursor.TakeError();
  WireMessage message = TakeBody(cursor, header.type);
  if (!cursor.failed() && !cursor.at_end()) cursor.Fail("the message goes on after its end");
  if (cursor.failed()) return cursor.TakeError();
  return message;
}

}  // namespace redflag
