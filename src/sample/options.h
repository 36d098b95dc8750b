// What the user wants of sampling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace redflag {

struct SampleOptions {
  double rate = 100;     // breakpoints that are met in a second; 0: none is set
  double budget = 0.03;  // of the time of all threads, how much they may be stopped
  double seconds = 0;    // 0: until the program ends
  uint32_t most_delay_us = 15'000;
  std::vector<std::string> modules;  // names of files besides the program; "all": all but libc and the loader
  std::vector<std::string> focus;    // FILE:LINE, function or module: half of the rate is theirs
  std::string focus_from;            // reports whose places are looked at again
  std::string on_race = "report";    // or stop, core
  bool children = false;
  bool repeated_read_only = false;
  bool self_check = false;
  bool stats = false;
};

}  // namespace redflag
