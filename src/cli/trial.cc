#include "cli/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "cli/command.h"
#include "cli/compile.h"
#include "cli/installation.h"
#include "cli/subprocess.h"

namespace redflag::cli {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kBuildLimit{120};
constexpr std::chrono::seconds kRunLimit{60};

// Both threads are at the same line, which no lock protects: every run has this race.
constexpr int kRacyLine = 3;
constexpr std::string_view kCxxSource = R"(#include <thread>
int counter = 0;
void Work() { ++counter; }
int main() {
  std::thread first(Work);
  std::thread second(Work);
  first.join();
  second.join();
}
)";
constexpr std::string_view kCSource = R"(#include <pthread.h>
int counter = 0;
static void* work(void* unused) { ++counter; return unused; }
int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, work, 0);
  pthread_create(&second, 0, work, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
)";

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "redflag-doctor.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error(fmt::format("cannot make a temporary folder {}: {}", pattern, std::strerror(errno)));
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

const std::vector<std::string>& Supported(bool cxx) {
  static const std::vector<std::string> kCxx = {"g++", "g++-12", "clang++", "clang++-14", "clang++-19"};
  static const std::vector<std::string> kC = {"gcc", "gcc-12", "clang", "clang-14", "clang-19"};
  return cxx ? kCxx : kC;
}

// "g++-12 (Debian 12.2.0-14) 12.2.0" and "g++ (Debian ..." are one compiler.
std::string WithoutName(const std::string& version) {
  const size_t parenthesis = version.find(" (");
  const bool is_gcc = FamilyOf(version) == CompilerFamily::kGcc;
  return is_gcc && parenthesis != std::string::npos ? version.substr(parenthesis) : version;
}

std::string VariableFor(const std::string& program, bool cxx) {
  for (const char* variable : {cxx ? "REDFLAG_CXX" : "REDFLAG_CC", cxx ? "CXX" : "CC"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && program == value) return variable;
  }
  return {};
}

// What a tool printed, in a line: the first that speaks of an error, or that the runtime wrote (==PID== ...), else the last.
std::string Gist(const std::string& output) {
  std::string gist = "it printed nothing";
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    if (line.find("error") != std::string::npos || line.starts_with("==")) return line;
    if (!line.empty()) gist = line;
    at = end + 1;
  }
  return gist;
}

bool IsAtRacyLine(const Json& access, const std::string& source) {
  for (const Json& frame : access.value("stack", Json::array())) {
    if (frame.value("line", 0) == kRacyLine && frame.value("file", "").ends_with(source)) return true;
  }
  return false;
}

// The reports that the run has left, one a line.
void ReadReports(const std::filesystem::path& path, const std::string& source, Trial& trial) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json report = Json::parse(line, nullptr, false);
    if (!report.is_object() || report.value("kind", "") != "data-race") continue;
    trial.race_found = true;
    const Json earlier = report.value("earlier", Json::array());
    trial.lines_found |= IsAtRacyLine(report.value("access", Json::object()), source) && !earlier.empty() &&
                         IsAtRacyLine(earlier[0], source);
  }
}

void Refuse(Trial& trial, std::string detail, std::string advice) {
  trial.finding.verdict = Verdict::kNo;
  trial.finding.detail = std::move(detail);
  trial.finding.advice = std::move(advice);
}

Subprocess Ourselves(const TemporaryFolder& folder, const Compiler& compiler, std::vector<std::string> arguments,
                     std::chrono::seconds limit) {
  arguments.insert(arguments.begin(), OwnPath().string());
  // What the user has set for other programs is not for this one.
  return {.command = std::move(arguments),
          .folder = folder.path(),
          .environment = {{compiler.cxx ? "REDFLAG_CXX" : "REDFLAG_CC", compiler.program},
                          {"REDFLAG_OPTIONS", ""},
                          {"REDFLAG_OUTPUT", ""},
                          {"REDFLAG_JSON", ""},
                          {"REDFLAG_TEXT", ""},
                          {"TSAN_OPTIONS", ""},
                          {"REDFLAG_STATUS", ""},
                          {"REDFLAG_COMMAND", ""}},
          .limit = limit};
}

