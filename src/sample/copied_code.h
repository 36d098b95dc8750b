// A process that was forked has copies of the breakpoints that there were then, which need not be those that there are now.
#pragma once

#include <sys/types.h>

#include "events/sample_page.h"

namespace redflag {

// Takes all of them out. How many.
size_t TakeOutOfCopy(SamplePage* page, pid_t process);

}  // namespace redflag
