// What the differential suite examines: a detector and the function that holds it against its reference on one trace. Each
// subject_NAME.cc registers one; adding the file is enough.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace redflag {

// What is wrong, or nothing.
using Compare = std::optional<std::string> (*)(const Trace&);

struct Subject {
  std::string_view name;
  Compare compare;
};

inline std::vector<Subject>& Subjects() {
  static std::vector<Subject> subjects;
  return subjects;
}

struct RegisterSubject {
  RegisterSubject(std::string_view name, Compare compare) { Subjects().push_back({name, compare}); }
};

}  // namespace redflag
