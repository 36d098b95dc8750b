// What the kernel of this machine, and the limits of this session, allow. Each check asks and, where it can, tries.
#pragma once

#include <vector>

#include "cli/finding.h"

namespace redflag::cli {

std::vector<Finding> CheckMachine();

// The runtime folds addresses into a window (docs/shadow.md). True if with so many bits of randomization (vm.mmap_rnd_bits) no two
// parts of a program can fall onto the same place of it.
bool KeepsApart(long randomization_bits);

}  // namespace redflag::cli
