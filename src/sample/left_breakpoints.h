// Breakpoints that nobody keeps account of. A process that was forked has copies of those that there were then, which need not be those that there are
// now; and if all who sampled a process were killed at once, theirs are left behind.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "events/sample_page.h"

namespace redflag {

// Takes all of them out. How many.
size_t TakeOutOfCopy(SamplePage* page, pid_t process);

// What is at this address in the file of the code is put there if the process has a breakpoint there. No: the file has one as well, or there is no file.
bool RestoreFromFile(pid_t process, uint64_t address);

}  // namespace redflag
