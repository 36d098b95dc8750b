// The runtime of Redflag, if it is in this process.
#pragma once

#include "events/tolerated.h"

// Exported by the runtime, and null without it. 0: it does not watch this thread, and nothing was told.
extern "C" [[gnu::weak]] int __redflag_tolerated(const redflag::ToleratedRace* race);
