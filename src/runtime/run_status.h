// The program's end of what it tells `redflag run` (events/run_status.h).
#pragma once

#include "events/run_status.h"

namespace redflag::rt {

// Mapped anew with each call, once in a process; null: nobody wants to know.
RunStatus* OpenRunStatus();
// In the child of a fork, before it opens its own.
void CloseRunStatus(RunStatus* status);

}  // namespace redflag::rt
