// REDFLAG_TAIL_CALL f(...): a call at the end of a function that becomes a jump, so that `f` finds the return address of its caller's caller as its own.
//
// g++ makes a jump of such a call when it optimizes, and what is in the process is never built without; clang can be told.
#pragma once

#if defined(__clang__)
#define REDFLAG_TAIL_CALL [[clang::musttail]] return
#else
#define REDFLAG_TAIL_CALL return
#endif
