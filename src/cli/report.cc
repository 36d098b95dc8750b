// redflag report: saved reports, in the form that somebody wants them in.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/rendering.h"
#include "report/records.h"

namespace redflag::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  Rendering rendering;
};

constexpr const char* kFooter =
    R"(A FILE holds the lines of JSON of `redflag run --json FILE`, or the document of `redflag analyze --json`; `-` is standard input. Races with
one fingerprint in the same places of the source become one report, which says how often it was seen; the highest rank comes first. Without a form, the reports are printed
as text; several forms may be given at once. Where a FILE is to be written, `-` is standard output. A file is there as a whole or not at all.

Examples:
  redflag run --json races.json ./app               keep the reports of a run, or of several
  redflag report races.json                         read them
  redflag report --full races.json | less           with whole stacks
  redflag report --sarif races.sarif --github races.json    for a code host, and beside the lines of a pull request
  redflag report --editor races.json                for an editor that jumps to FILE:LINE:COL
  redflag report --compat=tsan races.json           as ThreadSanitizer prints them
  redflag report --json all.json 1.json 2.json      put files together, each race once
  clang++ -Wthread-safety ... 2>warnings.txt; redflag report --warnings warnings.txt races.json
                                                    races that the compiler warns of, first
  redflag analyze --json app.rft | redflag report --sarif app.sarif -

Exit codes: 0 nothing reported, 66 races or misuses of locks, threads or signals, 2 bad command line or input; what is good in a file that is damaged is shown all the same.
docs/reports.md says what is in a report, docs/json.md what is in a FILE.)";

// False: it cannot be read at all.
bool ReadFile(const std::string& path, Records& records) {
  if (path == "-") {
    records.Read(std::cin, "<stdin>");
    return true;
  }
  std::error_code none;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, none)) {
    fmt::print(stderr, "redflag: cannot read {}\n", path);
    return false;
  }
  records.Read(file, path);
  return true;
}

int RunReport(const Options& options) {
  Records records;
  bool is_good = true;
  for (const std::string& path : options.files) is_good = ReadFile(path, records) && is_good;
  for (const std::string& complaint : records.complaints()) fmt::print(stderr, "redflag: {}\n", complaint);
  is_good = is_good && records.complaints().empty();
  for (const std::string& problem : ConfirmByWarnings(options.rendering, records)) {
    fmt::print(stderr, "redflag: {}\n", problem);
    is_good = false;
  }
  Rendering rendering = options.rendering;
  if (!rendering.is_wanted()) rendering.text = "-";
  const std::vector<RaceReport> reports = records.TakeRanked();
  const std::vector<MisuseReport> misuses = records.TakeMisuses();
  for (const std::string& problem : Render(reports, misuses, rendering)) {
    fmt::print(stderr, "redflag: {}\n", problem);
    is_good = false;
  }
  if (!is_good) return kBadInput;
  return reports.empty() && misuses.empty() ? kOk : kRaces;
}

}  // namespace

Run AddReport(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "Show saved reports, in any form");
  command->add_option("FILE", options->files, "Saved reports")->required();
  AddRenderingOptions(*command, options->rendering);
  command->add_option("--json", options->rendering.json, "Write them as lines of JSON again")->type_name("FILE");
  command->add_option("--color", options->rendering.colour, "auto, always or never; NO_COLOR is respected")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->capture_default_str();
  command->footer(kFooter);
  return [options] { return RunReport(*options); };
}

}  // namespace redflag::cli
