// TSAN_OPTIONS, as far as we honour it: where the log is to go, so that tools which run programs under ThreadSanitizer find ours.
#pragma once

#include <string>
#include <string_view>

namespace redflag {

// The value of log_path in "name=value:name='value'", a path that a dot and the number of the process are added to; empty: none, or standard
// output or error, which have no name.
std::string TsanLogPath(std::string_view options);

}  // namespace redflag
