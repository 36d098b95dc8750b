// redflag doctor: what works on this machine, and why not.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/finding.h"
#include "cli/installation.h"
#include "cli/machine.h"
#include "cli/terminal.h"
#include "cli/trial.h"

namespace redflag::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string colour = "auto";
  bool json = false;
};

constexpr const char* kFooter =
    R"(Builds a small program with a race with every compiler that is here, runs it, and reads its report; asks the kernel for what the
runtime needs. Takes some seconds. A line is `VERDICT  WHAT: detail / what to do`:
  ok     works
  warn   works, but not all of it, or not always
  no     does not work

Exit codes: 0 if what `redflag c++` builds here is checked when it runs, 1 if not.
Examples:
  redflag doctor
  REDFLAG_CXX=clang++-19 redflag doctor     would that compiler do?
  redflag doctor --json                     for machines: docs/json.md)";

const char* NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kNo:
      return "no";
  }
  return "";
}

// Prints each finding as it comes, or keeps it for the document.
class Record {
 public:
  explicit Record(const Options& options) : json_(options.json), colour_(ChooseColour(options.colour)) {}

  void Add(const Finding& finding) {
    if (json_) {
      Json check = {{"check", finding.what}, {"verdict", NameOf(finding.verdict)}, {"detail", finding.detail}};
      if (!finding.advice.empty()) check["advice"] = finding.advice;
      checks_.push_back(check);
      return;
    }
    const bool colour = colour_ == Colour::kYes;
    fmt::print("{}{:<4}{}  {}: {}{}{}\n", colour ? Paint(finding.verdict) : "", NameOf(finding.verdict),
               colour ? "\033[0m" : "", finding.what, finding.detail, finding.advice.empty() ? "" : " / ",
               finding.advice);
    std::fflush(stdout);
  }

  void Conclude(bool works) const {
    if (json_) {
      const Json document = {{"redflag", REDFLAG_VERSION}, {"works", works}, {"checks", checks_}};
      fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
    } else {
      fmt::print("\n{}\n", works ? "Redflag works here." : "Redflag does not work here.");
    }
  }

 private:
  static const char* Paint(Verdict verdict) {
    if (verdict == Verdict::kOk) return "\033[32m";
    return verdict == Verdict::kWarn ? "\033[33m" : "\033[1;31m";
  }

  bool json_;
  Colour colour_;
  Json checks_ = Json::array();
};

bool CheckRuntime(Record& record) {
  Finding finding{.what = "runtime library", .detail = {}, .advice = {}};
  try {
    finding.detail = (RuntimeFolder("hb") / kRuntimeLibrary).string();
  } catch (const std::exception& error) {
    finding.verdict = Verdict::kNo;
    finding.detail = fmt::format("not in {}", LibraryFolder().string());
    finding.advice = "install Redflag as a whole (make install): bin/redflag looks for ../lib/redflag";
  }
  record.Add(finding);
  return finding.verdict == Verdict::kOk;
}

// True if what `redflag c++` builds is checked.
bool CheckCompilers(Record& record) {
  bool works = false;
  int found = 0;
  int named = 0;
  for (const Compiler& compiler : FindCompilers()) {
    Trial trial;
    try {
      trial = TryCompiler(compiler);
    } catch (const std::exception& error) {
      trial.finding = {
          .verdict = Verdict::kNo, .what = compiler.program, .detail = error.what(), .advice = "set TMPDIR?"};
    }
    record.Add(trial.finding);
    works |= compiler.is_default && compiler.cxx && trial.race_found;
    found += trial.race_found ? 1 : 0;
    named += trial.lines_found ? 1 : 0;
  }
  const std::vector<std::string> missing = MissingCompilers();
  if (!missing.empty()) {
    record.Add({.verdict = Verdict::kOk,
                .what = "other compilers",
                .detail = fmt::format("supported, and not installed: {}", fmt::join(missing, ", ")),
                .advice = {}});
  }
  Finding lines{.what = "source lines", .detail = "named by the reports of these programs", .advice = {}};
  if (found == 0) {
    lines = {.verdict = Verdict::kNo, .what = "source lines", .detail = "no report to look at", .advice = {}};
  } else if (named < found) {
    lines = {.verdict = Verdict::kWarn,
             .what = "source lines",
             .detail = fmt::format("missing from {} of {} reports", found - named, found),
             .advice = "does the compiler, or what wraps it, strip programs?"};
  }
  record.Add(lines);
  return works;
}

int RunDoctor(const Options& options) {
  Record record(options);
  bool works = CheckRuntime(record);
  for (const Finding& finding : CheckMachine()) record.Add(finding);
  works &= CheckCompilers(record);
  record.Conclude(works);
  return works ? kOk : kNotWorking;
}

}  // namespace

Run AddDoctor(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("doctor", "Say what works on this machine, and why not");
  command->add_flag("--json", options->json, "One JSON document instead of text");
  command->add_option("--color", options->colour, "auto, always or never; NO_COLOR is respected")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->capture_default_str();
  command->footer(kFooter);
  return [options] { return RunDoctor(*options); };
}

}  // namespace redflag::cli
