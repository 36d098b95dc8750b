// Lines of source files, for reports. Only what the program can have been built from is shown (report/source.h).
//
// Host side, one thread.
#pragma once

#include <string>

#include "report/race_report.h"
#include "report/source.h"

namespace redflag {

class SourceLines {
 public:
  // Without blanks at either end; empty: nothing to show.
  std::string LineOf(const Frame& frame);

 private:
  SourceFiles files_;
};

}  // namespace redflag
