// Another program, run to its end or to a limit, with what it printed.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace redflag::cli {

struct Subprocess {
  std::vector<std::string> command;
  std::filesystem::path folder;                    // where it runs
  std::map<std::string, std::string> environment;  // set on top of ours; an empty value unsets
  std::chrono::milliseconds limit{60'000};
};

struct SubprocessResult {
  int status = 0;  // as a shell tells it: 128 + N for signal N
  bool timed_out = false;
  std::string output;  // both streams, as they came
};

// Not safe beside other threads that change the environment. Whoever is left of the program's process group at the limit is killed.
SubprocessResult RunSubprocess(const Subprocess& process);

}  // namespace redflag::cli
