// What is made of reports when all of them are there: any number of forms, each to a place of its own. `redflag report` and `redflag run`
// share it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "report/misuse_report.h"
#include "report/race_report.h"
#include "report/records.h"
#include "report/text_form.h"

namespace redflag::cli {

// Files are paths; "-" is standard output, "" nowhere.
struct Rendering {
  std::string text;
  std::string json;
  std::string sarif;
  bool github = false;  // to standard output, where they are read from
  bool editor = false;  // likewise
  bool full = false;
  std::string compat;                   // "tsan", or ""
  std::vector<std::string> warnings{};  // files of other tools' (report/static_warnings.h)
  std::string root;                     // "": the current folder
  std::string colour = "auto";

  // Is there anything to be made?
  bool is_wanted() const;
  TextForm form() const;
};

// All but --json, which `redflag run` has for itself, and --color.
void AddRenderingOptions(CLI::App& command, Rendering& rendering);

// Can the files be written? What stands against it, a line each, before anything has been done.
std::vector<std::string> CheckOutputs(const Rendering& rendering);

// Says of each race whether the files of warnings warn of it too. What could not be read and why, a line each.
std::vector<std::string> ConfirmByWarnings(const Rendering& rendering, Records& records);

// What could not be written and why, a line each. A file is there as a whole or as it was before.
std::vector<std::string> Render(const std::vector<RaceReport>& reports, const std::vector<MisuseReport>& misuses,
                                const Rendering& rendering);

}  // namespace redflag::cli
