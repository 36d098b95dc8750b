// What kind of terminal there is, if any: colours and progress are for people.
#pragma once

#include <cstdint>
#include <string>

#include "report/text.h"

namespace redflag::cli {

// `choice` is auto, always or never. Auto: standard output is a terminal, TERM is not "dumb" and NO_COLOR is
// not set.
Colour ChooseColour(const std::string& choice);

// A line on standard error that shows how far long work has got; silent unless that is a terminal. Erased
// when done.
class ProgressLine {
 public:
  ProgressLine(std::string what, uint64_t total);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(uint64_t done);

 private:
  std::string what_;
  uint64_t total_;
  bool is_terminal_;
  bool shown_ = false;
};

}  // namespace redflag::cli
