// Messages (events/wire.h) as plain C++. Not one byte of a message is trusted: it was written by a program that may have been
// overwriting its own memory. What does not fit together is an error in words, never a guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "events/event.h"
#include "events/wire.h"

namespace redflag {

// Return addresses, innermost first.
struct RawStack {
  std::vector<uint64_t> frames;
  bool truncated = false;  // outer frames are missing

  bool operator==(const RawStack&) const = default;
};

struct ProcessMessage {
  uint32_t pid = 0;
  uint64_t start_time = 0;
  std::string command;
  uint32_t watch_ms = 0;

  bool operator==(const ProcessMessage&) const = default;
};

struct ModuleMessage {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t bias = 0;
  std::string path;
  bool gone = false;

  bool operator==(const ModuleMessage&) const = default;
};

struct ThreadMessage {
  uint32_t id = 0;
  uint32_t creator = wire::kNoThread;
  uint32_t os_id = 0;
  bool finished = false;
  bool detached = false;
  std::string name;
  RawStack created_at;

  bool operator==(const ThreadMessage&) const = default;
};

struct RawLock {
  uint64_t address = 0;
  bool shared = false;
  std::optional<RawStack> taken_at;
  std::optional<RawStack> made_at{};

  bool operator==(const RawLock&) const = default;
};

struct RawKnown {
  wire::Handover how{};
  uint64_t object = 0;
  uint64_t place = 0;
  uint64_t caller = 0;

  bool operator==(const RawKnown&) const = default;
};

struct RawWeak {
  uint64_t object = 0;
  uint64_t store_place = 0;
  uint64_t load_place = 0;
  MemoryOrder store_order{};
  MemoryOrder load_order{};

  bool operator==(const RawWeak&) const = default;
};

struct RawGiver {
  wire::OwnerKind kind{};
  uint64_t object = 0;

  bool operator==(const RawGiver&) const = default;
};
struct RawOwner {
  wire::OwnerKind kind{};
  uint64_t object = 0;
  std::optional<RawGiver> giver{};

  bool operator==(const RawOwner&) const = default;
};
struct RawOwners {
  std::vector<RawOwner> owners;
  uint32_t more = 0;

  bool operator==(const RawOwners&) const = default;
};

struct RawAccess {
  uint64_t address = 0;
  uint32_t size = 0;
  uint32_t thread = 0;
  AccessKind kind{};
  AccessOrigin origin{};
  bool vptr = false;
  bool bit_field = false;
  bool ordered = false;  // wire::kOrdered
  bool locks_unknown = false;
  uint32_t tag = 0;  // of the kind of object, 0: none
  std::optional<uint64_t> value;
  RawStack stack;
  std::vector<RawLock> locks;
  std::optional<RawKnown> known{};
  std::optional<RawWeak> weak{};
  std::optional<RawOwners> owners{};

  bool operator==(const RawAccess&) const = default;
};

// Words on a stack (wire::Calls).
struct RawCalls {
  struct Return {
    uint64_t address = 0;
    uint64_t value = 0;
    uint64_t below = 0;

    bool operator==(const Return&) const = default;
  };
  std::vector<uint64_t> slots;
  std::vector<Return> returns;

  bool operator==(const RawCalls&) const = default;
};

struct RawBlock {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint32_t thread = wire::kNoThread;
  wire::Place place{};
  bool freed = false;
  std::optional<RawStack> allocated_at;
  std::optional<RawCalls> calls{};

  bool operator==(const RawBlock&) const = default;
};

struct RawObserved {
  uint64_t before = 0;
  uint64_t after = 0;
  uint64_t paused_ns = 0;
  uint32_t size = 0;
  bool unknown_writer = false;
  bool unwatched = false;
  wire::Looks looks{};

  bool operator==(const RawObserved&) const = default;
};

struct RaceMessage {
  uint64_t sequence = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t accesses_found = 0;
  std::optional<RawBlock> block;
  std::vector<RawAccess> accesses;  // the completing one first; at least that one
  std::optional<RawObserved> observed{};

  bool operator==(const RaceMessage&) const = default;
};

struct RawWaiter {
  uint64_t held = 0;
  uint64_t wanted = 0;
  uint32_t thread = 0;
  bool held_shared = false;
  bool wanted_shared = false;
  RawStack held_at;
  RawStack wanted_at;
  RawStack made_at;

  bool operator==(const RawWaiter&) const = default;
};

struct MisuseMessage {
  uint64_t sequence = 0;
  uint64_t object = 0;
  uint32_t thread = 0;
  wire::Flaw flaw{};
  RawStack where;
  RawStack taken_at;
  RawStack made_at;
  std::vector<RawWaiter> waiters;
  wire::Place place{};
  uint32_t place_thread = 0;
  uint32_t number = 0;

  bool operator==(const MisuseMessage&) const = default;
};

struct CountersMessage {
  wire::Counters counters{};
};

struct NoteMessage {
  uint32_t severity = 0;
  std::string text;

  bool operator==(const NoteMessage&) const = default;
};

struct SuppressionsMessage {
  bool is_file = false;
  bool wants_usage = false;
  std::string text;

  bool operator==(const SuppressionsMessage&) const = default;
};

struct TagMessage {
  uint32_t number = 0;
  std::string object_type;
  std::string header;

  bool operator==(const TagMessage&) const = default;
};

struct DetectorMessage {
  std::string name;

  bool operator==(const DetectorMessage&) const = default;
};

struct RepeatsMessage {
  uint64_t sequence = 0;
  uint64_t count = 0;

  bool operator==(const RepeatsMessage&) const = default;
};

struct WatchedMessage {
  uint64_t sequence = 0;
  std::vector<RawAccess> accesses;

  bool operator==(const WatchedMessage&) const = default;
};

struct ToleratedMessage {
  uint64_t sequence = 0;
  uint64_t local = 0;
  uint64_t global = 0;
  std::string words;

  bool operator==(const ToleratedMessage&) const = default;
};

struct FlushMessage {
  bool operator==(const FlushMessage&) const = default;
};

struct EndMessage {
  bool operator==(const EndMessage&) const = default;
};

using WireMessage = std::variant<ProcessMessage, ModuleMessage, ThreadMessage, RaceMessage, CountersMessage,
                                 NoteMessage, EndMessage, SuppressionsMessage, TagMessage, DetectorMessage,
                                 RepeatsMessage, WatchedMessage, FlushMessage, MisuseMessage, ToleratedMessage>;

struct WireError {
  size_t offset = 0;  // into the message
  std::string what;
};

std::variant<WireMessage, WireError> DecodeMessage(std::span<const std::byte> bytes);

}  // namespace redflag
