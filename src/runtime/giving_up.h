// Where ThreadSanitizer ends a program that does what it does not support. We go on; but who has its form (REDFLAG_TEXT=tsan) relies on what
// it does, and others may ask for the same (die_after_fork, strict_called_from_lib).
#pragma once

namespace redflag::rt {

// Writes what was found so far, then who gives up and why, and ends the process with the exit status of reports. Inside the runtime.
[[noreturn]] void GiveUp(const char* why);

}  // namespace redflag::rt
