// Which places are of special interest (DataCollider 3.1.1: prior analysis): what the user names, and where reports of another run lead.
#pragma once

#include <string>
#include <vector>

#include "collider/sampling_set.h"
#include "sample/options.h"

namespace redflag {

// One answer for each site of the file. `problem`: what could not be read.
std::vector<bool> FindFocus(const SampleOptions& options, const std::string& path, const std::vector<Site>& sites,
                            std::string& problem);

}  // namespace redflag
