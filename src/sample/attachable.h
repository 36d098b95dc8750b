// Which running processes can be sampled.
#pragma once

#include <sys/types.h>

#include <string>

namespace redflag {

// Why this one cannot, in words; empty: nothing is known that would stand against it.
std::string WhyNotAttach(pid_t pid);

// What may be the reason that the kernel forbids to trace it.
std::string WhyNotPermitted(pid_t pid);

}  // namespace redflag
