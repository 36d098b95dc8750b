#include "cli/rendering.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/terminal.h"
#include "report/editor.h"
#include "report/frames.h"
#include "report/github.h"
#include "report/json.h"
#include "report/sarif.h"
#include "report/static_warnings.h"
#include "report/tsan.h"
#include "trace/replacement.h"

namespace redflag::cli {
namespace {

using Json = nlohmann::ordered_json;

// A pipe or a device is written to; only a file can be replaced.
bool IsReplaceable(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

bool WriteAndClose(std::FILE* file, const std::string& text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && is_written;
}

// What went wrong; empty: nothing.
std::string WriteOut(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);  // whether that went well is asked at the end of the command
    return {};
  }
  const auto failed = [&] { return fmt::format("cannot write {}: {}", path, std::strerror(errno)); };
  if (!IsReplaceable(path)) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    return file != nullptr && WriteAndClose(file, text) ? std::string() : failed();
  }
  Replacement replacement(path);
  if (replacement.fd() < 0) return failed();
  std::FILE* file = fdopen(replacement.fd(), "w");
  return file != nullptr && WriteAndClose(file, text) && replacement.Keep() ? std::string() : failed();
}

// "3 data races: 1 high, 2 medium; 1 report of locks, threads or signals".
std::string TextSummary(const std::vector<RaceReport>& reports, size_t misuses) {
  std::array<uint64_t, 3> ranks{};
  uint64_t repeated = 0;
  for (const RaceReport& report : reports) {
    if (report.judgement) ++ranks[static_cast<size_t>(report.judgement->rank)];
    repeated += report.repeated;
  }
  std::string text = fmt::format("{} data race{}", reports.size(), reports.size() == 1 ? "" : "s");
  const char* before = ": ";
  for (const Judgement::Rank rank : {Judgement::Rank::kHigh, Judgement::Rank::kMedium, Judgement::Rank::kLow}) {
    if (ranks[static_cast<size_t>(rank)] == 0) continue;
    text += fmt::format("{}{} {}", before, ranks[static_cast<size_t>(rank)], RankName(rank));
    before = ", ";
  }
  if (repeated != 0) text += fmt::format("; seen {} more time{}", repeated, repeated == 1 ? "" : "s");
  if (misuses != 0) text += fmt::format("; {} report{} of locks, threads or signals", misuses, misuses == 1 ? "" : "s");
  return text + "\n";
}

std::string TextOf(const std::vector<RaceReport>& reports, const std::vector<MisuseReport>& misuses, TextForm form,
                   Colour colour) {
  SourceLines sources;
  std::string text;
  for (const RaceReport& report : reports) text += RenderAs(form, report, colour, &sources);
  for (const MisuseReport& misuse : misuses) text += RenderMisuse(form, misuse, colour);
  return text + (form == TextForm::kTsan ? TsanSummary(reports.size() + misuses.size())
                                         : TextSummary(reports, misuses.size()));
}

}  // namespace

bool Rendering::is_wanted() const { return !text.empty() || !json.empty() || !sarif.empty() || github || editor; }

TextForm Rendering::form() const {
  if (compat == "tsan") return TextForm::kTsan;
  return full ? TextForm::kFull : TextForm::kShort;
}

void AddRenderingOptions(CLI::App& command, Rendering& rendering) {
  command.add_option("--text", rendering.text, "Write the reports as text, the highest rank first")->type_name("FILE");
  command.add_option("--sarif", rendering.sarif, "Write them as SARIF 2.1.0, for code hosts and dashboards")
      ->type_name("FILE");
  command.add_flag("--github", rendering.github, "Print a GitHub annotation for each");
  command.add_flag("--editor", rendering.editor, "Print FILE:LINE:COL: warning: lines for each");
  command.add_flag("--full", rendering.full, "Text: whole stacks, with the frames of libraries");
  command.add_option("--compat", rendering.compat, "Text: as another tool prints it (tsan)")
      ->check(CLI::IsMember({"tsan"}))
      ->type_name("TOOL");
  command
      .add_option("--warnings", rendering.warnings,
                  "Warnings of other tools (SARIF, or as compilers print them): races where they warn come first")
      ->type_name("FILE");
  command
      .add_option("--root", rendering.root, "SARIF, annotations: names of files are relative to this folder, if below")
      ->type_name("DIR");
}

std::vector<std::string> CheckOutputs(const Rendering& rendering) {
  std::vector<std::string> problems;
  for (const std::string* path : {&rendering.text, &rendering.json, &rendering.sarif}) {
    if (path->empty() || *path == "-" || !IsReplaceable(*path)) continue;
    const Replacement probe(*path);
    if (probe.fd() < 0) {
      problems.push_back(fmt::format("cannot write {}: {}", *path, std::strerror(errno)));
    } else {
      close(probe.fd());
    }
  }
  return problems;
}

std::vector<std::string> ConfirmByWarnings(const Rendering& rendering, Records& records) {
  std::vector<std::string> problems;
  StaticWarnings warnings;
  for (const std::string& path : rendering.warnings) {
    std::error_code none;
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path, none)) {
      problems.push_back(fmt::format("cannot read {}", path));
    } else if (std::string problem = warnings.Read(file, path); !problem.empty()) {
      problems.push_back(std::move(problem));
    }
  }
  records.Confirm(warnings);
  return problems;
}

std::vector<std::string> Render(const std::vector<RaceReport>& reports, const std::vector<MisuseReport>& misuses,
                                const Rendering& rendering) {
  std::vector<std::string> problems;
  const auto write = [&](const std::string& path, const std::string& text) {
    if (std::string problem = WriteOut(path, text); !problem.empty()) problems.push_back(std::move(problem));
  };
  std::error_code none;
  const SourceRoot root(std::filesystem::absolute(rendering.root.empty() ? "." : rendering.root, none).string());
  if (!rendering.text.empty()) {
    const Colour colour = rendering.text == "-" ? ChooseColour(rendering.colour) : Colour::kNo;
    write(rendering.text, TextOf(reports, misuses, rendering.form(), colour));
  }
  if (!rendering.json.empty()) {
    std::string lines;
    const auto add = [&](const Json& json) {
      lines += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    };
    for (const RaceReport& report : reports) add(ToJson(report));
    for (const MisuseReport& misuse : misuses) add(MisuseToJson(misuse));
    write(rendering.json, lines);
  }
  if (!rendering.sarif.empty()) write(rendering.sarif, RenderSarif(reports, misuses, root, REDFLAG_VERSION));
  std::string single;
  for (const RaceReport& report : reports) {
    if (rendering.editor) single += RenderEditor(report, root);
    if (rendering.github) single += RenderGithub(report, root);
  }
  for (const MisuseReport& misuse : misuses) {
    if (rendering.editor) single += RenderEditor(misuse, root);
    if (rendering.github) single += RenderGithub(misuse, root);
  }
  write("-", single);
  return problems;
}

}  // namespace redflag::cli
