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
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/executable.h"
#include "cli/installation.h"
#include "cli/sampling.h"
#include "sample/controller.h"

namespace redflag::cli {
namespace {

constexpr int kNotFound = 127;
constexpr const char* kLibrary = "libredflag_sample.so";

struct Options : SamplingOptions {
  std::vector<std::string> command;
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
  SamplingOutputs outputs(options);
  const std::filesystem::path library = LibraryFolder() / kLibrary;
  std::string problem = WhyNot(options.command[0]);
  if (!problem.empty()) problem = fmt::format("{} {}", options.command[0], problem);
  if (problem.empty() && !std::filesystem::exists(library))
    problem = fmt::format("{} is not installed", library.string());
  if (!problem.empty()) {
    fmt::print(stderr, "redflag sample: {}\n", problem);
    return kBadInput;
  }
  if (!outputs.Prepare("sample")) return kBadInput;
  Controller controller(options.sampling, [&](pid_t pid) { return outputs.MakeCollector(pid); });
  if (controller.door_path().empty()) {
    fmt::print(stderr, "redflag sample: there is no memory to share\n");
    return kBadInput;
  }
  std::signal(SIGCHLD, [](int) {});  // ends the wait for the next look at the program
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
  if (!outputs.Render(controller.races() != 0, "sample")) return kBadInput;
  return controller.races() != 0 && options.exit_code != 0 ? options.exit_code : own;
}

}  // namespace

Run AddSample(CLI::App& app) {
  auto options = std::make_shared<Options>();
  SampleOptions& sampling = options->sampling;
  CLI::App* command = app.add_subcommand("sample", "Run a program as it is and catch its races with breakpoints");
  AddSamplingOptions(*command, *options);
  command->add_option("--seconds", sampling.seconds, "For how long; 0: until the program ends")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--children", sampling.children, "Sample the processes that it starts, too");
  command
      ->add_flag("--self-check", sampling.self_check, "Look for no races: check that each thread meets its own access")
      ->group("");
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
