// Recorded events as bytes: how they leave the program under test (runtime/recorder.h), and how they lie in a trace file
// (trace/binary_file.h). This file has both directions, so that they cannot differ.
//
// A block is what one thread did for a while, and can be read without any other. Most events are plain accesses, most of which repeat
// what the same place in the code did before: they take two or three bytes.
//
//   access       first byte, [stamp], [context], [size], [address]
//                  bits 0-1  0: read, 1: write
//                  bits 2-4  size: 1 << n for n up to 4; 5: a varint follows
//                  bit 5     has a stamp: the difference to the last one, a varint
//                  bit 6     the context is the one that came after the last one before; else: the difference to the last, a zigzag varint
//                  bit 7     the address is that of the last access in this context; else: the difference to it, a zigzag varint
//   other event  first byte, [stamp], kind, details, [address], [size], [object], [position]
//                  bits 0-1  2;  bit 2: address, a zigzag varint relative to the last other event's;  bit 3: size;  bit 4: object;
//                  bit 5: stamp;  bit 6: position (all varints)
//                  details   bits 0-2: order, bit 3: mode, bits 4-7: flag
//   context      first byte 3, then number, caller's number, place: varints. Before the first event that names it, in some block.
//
// A context is a call stack: a place in the code (a return address; the upper byte says what kind of access it was) and the context of
// the caller; 0 is no caller. Event::position holds it.
//
// Stamps are numbers that no two events of a run share. Events of a thread are in the order in which they happened; where threads meet, in
// an object or on a line of memory, the events have stamps, and whoever came first has the smaller one. An event without a stamp happened
// somewhere between its neighbours of the same thread that have one. The first event of a thread has one.
//
// In-process rules. A reader must not trust a byte of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "events/event.h"

namespace redflag {

// What a writer and a reader of a block both know at any point. Cleared at the beginning of a block.
struct BlockState {
  static constexpr uint32_t kPlaces = 256;
  static constexpr uint32_t IndexOf(uint32_t context) { return (context * 0x9e3779b1u) >> 24; }

  uint64_t stamp;
  uint64_t other_address;
  uint32_t context;            // of the last access
  uint32_t follower[kPlaces];  // by context: which one came after it
  uint64_t address[kPlaces];   // by context: of the last access
};

inline constexpr uint64_t kNoStamp = 0;
// No record takes more.
inline constexpr size_t kMaxRecord = 64;

namespace block_detail {

inline constexpr uint8_t kOther = 2, kContext = 3, kTypeMask = 3;
inline constexpr uint8_t kHasAddress = 1 << 2, kHasSize = 1 << 3, kHasObject = 1 << 4, kHasStamp = 1 << 5,
                         kHasPosition = 1 << 6;
inline constexpr uint8_t kSameContext = 1 << 6, kSameAddress = 1 << 7;
inline constexpr int kSizeShift = 2;
inline constexpr uint8_t kOtherSize = 5;

constexpr uint64_t ZigZag(uint64_t difference) {
  return difference << 1 ^ static_cast<uint64_t>(static_cast<int64_t>(difference) >> 63);
}
constexpr uint64_t UnZigZag(uint64_t number) { return number >> 1 ^ (0 - (number & 1)); }

inline uint8_t* PutNumber(uint8_t* to, uint64_t number) {
  while (number >= 0x80) {
    *to++ = static_cast<uint8_t>(number | 0x80);
    number >>= 7;
  }
  *to++ = static_cast<uint8_t>(number);
  return to;
}

}  // namespace block_detail

// Each writes one record and returns its end; there must be room for kMaxRecord bytes.

// kind: kRead or kWrite. stamp: kNoStamp if it has none.
inline uint8_t* PutAccess(BlockState& state, uint8_t* to, bool is_write, uint64_t addr, uint64_t size, uint32_t context,
                          uint64_t stamp) {
  using namespace block_detail;  // NOLINT: of this file
  uint8_t* const first = to++;
  uint8_t head = is_write ? 1 : 0;
  if (stamp != kNoStamp) {
    head |= kHasStamp;
    to = PutNumber(to, stamp - state.stamp);
    state.stamp = stamp;
  }
  uint32_t& follower = state.follower[BlockState::IndexOf(state.context)];
  if (follower == context) {
    head |= kSameContext;
  } else {
    to = PutNumber(to, ZigZag(uint64_t{context} - state.context));
    follower = context;
  }
  state.context = context;
  if ((size & (size - 1)) == 0 && size <= 16 && size != 0) {
    head |= static_cast<uint8_t>(__builtin_ctzll(size) << kSizeShift);
  } else {
    head |= kOtherSize << kSizeShift;
    to = PutNumber(to, size);
  }
  uint64_t& last = state.address[BlockState::IndexOf(context)];
  if (last == addr) {
    head |= kSameAddress;
  } else {
    to = PutNumber(to, ZigZag(addr - last));
    last = addr;
  }
  *first = head;
  return to;
}

// Any event but plain accesses.
inline uint8_t* PutOther(BlockState& state, uint8_t* to, const Event& event, uint64_t stamp) {
  using namespace block_detail;  // NOLINT: of this file
  uint8_t* const first = to++;
  uint8_t head = kOther;
  if (stamp != kNoStamp) {
    head |= kHasStamp;
    to = PutNumber(to, stamp - state.stamp);
    state.stamp = stamp;
  }
  *to++ = static_cast<uint8_t>(event.kind);
  *to++ = static_cast<uint8_t>(static_cast<uint8_t>(event.order) | static_cast<uint8_t>(event.mode) << 3 |
                               static_cast<uint8_t>(event.flag) << 4);
  if (Raw(event.addr) != 0) {
    head |= kHasAddress;
    to = PutNumber(to, ZigZag(Raw(event.addr) - state.other_address));
    state.other_address = Raw(event.addr);
  }
  if (event.size != 0) {
    head |= kHasSize;
    to = PutNumber(to, event.size);
  }
  if (event.object != 0) {
    head |= kHasObject;
    to = PutNumber(to, event.object);
  }
  if (event.position != kNoPosition) {
    head |= kHasPosition;
    to = PutNumber(to, Raw(event.position));
  }
  *first = head;
  return to;
}

inline uint8_t* PutContext(uint8_t* to, uint32_t context, uint32_t caller, uint64_t place) {
  using namespace block_detail;  // NOLINT: of this file
  *to++ = kContext;
  to = PutNumber(to, context);
  to = PutNumber(to, caller);
  return PutNumber(to, place);
}

// Reads records one by one. Everything that is not a record ends it: ok() tells.
class BlockReader {
 public:
  enum class Item : uint8_t { kEvent, kContext, kEnd };