bool Build(const TemporaryFolder& folder, const Compiler& compiler, const std::string& source, Trial& trial) {
  std::ofstream(folder.path() / source) << (compiler.cxx ? kCxxSource : kCSource);
  const std::string command = compiler.cxx ? "c++" : "cc";
  const SubprocessResult result =
      RunSubprocess(Ourselves(folder, compiler, {command, "-g", "-O1", "-pthread", "-o", "racy", source}, kBuildLimit));
  if (result.timed_out) {
    Refuse(trial, fmt::format("did not compile ten lines within {} s", kBuildLimit.count()), "");
  } else if (result.status != 0) {
    Refuse(trial, "cannot build a small program: " + Gist(result.output),
           compiler.cxx ? "does it build programs without Redflag, and is the package of its C++ library there?"
                        : "does it build programs without Redflag?");
  } else {
    return true;
  }
  return false;
}

void RunRacy(const TemporaryFolder& folder, const Compiler& compiler, const std::string& source, Trial& trial) {
  const SubprocessResult result =
      RunSubprocess(Ourselves(folder, compiler, {"run", "--json", "races.json", "./racy"}, kRunLimit));
  ReadReports(folder.path() / "races.json", source, trial);
  if (result.timed_out) {
    Refuse(trial, fmt::format("builds, but the program did not end within {} s", kRunLimit.count()), "");
  } else if (result.status != kRaces || !trial.race_found) {
    trial.race_found = false;
    Refuse(
        trial,
        fmt::format("builds, but the race was not reported (exit status {}): {}", result.status, Gist(result.output)),
        "a line above says why if the machine is the reason; TMPDIR must allow programs to be run");
  } else if (!trial.lines_found) {
    trial.finding.verdict = Verdict::kWarn;
    trial.finding.detail += "; the report does not name its source lines";
  }
}

}  // namespace

std::vector<Compiler> FindCompilers() {
  std::vector<Compiler> found;
  for (const bool cxx : {true, false}) {
    const std::string preferred = CompilerProgram(cxx);
    found.push_back({.program = preferred,
                     .version = CompilerVersion(preferred),
                     .chosen_by = VariableFor(preferred, cxx),
                     .cxx = cxx,
                     .is_default = true});
    for (const std::string& program : Supported(cxx)) {
      const std::string version = CompilerVersion(program);
      const auto same = [&](const Compiler& have) {
        return have.cxx == cxx && WithoutName(have.version) == WithoutName(version);
      };
      if (version.empty() || std::any_of(found.begin(), found.end(), same)) continue;
      found.push_back({.program = program, .version = version, .chosen_by = {}, .cxx = cxx, .is_default = false});
    }
  }
  return found;
}

std::vector<std::string> MissingCompilers() {
  std::vector<std::string> missing;
  for (const char* program : {"g++-12", "gcc-12", "clang++-14", "clang-14", "clang++-19", "clang-19"}) {
    if (CompilerVersion(program).empty()) missing.emplace_back(program);
  }
  return missing;
}

Trial TryCompiler(const Compiler& compiler) {
  const std::string by = compiler.chosen_by.empty() ? "" : fmt::format(" (${})", compiler.chosen_by);
  Trial trial;
  trial.finding.what = compiler.program + by;
  if (compiler.version.empty()) {
    Refuse(trial, "not found",
           compiler.chosen_by.empty()
               ? fmt::format("install it, or name another: {}=...", compiler.cxx ? "REDFLAG_CXX" : "REDFLAG_CC")
               : fmt::format("change ${}", compiler.chosen_by));
    return trial;
  }
  trial.finding.detail = fmt::format("builds a racy program, and its race is found ({})", compiler.version);
  const TemporaryFolder folder;
  const std::string source = compiler.cxx ? "racy.cc" : "racy.c";
  if (Build(folder, compiler, source, trial)) RunRacy(folder, compiler, source, trial);
  return trial;
}

}  // namespace redflag::cli
