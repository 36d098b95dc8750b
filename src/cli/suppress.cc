// redflag suppress: writes the rule that hides a race from now on, by its fingerprint.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "cli/command.h"
#include "collect/suppression_rule.h"

namespace redflag::cli {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string fingerprint;
  std::string in;
  std::string file = "suppressions.txt";
  std::string until;
  std::string why;
};

constexpr const char* kFooter =
    R"(A report has a fingerprint: 16 digits that stay the same when the program is changed elsewhere, built with other flags, or run again.
This command appends `fingerprint:DIGITS` to a file of suppressions, with a comment that says what the race is.

Examples:
  redflag run --json races.json ./app                                find them
  redflag suppress 3f2a9c0b1d4e5f60 --in races.json                  hide this one; races.json tells what to write about it
  redflag suppress 3f2a9c0b1d4e5f60 --until 2027-01-31 --why 'fixed by #123'
  redflag run --suppressions suppressions.txt ./app                  run without it

Behind the last day that --until gives, the rule hides nothing any more and every run says so: a race that is put off is not forgotten.
With --in, the first digits are enough if only one race begins with them. A fingerprint that is in the file already is not written again.)";

int Fail(std::string_view why) {
  fmt::print(stderr, "redflag suppress: {}\n", why);
  return kBadInput;
}

// ---- What the report says, for the comment ----

std::string Text(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// "write in Put (cache.cc:12)": the innermost frame that has a line.
std::string DescribeSite(const Json& site) {
  if (!site.is_object()) return "?";
  const Json write = site.value("write", Json());
  std::string text = Text(site, "origin") == "free" ? "free" : write == Json(true) ? "write" : "read";
  const Json stack = site.value("stack", Json::array());
  for (const Json& frame : stack) {
    if (!frame.is_object() || Text(frame, "file").starts_with("/usr/") || Text(frame, "file").empty()) continue;
    const std::string file = Text(frame, "file");
    const Json line = frame.value("line", Json(0));
    return text + fmt::format(" in {} ({}:{})", Text(frame, "function"), file.substr(file.rfind('/') + 1), line.dump());
  }
  return text;
}

std::string OneLine(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

std::string DescribeRace(const Json& race) {
  const std::string variable = Text(race, "variable");
  std::string text =
      fmt::format("{}: {}", variable.empty() ? "heap or stack" : variable, DescribeSite(race.value("access", Json())));
  const Json earlier = race.value("earlier", Json::array());
  if (earlier.is_array() && !earlier.empty()) text += ", " + DescribeSite(earlier.front());
  return OneLine(text);
}

struct Found {
  std::string fingerprint;
  std::string description;
};

// The race whose fingerprint begins with the digits. The error is in words.
std::variant<Found, std::string> FindRace(const std::string& path, const std::string& digits) {
  std::ifstream stream(path);
  if (!stream) return fmt::format("cannot read {}: {}", path, std::strerror(errno));
  std::optional<Found> found;
  for (std::string line; std::getline(stream, line);) {
    const Json race = Json::parse(line, nullptr, false);
    if (!race.is_object()) continue;
    std::string fingerprint = Text(race, "fingerprint");
    if (fingerprint.empty() || !fingerprint.starts_with(digits)) continue;
    if (found && found->fingerprint != fingerprint) {
      return fmt::format("several races in {} begin with {}: {}, {}", path, digits, found->fingerprint, fingerprint);
    }
    if (!found) found = Found{.fingerprint = std::move(fingerprint), .description = DescribeRace(race)};
  }
  if (!found) return fmt::format("no race in {} has the fingerprint {}", path, digits);
  return *found;
}

// ---- The file ----

class RuleFile {
 public:
  // Locked until it is closed: two that write at once do not mix, and see each other's rules.
  explicit RuleFile(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~RuleFile() {
    if (fd_ >= 0) close(fd_);
  }
  RuleFile(const RuleFile&) = delete;
  RuleFile& operator=(const RuleFile&) = delete;

  bool is_open() const { return fd_ >= 0; }

  bool Read(std::string& text) const {
    char part[1 << 14];
    for (;;) {
      const ssize_t count = read(fd_, part, sizeof part);
      if (count == 0) return true;
      if (count < 0 && errno != EINTR) return false;
      if (count > 0) text.append(part, static_cast<size_t>(count));
    }
  }

  // As one write: whoever reads meanwhile sees all of it or nothing.
  bool Append(const std::string& text) const {
    return write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

 private:
  int fd_;
};

// The line that has the fingerprint already; 0: none.
int LineOf(std::string_view text, const std::string& fingerprint) {
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with("fingerprint:")) continue;
    const auto parsed = ParseSuppression(line);
    const auto* rule = std::get_if<SuppressionRule>(&parsed);
    if (rule != nullptr && rule->patterns.front() == fingerprint) return number;
  }
  return 0;
}

int RunSuppress(Options options) {
  std::transform(options.fingerprint.begin(), options.fingerprint.end(), options.fingerprint.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  std::string comment;
  if (!options.in.empty()) {
    auto found = FindRace(options.in, options.fingerprint);
    if (const auto* error = std::get_if<std::string>(&found)) return Fail(*error);
    options.fingerprint = std::get<Found>(found).fingerprint;
    comment = fmt::format("# {}\n", std::get<Found>(found).description);
  }
  if (!options.why.empty()) comment += fmt::format("# {}\n", OneLine(options.why));
  std::string rule = "fingerprint:" + options.fingerprint;
  if (!options.until.empty()) rule += " until=" + options.until;
  const auto parsed = ParseSuppression(rule);
  if (const auto* error = std::get_if<std::string>(&parsed)) return Fail(*error);
  const auto& good = std::get<SuppressionRule>(parsed);
  if (good.until && *good.until < Today()) return Fail(fmt::format("{} is over already", options.until));

  const RuleFile file(options.file);
  std::string text;
  if (!file.is_open() || !file.Read(text)) {
    return Fail(fmt::format("cannot use {}: {}", options.file, std::strerror(errno)));
  }
  if (const int line = LineOf(text, options.fingerprint); line != 0) {
    return Fail(fmt::format("{}:{} has this fingerprint already", options.file, line));
  }
  const std::string break_before = text.empty() || text.ends_with('\n') ? "" : "\n";
  if (!file.Append(break_before + comment + rule + "\n")) {
    return Fail(fmt::format("cannot write to {}: {}", options.file, std::strerror(errno)));
  }
  fmt::print("{}{}\nwritten to {}; `redflag run --suppressions {} PROGRAM` uses it\n", comment, rule, options.file,
             options.file);
  return kOk;
}

}  // namespace

Run AddSuppress(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("suppress", "Hide a race from now on, by its fingerprint");
  command->add_option("fingerprint", options->fingerprint, "The 16 digits of its report")->required();
  command->add_option("--in", options->in, "Reports as JSON, one a line, to say what the race is")->type_name("FILE");
  command->add_option("--file", options->file, "Where to write the rule")->capture_default_str()->type_name("FILE");
  command->add_option("--until", options->until, "The last day on which it holds, as YYYY-MM-DD")->type_name("DATE");
  command->add_option("--why", options->why, "A comment to write above it")->type_name("TEXT");
  command->footer(kFooter);
  return [options] { return RunSuppress(*options); };
}

}  // namespace redflag::cli