  BlockReader(const uint8_t* begin, const uint8_t* end, Tid thread) : at_(begin), end_(end), thread_(thread) {}

  // kEvent: `event`, which is otherwise left in any state, and `stamp` (kNoStamp: none). kContext: `context`, `caller`, `place`. kEnd: the end, or a
  // fault. The event goes to where it is wanted: to copy what was just put together field by field takes longer than all the rest.
  [[gnu::always_inline]] Item Next(Event& event) {
    using namespace block_detail;  // NOLINT: of this file
    if (at_ == end_) return Item::kEnd;
    const uint8_t head = *at_++;
    if ((head & kTypeMask) <= 1) [[likely]] {
      stamp = kNoStamp;
      if ((head & kHasStamp) != 0 && !TakeStamp()) return Fault();
      uint32_t& follower = state_.follower[BlockState::IndexOf(state_.context)];
      if ((head & kSameContext) == 0) {
        uint64_t difference;
        if (!Take(difference)) return Fault();
        follower = state_.context + static_cast<uint32_t>(UnZigZag(difference));
      }
      state_.context = follower;
      const auto size_code = static_cast<uint8_t>(head >> kSizeShift & 7);
      if (size_code < kOtherSize) {
        event.size = uint64_t{1} << size_code;
      } else if (size_code != kOtherSize || !Take(event.size)) {
        return Fault();
      }
      uint64_t& last = state_.address[BlockState::IndexOf(follower)];
      if ((head & kSameAddress) == 0) {
        uint64_t difference;
        if (!Take(difference)) return Fault();
        last += UnZigZag(difference);
      }
      event.kind = static_cast<EventKind>(head & kTypeMask);
      event.thread = thread_;
      event.order = MemoryOrder::kRelaxed;
      event.mode = LockMode::kExclusive;
      event.flag = EventFlag::kNone;
      event.position = PositionId{follower};
      event.object = 0;
      event.addr = Addr{last};
      return Item::kEvent;
    }
    return head == kContext ? NextContext() : NextOther(head, event);
  }

  bool ok() const { return ok_; }

  uint64_t stamp = kNoStamp;
  uint32_t context = 0, caller = 0;
  uint64_t place = 0;

