// Functions of the program that a plain library calls back, later and perhaps in another thread: what the program did before it handed the function to the
// library comes before what the function does. The library keeps that order by means that nobody sees, so the function is handed over inside a thunk:
//
//   real::g_idle_add(Thunk(pc, function), data);
//
// The thunk takes over what was released to the function, and calls it. There is one for each function, and as many as fit; functions beyond are handed
// over as they are.
//
// For functions of up to four arguments, all of them pointers or integers, that return one of these or nothing: as many registers are passed on.
// Callable from any thread.
#pragma once

#include "intercept/hooks.h"

namespace redflag {

// What to hand over in the place of `function`: its thunk. Null stays null, and a thunk itself. Releases to it.
void* ThunkOf(hooks::Pc pc, void* function);

template <class Function>
Function* Thunk(hooks::Pc pc, Function* function) {
  return reinterpret_cast<Function*>(ThunkOf(pc, reinterpret_cast<void*>(function)));
}

}  // namespace redflag
