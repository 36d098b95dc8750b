// What whoever handles breakpoints has to know of the machine, be it in the program (trap/) or from outside (sample/).
//
// In-process rules.
#pragma once

#include <cstdint>

namespace redflag {

#if defined(__x86_64__)

inline constexpr uint8_t kBreakpoint[] = {0xcc};     // int3
inline constexpr uint64_t kBreakpointAdvance = 1;    // how far the program counter is behind a breakpoint that was met
inline constexpr bool kProgramCounterIsNext = true;  // in addresses relative to it
inline constexpr bool kWatchStopsBefore = false;     // the access has been made when a data breakpoint is met
// Below the stack pointer, functions that call nobody may keep things.
inline constexpr uint64_t kRedZone = 128;

#elif defined(__aarch64__)

inline constexpr uint8_t kBreakpoint[] = {0x00, 0x00, 0x20, 0xd4};  // brk #0
inline constexpr uint64_t kBreakpointAdvance = 0;
inline constexpr bool kProgramCounterIsNext = false;
inline constexpr bool kWatchStopsBefore = true;
inline constexpr uint64_t kRedZone = 0;

#endif

inline constexpr uint32_t kBreakpointBytes = sizeof kBreakpoint;

}  // namespace redflag
