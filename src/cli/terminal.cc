#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace redflag::cli {

Colour ChooseColour(const std::string& choice) {
  if (choice == "always") return Colour::kYes;
  if (choice == "never") return Colour::kNo;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return Colour::kNo;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return Colour::kNo;
  return isatty(STDOUT_FILENO) != 0 ? Colour::kYes : Colour::kNo;
}

ProgressLine::ProgressLine(std::string what, uint64_t total)
    : what_(std::move(what)), total_(total), is_terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::Show(uint64_t done) {
  if (!is_terminal_ || done == 0) return;
  shown_ = true;
  fmt::print(stderr, "\r{}: {:3.0f} %", what_, 100.0 * static_cast<double>(done) / static_cast<double>(total_));
  std::fflush(stderr);
}

}  // namespace redflag::cli
