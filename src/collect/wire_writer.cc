#include "collect/wire_writer.h"

#include <cstring>
#include <string_view>
#include <variant>

namespace redflag {
namespace {

class Encoder {
 public:
  std::vector<std::byte> Encode(const WireMessage& message) {
    Put(wire::MessageHeader{.bytes = 0,
                            .type = std::visit([](const auto& body) { return TypeOf(body); }, message),
                            .version = wire::kVersion});
    std::visit([this](const auto& body) { Body(body); }, message);
    const auto size = static_cast<uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &size, sizeof size);
    return std::move(bytes_);
  }

 private:
  static wire::MessageType TypeOf(const ProcessMessage&) { return wire::MessageType::kProcess; }
  static wire::MessageType TypeOf(const ModuleMessage& module) {
    return module.gone ? wire::MessageType::kModuleGone : wire::MessageType::kModule;
  }
  static wire::MessageType TypeOf(const ThreadMessage&) { return wire::MessageType::kThread; }
  static wire::MessageType TypeOf(const RaceMessage&) { return wire::MessageType::kRace; }
  static wire::MessageType TypeOf(const CountersMessage&) { return wire::MessageType::kCounters; }
  static wire::MessageType TypeOf(const NoteMessage&) { return wire::MessageType::kNote; }
  static wire::MessageType TypeOf(const EndMessage&) { return wire::MessageType::kEnd; }
  static wire::MessageType TypeOf(const SuppressionsMessage&) { return wire::MessageType::kSuppressions; }
  static wire::MessageType TypeOf(const TagMessage&) { return wire::MessageType::kTag; }
  static wire::MessageType TypeOf(const DetectorMessage&) { return wire::MessageType::kDetector; }
  static wire::MessageType TypeOf(const RepeatsMessage&) { return wire::MessageType::kRepeats; }
  static wire::MessageType TypeOf(const WatchedMessage&) { return wire::MessageType::kWatched; }
  static wire::MessageType TypeOf(const MisuseMessage&) { return wire::MessageType::kMisuse; }
  static wire::MessageType TypeOf(const ToleratedMessage&) { return wire::MessageType::kTolerated; }
  static wire::MessageType TypeOf(const FlushMessage&) { return wire::MessageType::kFlush; }

