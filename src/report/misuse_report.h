// What is wrong besides races: a mutex that is used as none may be, a thread that nobody waits for, a signal handler that spoils errno. In
// names and words, with its renderers: one place in the code, and as far as they are known where the mutex was taken and made.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/race_report.h"
#include "report/text.h"
#include "report/text_form.h"

namespace redflag {

struct MisuseReport {
  std::string title;     // "destroy of a locked mutex"
  std::string category;  // of suppressions: mutex, thread, signal
  std::string thread;    // that did it
  std::vector<Frame> where;
  std::string mutex;  // its name or address; empty: it is about none
  Addr addr{};
  std::vector<Frame> taken_at;
  std::vector<Frame> made_at;
  std::vector<ThreadInfo> threads;  // that are named, the leaked one among them
  std::string command;
  uint32_t pid = 0;
};

// As text in this form: ours, or ThreadSanitizer's.
std::string RenderMisuse(TextForm form, const MisuseReport& report, Colour colour);

// A line of JSON: {"kind": "misuse", ...}.
nlohmann::ordered_json MisuseToJson(const MisuseReport& report);

}  // namespace redflag
