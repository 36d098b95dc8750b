// What functions that the library takes the place of have to know of the rest of it.
#pragma once

#include <signal.h>

namespace redflag::trap {

using SigactionFunction = int (*)(int, const struct sigaction*, struct sigaction*);

// Is SIGTRAP ours in this process?
bool IsSampled();
SigactionFunction RealSigaction();
// What the program believes that it has for SIGTRAP.
struct sigaction& ProgramsAction();
// The program is about to forbid itself system calls, perhaps ours.
void WithdrawForSeccomp();

}  // namespace redflag::trap
