// What was done to a process, in lines for the user (--stats).
#pragma once

#include <string>
#include <vector>

#include "sample/options.h"
#include "sample/session.h"

namespace redflag {

std::vector<std::string> StatisticsOf(const Session& session, const SampleOptions& options);
// What the process that samples has used up to now.
std::string OwnCost();

}  // namespace redflag
