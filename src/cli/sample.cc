// redflag sample: a program as it is, sampled with breakpoints.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/executable.h"
#include "cli/installation.h"
#include "cli/rendering.h"
#include "cli/run_records.h"
#include "collect/collector.h"
#include "collect/destination.h"
#include "collect/wire_writer.h"
#include "sample/controller.h"

namespace redflag::cli {
namespace {

constexpr int kNotFound = 127;
constexpr const char* kLibrary = "libredflag_sample.so";

struct Options {
  SampleOptions sampling;
  std::string budget = "3%";
  std::string output;
  std::string json;
  std::vector<std::string> suppressions;
  Rendering rendering;
  int exit_code = kRaces;
  std::vector<std::string> command;
};

// "3%" or "0.03".
std::optional<double> ShareOf(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || number < 0) return std::nullopt;
  if (std::strcmp(end, "%") == 0) return number <= 100 ? std::optional(number / 100) : std::nullopt;
  return *end == '\0' && number <= 1 ? std::optional(number) : std::nullopt;
}

// Of the destinations of several processes, all that they have in common.
class Outputs {
 public:
  Outputs(const Options& options, std::string json) : options_(options), json_(std::move(json)) {}

  std::unique_ptr<Collector> MakeCollector(pid_t pid) {
    Destination* destination =
        destinations_
            .emplace_back(std::make_unique<Destination>(options_.output.empty() ? "fd2" : options_.output, pid, true))
            .get();
    Collector::Options to{.detector = "sample",
                          .claim = Claim::kSimultaneous,
                          .pid = static_cast<uint32_t>(pid),
                          .json = {},
                          .form = options_.rendering.form()};
    if (!json_.empty()) {
      to.json = [this](const std::string& line) {
        if (!AppendToFile(json_, line)) fmt::print(stderr, "redflag: cannot write to {}\n", json_);
      };
    }
    auto collector = std::make_unique<Collector>(std::move(to), *destination);
    for (const std::string& file : options_.suppressions) {
      collector->Consume(EncodeMessage(SuppressionsMessage{.is_file = true, .text = file}));
    }
    return collector;
  }

 private:
  const Options& options_;
  std::string json_;
  std::vector<std::unique_ptr<Destination>> destinations_;
};

// Why nothing can be loaded into it; empty: it can.
std::string WhyNot(const std::string& name) {
  const std::string path = FindProgram(name);
  if (IsStaticallyLinked(path)) return "is statically linked, so that nothing can be loaded into it";
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && geteuid() != 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0) {
    return "is setuid or setgid: the system lets nobody look into it but its owner";
  }
  return "";
}

pid_t child = 0;
void PassOn(int signal) {
  if (child > 0) kill(child, signal);
}

[[noreturn]] void Become(const Options& options, const std::string& library, const std::string& door) {
  const char* before = std::getenv("LD_PRELOAD");
  setenv("LD_PRELOAD",
         before != nullptr && *before != '\0' ? fmt::format("{}:{}", library, before).c_str() : library.c_str(), 1);
  setenv("REDFLAG_SAMPLE", door.c_str(), 1);
  std::vector<char*> argv;
  argv.reserve(options.command.size() + 1);
  for (const std::string& word : options.command)
    argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp's signature
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fmt::print(stderr, "redflag sample: {}: {}\n", options.command[0], std::strerror(errno));
  _exit(kNotFound);
}

