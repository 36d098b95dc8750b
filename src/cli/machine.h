// What the kernel of this machine, and the limits of this session, allow. Each check asks and, where it can, tries.
#pragma once

#include <vector>

#include "cli/finding.h"

namespace redflag::cli {

std::vector<Finding> CheckMachine();

}  // namespace redflag::cli
