// Epoch: one point of one thread's time, in 64 bits. The whole encoding is in this file.
//
//   Slot    a position in vector clocks. A thread owns one slot while it runs; an ended thread's slot may be given to
//           another (clocks/thread_slots.h).
//   Time    the local time of a slot. Starts at 1, advances when the thread releases something, never goes back, not
//           even when the slot changes hands. Time{0} is "never".
//   Epoch   Slot and Time together: the label of an access.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace redflag {

enum class Slot : uint16_t {};
enum class Time : uint64_t {};
enum class Epoch : uint64_t {};

inline constexpr uint32_t kMaxSlots = 1u << 16;
inline constexpr Time kNever{0};
inline constexpr Epoch kNoEpoch{0};

inline constexpr int kTimeBits = 48;
inline constexpr uint64_t kMaxTime = (uint64_t{1} << kTimeBits) - 1;

constexpr Epoch MakeEpoch(Slot slot, Time time) { return Epoch{(uint64_t{Raw(slot)} << kTimeBits) | Raw(time)}; }
constexpr Slot SlotOf(Epoch epoch) { return Slot{static_cast<uint16_t>(Raw(epoch) >> kTimeBits)}; }
constexpr Time TimeOf(Epoch epoch) { return Time{Raw(epoch) & kMaxTime}; }
constexpr Time Next(Time time) { return Time{Raw(time) + 1}; }

static_assert(SlotOf(MakeEpoch(Slot{0xffff}, Time{kMaxTime})) == Slot{0xffff});
static_assert(TimeOf(MakeEpoch(Slot{0xffff}, Time{kMaxTime})) == Time{kMaxTime});
static_assert(MakeEpoch(Slot{0}, kNever) == kNoEpoch);

}  // namespace redflag
