#include "collect/tsan_options.h"

namespace redflag {

// Separated by blanks, commas or colons; a value may be in quotes of either kind. The last one counts.
std::string TsanLogPath(std::string_view options) {
  constexpr std::string_view kSeparators = " ,:\t\n\r";
  std::string path;
  for (;;) {
    const size_t begin = options.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) break;
    options.remove_prefix(begin);
    const size_t name_end = options.find_first_of(" ,:\t\n\r=");
    const std::string_view name = options.substr(0, name_end);
    options.remove_prefix(name.size());
    if (options.empty() || options.front() != '=') continue;
    options.remove_prefix(1);
    std::string_view value;
    if (!options.empty() && (options.front() == '\'' || options.front() == '"')) {
      const char quote = options.front();
      options.remove_prefix(1);
      value = options.substr(0, options.find(quote));
      options.remove_prefix(value.size() == options.size() ? value.size() : value.size() + 1);
    } else {
      value = options.substr(0, options.find_first_of(kSeparators));
      options.remove_prefix(value.size());
    }
    if (name == "log_path") path = value;
  }
  return path == "stdout" || path == "stderr" ? std::string() : path;
}

}  // namespace redflag
