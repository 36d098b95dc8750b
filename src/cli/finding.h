// What `redflag doctor` found out: one line each.
#pragma once

#include <string>

namespace redflag::cli {

enum class Verdict {
  kOk,
  kWarn,  // works, but not all of it, or not always
  kNo,
};

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string what;
  std::string detail;
  std::string advice;  // what to do; empty if nothing
};

}  // namespace redflag::cli