 private:
  Item Fault() {
    ok_ = false;
    at_ = end_;
    return Item::kEnd;
  }
  [[gnu::always_inline]] bool Take(uint64_t& number) {
    if (at_ != end_ && *at_ < 0x80) [[likely]] {
      number = *at_++;
      return true;
    }
    return TakeLong(number);
  }
  bool TakeLong(uint64_t& number) {
    number = 0;
    for (int shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const uint8_t byte = *at_++;
      number |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool TakeStamp() {
    uint64_t difference;
    if (!Take(difference) || difference == 0) return false;
    stamp = state_.stamp += difference;
    return true;
  }
  bool Take32(uint32_t& number) {
    uint64_t wide;
    if (!Take(wide) || wide > UINT32_MAX) return false;
    number = static_cast<uint32_t>(wide);
    return true;
  }
  Item NextContext() { return Take32(context) && Take32(caller) && Take(place) ? Item::kContext : Fault(); }
  [[gnu::noinline]] Item NextOther(uint8_t head, Event& event) {
    using namespace block_detail;  // NOLINT: of this file
    if ((head & kTypeMask) != kOther || (head & 0x80) != 0) return Fault();
    stamp = kNoStamp;
    if ((head & kHasStamp) != 0 && !TakeStamp()) return Fault();
    if (end_ - at_ < 2) return Fault();
    const uint8_t kind = *at_++;
    const uint8_t details = *at_++;
    if (kind >= kEventKindCount || (details & 7) > static_cast<uint8_t>(MemoryOrder::kSeqCst)) return Fault();
    event.kind = static_cast<EventKind>(kind);
    event.thread = thread_;
    event.order = static_cast<MemoryOrder>(details & 7);
    event.mode = static_cast<LockMode>(details >> 3 & 1);
    event.flag = static_cast<EventFlag>(details >> 4);
    event.addr = Addr{};
    event.size = 0;
    event.object = 0;
    uint32_t position = Raw(kNoPosition);
    if ((head & kHasAddress) != 0) {
      uint64_t difference;
      if (!Take(difference)) return Fault();
      state_.other_address += UnZigZag(difference);
      event.addr = Addr{state_.other_address};
    }
    if ((head & kHasSize) != 0 && !Take(event.size)) return Fault();
    if ((head & kHasObject) != 0 && !Take32(event.object)) return Fault();
    if ((head & kHasPosition) != 0 && !Take32(position)) return Fault();
    event.position = PositionId{position};
    return Item::kEvent;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  Tid thread_;
  bool ok_ = true;
  BlockState state_{};
};

// ---- Buffers that the program and the host side share ----

// A block under way, or waiting to be taken by the host. Fields are written by the program, but for `state` when it becomes kFree.
struct TraceSlot {
  enum State : uint32_t { kFree, kFilling, kFull };

  uint32_t state;
  uint32_t thread;
  uint64_t ticket;   // of a full one: they are taken in the order of their tickets, which begin at 1
  uint64_t pending;  // not 0: a stamp greater than this less one is being taken, and the event is not there yet
  uint64_t first_stamp;
  uint64_t last_stamp;
  uint32_t events;
  uint32_t bytes;  // of whole records; stored last, with release
};
inline constexpr uint32_t kTraceSlotBytes = 1u << 16;
inline constexpr uint32_t kTraceSlotRoom = kTraceSlotBytes - 64;  // for records, after the TraceSlot
static_assert(sizeof(TraceSlot) <= 64);

// At the beginning of the shared memory, which it fills a page of; slots follow, kTraceSlotBytes each. What was stored here is there to
// read after a crash or a kill of the program.
struct TraceShare {
  static constexpr uint64_t kMagic = 0x3165636172746672;  // "rftrace1"

  uint64_t magic;
  uint32_t slots;                // how many there is room for
  uint32_t done;                 // 1: the program records no more
  alignas(64) uint64_t stamp;    // the last one that was taken
  alignas(64) uint64_t tickets;  // given to full slots so far
  uint32_t used;                 // slots that were ever in use
  uint32_t filled;               // futex: counts full slots
  alignas(64) uint32_t emptied;  // futex: counts slots that became free; written by the host
  uint32_t closed;  // futex, by the host: 1: the trace is whole and the host is done; 2: it could not be written
};
inline constexpr size_t kTraceShareBytes = 4096;
static_assert(sizeof(TraceShare) <= kTraceShareBytes);

}  // namespace redflag
