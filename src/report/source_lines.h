// Lines of source files, for reports. Only what the program can have been built from is shown: a regular file that can be read and is not
// newer than the module that the frame is in.
//
// Host side, one thread. Keeps the files that it has read, up to a limit.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "report/race_report.h"

namespace redflag {

class SourceLines {
 public:
  // Without blanks at either end; empty: nothing to show.
  std::string LineOf(const Frame& frame);

 private:
  const std::string& TextOf(const std::string& file, const std::string& module);

  std::map<std::string, std::string, std::less<>> files_;  // empty: not to be shown
  size_t bytes_ = 0;
};

}  // namespace redflag