int RunSample(Options& options) {
  const auto budget = ShareOf(options.budget);
  if (!budget) {
    fmt::print(stderr, "redflag sample: --budget is a share of the time of the threads, such as 3% or 0.03, not {}\n",
               options.budget);
    return kBadInput;
  }
  options.sampling.budget = *budget;
  const std::filesystem::path library = LibraryFolder() / kLibrary;
  std::string problem = WhyNot(options.command[0]);
  if (!problem.empty()) problem = fmt::format("{} {}", options.command[0], problem);
  if (problem.empty() && !std::filesystem::exists(library))
    problem = fmt::format("{} is not installed", library.string());
  if (!problem.empty()) {
    fmt::print(stderr, "redflag sample: {}\n", problem);
    return kBadInput;
  }
  std::optional<RunRecords> records;
  if (options.rendering.is_wanted()) {
    records.emplace(options.json);
    std::vector<std::string> problems = CheckOutputs(options.rendering);
    if (!records->error().empty()) problems.push_back(records->error());
    for (const std::string& each : problems) fmt::print(stderr, "redflag: {}\n", each);
    if (!problems.empty()) return kBadInput;
  }
  Outputs outputs(options, records ? records->path() : options.json);
  Controller controller(options.sampling, [&](pid_t pid) { return outputs.MakeCollector(pid); });
  if (controller.door_path().empty()) {
    fmt::print(stderr, "redflag sample: there is no memory to share\n");
    return kBadInput;
  }
  child = fork();
  if (child < 0) {
    fmt::print(stderr, "redflag sample: cannot fork: {}\n", std::strerror(errno));
    return kBadInput;
  }
  if (child == 0) Become(options, library.string(), controller.door_path());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, PassOn);
  int status = 0;
  controller.Run(child, [&] { return waitpid(child, &status, WNOHANG) == child; });
  const int own = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (own != kNotFound && !controller.was_sampled()) {
    fmt::print(stderr, "redflag sample: {} did not load our library, so nothing was sampled\n", options.command[0]);
  }
  if (options.sampling.stats) {
    for (const std::string& line : controller.Statistics()) fmt::print(stderr, "redflag: {}\n", line);
  }
  if (records && !RenderRun(*records, options.rendering, controller.races() != 0, "sample")) return kBadInput;
  return controller.races() != 0 && options.exit_code != 0 ? options.exit_code : own;
}

}  // namespace

Run AddSample(CLI::App& app) {
  auto options = std::make_shared<Options>();
  SampleOptions& sampling = options->sampling;
  CLI::App* command = app.add_subcommand("sample", "Run a program as it is and catch its races with breakpoints");
  command->add_option("--rate", sampling.rate, "How many accesses to look at in a second; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--budget", options->budget, "How much of the time of its threads they may be stopped")
      ->capture_default_str()
      ->type_name("SHARE");
  command->add_option("--seconds", sampling.seconds, "For how long; 0: until the program ends")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--delay", sampling.most_delay_us, "The longest stop of a thread, in microseconds")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--modules", sampling.modules,
                   "Which files to look into: names, `main`, or `all`; without it: the program itself")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  command
      ->add_option("--focus", sampling.focus,
                   "Look here more often: FILE:LINE, a function, or a file; may be given again")
      ->type_name("PLACE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--focus-from", sampling.focus_from, "Look more often where these reports (--json) lead")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  command->add_flag("--children", sampling.children, "Sample the processes that it starts, too");
  command->add_flag("--repeated-read", sampling.repeated_read_only,
                    "Without data breakpoints: only changes of values are seen");
  command->add_flag("--stats", sampling.stats, "Print at the end what was done");
  command
      ->add_flag("--self-check", sampling.self_check, "Look for no races: check that each thread meets its own access")
      ->group("");
  command->add_option("-o,--output", options->output, "Write reports to this file, not to standard error");
  command->add_option("--json", options->json, "Append each report as a line of JSON to this file")->type_name("FILE");
  AddRenderingOptions(*command, options->rendering);
  command
      ->add_option("--suppressions", options->suppressions,
                   "Rules for races that are not to be reported; may be given again")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->check(CLI::ExistingFile);
  command
      ->add_option("--exit-code", options->exit_code,
                   "Exit with this if anything was reported; 0: with the program's own status")
      ->capture_default_str()
      ->check(CLI::Range(0, 255));
  command
      ->add_option("--on-race", sampling.on_race,
                   "After a report: `report` goes on, `stop` stops the program for a debugger, `core` ends it by "
                   "SIGABRT; both threads are then at their accesses")
      ->type_name("ACTION")
      ->check(CLI::IsMember({"report", "stop", "core"}))
      ->capture_default_str();
  command->add_option("command", options->command, "The program and its arguments")->required();
  command->positionals_at_end();
  command->footer(
      R"(The program is what it is: nothing is to be compiled for it. A thread is now and then stopped right before an access to memory, for up to 15 ms;
whoever comes to the same bytes meanwhile races with it. What is found is a race; what is not found may still be one.
  redflag sample ./server                            100 accesses a second, 3 % of the time of its threads
  redflag sample --rate 1000 --budget 5% ./server    more of both
  redflag sample --modules all -- python3 x.py       libraries, too
  redflag sample --focus cache.cc:120 --stats ./app
Exit status: 66 if anything was reported, else the program's own.)");
  return [options] { return RunSample(*options); };
}

}  // namespace redflag::cli
