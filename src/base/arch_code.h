// What has to be known of machine code to refuse an access that a compiler has announced by a call (runtime/refusal.h): which instruction
// behind the call the access is, and how to come there without it having happened. One file for each architecture:
//
//   RefusedFrame              what REDFLAG_ARCH_REFUSED keeps: the registers that a function keeps for its caller, and where to go on
//   FindAccess(place, ...)    the instruction that accesses one of the bytes at `addr`, behind the call that returns to `place`; 0: it is not
//                             certain which one, or something that matters comes before it
//   REDFLAG_ARCH_REFUSED      a place that a call may return to in place of where it came from
//
// What comes before the access may change only registers that a call may change as well: the code that catches an exception finds
// nothing else than it would have after the access. So a store that is not the access, a jump, a call, or a change of a register that is kept ends the
// search. Base registers are followed, so that an access is known by its address and not by its looks.
#pragma once

#if defined(__x86_64__)
#include "base/arch_code_x86_64.h"
#elif defined(__aarch64__)
#include "base/arch_code_aarch64.h"
#endif