  void PutBytes(const void* from, size_t size) {
    const auto* begin = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  template <class Struct>
  void Put(const Struct& value) {
    static_assert(sizeof value % 8 == 0);
    PutBytes(&value, sizeof value);
  }
  void PutText(std::string_view text) {
    Put(wire::Text{.bytes = static_cast<uint32_t>(text.size()), .reserved = 0});
    PutBytes(text.data(), text.size());
    bytes_.resize((bytes_.size() + 7) & ~size_t{7});
  }
  void PutStack(const RawStack& stack) {
    Put(wire::Stack{.frames = static_cast<uint32_t>(stack.frames.size()), .truncated = stack.truncated ? 1u : 0u});
    PutBytes(stack.frames.data(), stack.frames.size() * sizeof(uint64_t));
  }

  void Body(const ProcessMessage& process) {
    Put(wire::Process{.pid = process.pid, .watch_ms = process.watch_ms, .start_time = process.start_time});
    PutText(process.command);
  }
  void Body(const DetectorMessage& detector) { PutText(detector.name); }
  void Body(const ModuleMessage& module) {
    Put(wire::Module{.begin = module.begin, .end = module.end, .bias = module.bias});
    PutText(module.path);
  }
  void Body(const ThreadMessage& thread) {
    Put(wire::Thread{.id = thread.id,
                     .creator = thread.creator,
                     .os_id = thread.os_id,
                     .flags = (thread.finished ? wire::kFinished : 0) | (thread.detached ? wire::kDetached : 0)});
    PutText(thread.name);
    PutStack(thread.created_at);
  }
  void Body(const RaceMessage& race) {
    Put(wire::Race{.sequence = race.sequence,
                   .address = race.address,
                   .bytes = race.bytes,
                   .access_count = static_cast<uint32_t>(race.accesses.size()),
                   .accesses_found = race.accesses_found,
                   .parts = (race.block ? wire::kHasBlock : 0) | (race.observed ? wire::kHasObserved : 0)});
    if (race.observed) PutObserved(*race.observed);
    if (race.block) PutBlock(*race.block);
    for (const RawAccess& access : race.accesses) PutAccess(access);
  }
  void Body(const CountersMessage& counters) { Put(counters.counters); }
  void Body(const NoteMessage& note) {
    Put(wire::Note{.severity = note.severity, .reserved = 0});
    PutText(note.text);
  }
  void Body(const EndMessage&) {}
  void Body(const FlushMessage&) {}
  void Body(const MisuseMessage& misuse) {
    Put(wire::Misuse{.sequence = misuse.sequence,
                     .object = misuse.object,
                     .thread = misuse.thread,
                     .flaw = misuse.flaw,
                     .place = misuse.place,
                     .waiter_count = static_cast<uint16_t>(misuse.waiters.size()),
                     .place_thread = misuse.place_thread,
                     .number = misuse.number});
    PutStack(misuse.where);
    PutStack(misuse.taken_at);
    PutStack(misuse.made_at);
    for (const RawWaiter& waiter : misuse.waiters) {
      Put(wire::Waiter{.held = waiter.held,
                       .wanted = waiter.wanted,
                       .thread = waiter.thread,
                       .held_shared = waiter.held_shared ? uint8_t{1} : uint8_t{0},
                       .wanted_shared = waiter.wanted_shared ? uint8_t{1} : uint8_t{0},
                       .reserved = {}});
      PutStack(waiter.held_at);
      PutStack(waiter.wanted_at);
      PutStack(waiter.made_at);
    }
  }
  void Body(const ToleratedMessage& tolerated) {
    Put(wire::Tolerated{.sequence = tolerated.sequence, .local = tolerated.local, .global = tolerated.global});
    PutText(tolerated.words);
  }
  void Body(const WatchedMessage& watched) {
    Put(wire::Watched{.sequence = watched.sequence, .access_count = watched.accesses.size()});
    for (const RawAccess& access : watched.accesses) PutAccess(access);
  }
  void Body(const RepeatsMessage& repeats) { Put(wire::Repeats{.sequence = repeats.sequence, .count = repeats.count}); }
  void Body(const SuppressionsMessage& suppressions) {
    Put(wire::Suppressions{.is_file = suppressions.is_file ? 1u : 0u,
                           .wants_usage = suppressions.wants_usage ? 1u : 0u});
    PutText(suppressions.text);
  }
  void Body(const TagMessage& tag) {
    Put(wire::Tag{.number = tag.number, .reserved = 0});
    PutText(tag.object_type);
    PutText(tag.header);
  }

  void PutObserved(const RawObserved& observed) {
    Put(wire::Observed{.before = observed.before,
                       .after = observed.after,
                       .paused_ns = observed.paused_ns,
                       .size = observed.size,
                       .flags = static_cast<uint8_t>((observed.unknown_writer ? wire::kUnknownWriter : 0) |
                                                     (observed.unwatched ? wire::kUnwatched : 0)),
                       .looks = observed.looks,
                       .reserved = 0});
  }
  void PutBlock(const RawBlock& block) {
    Put(wire::Block{.begin = block.begin,
                    .bytes = block.bytes,
                    .thread = block.thread,
                    .place = block.place,
                    .freed = block.freed,
                    .has_stack = block.allocated_at.has_value(),
                    .has_calls = block.calls.has_value()});
    if (block.allocated_at) PutStack(*block.allocated_at);
    if (block.calls) PutCalls(*block.calls);
  }
  void PutCalls(const RawCalls& calls) {
    Put(wire::Calls{.slot_count = static_cast<uint32_t>(calls.slots.size()),
                    .return_count = static_cast<uint32_t>(calls.returns.size())});
    for (const uint64_t slot : calls.slots) Put(slot);
    for (const RawCalls::Return& each : calls.returns) {
      Put(wire::Return{.address = each.address, .value = each.value, .below = each.below});
    }
  }
  void PutAccess(const RawAccess& access) {
    const int flags = (access.vptr ? wire::kVptr : 0) | (access.bit_field ? wire::kBitField : 0) |
                      (access.ordered ? wire::kOrdered : 0) | (access.value ? wire::kValueKnown : 0) |
                      (access.locks_unknown ? wire::kLocksUnknown : 0) | (access.known ? wire::kHasKnown : 0) |
                      (access.weak ? wire::kHasWeak : 0) | (access.owners ? wire::kHasOwners : 0) |
                      static_cast<int>(access.tag << wire::kTagShift);
    Put(wire::AccessHead{.address = access.address,
                         .size = access.size,
                         .thread = access.thread,
                         .kind = access.kind,
                         .origin = access.origin,
                         .flags = static_cast<uint16_t>(flags),
                         .lock_count = static_cast<uint32_t>(access.locks.size()),
                         .value = access.value.value_or(0)});
    PutStack(access.stack);
    for (const RawLock& lock : access.locks) {
      Put(wire::Lock{.address = lock.address,
                     .shared = lock.shared ? 1u : 0u,
                     .stacks = lock.made_at    ? 2u
                               : lock.taken_at ? 1u
                                               : 0u});
      if (lock.taken_at || lock.made_at) PutStack(lock.taken_at.value_or(RawStack()));
      if (lock.made_at) PutStack(*lock.made_at);
    }
    if (access.known) {
      Put(wire::Known{.object = access.known->object,
                      .place = access.known->place,
                      .caller = access.known->caller,
                      .how = access.known->how,
                      .reserved = {}});
    }
    if (access.weak) {
      Put(wire::Weak{.object = access.weak->object,
                     .store_place = access.weak->store_place,
                     .load_place = access.weak->load_place,
                     .store_order = Raw(access.weak->store_order),
                     .load_order = Raw(access.weak->load_order),
                     .reserved = {}});
    }
    if (access.owners) {
      Put(wire::Owners{.count = static_cast<uint32_t>(access.owners->owners.size()), .more = access.owners->more});
      for (const RawOwner& owner : access.owners->owners) {
        const RawGiver giver = owner.giver.value_or(RawGiver{});
        Put(wire::Owner{.object = owner.object,
                        .giver = giver.object,
                        .kind = owner.kind,
                        .giver_kind = giver.kind,
                        .has_giver = owner.giver ? uint8_t{1} : uint8_t{0},
                        .reserved = {}});
      }
    }
  }

  std::vector<std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> EncodeMessage(const WireMessage& message) { return Encoder().Encode(message); }

}  // namespace redflag
