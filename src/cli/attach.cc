// redflag attach: a process that runs already, sampled with breakpoints from outside.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/sampling.h"
#include "sample/attachable.h"
#include "sample/attachment.h"
#include "sample/guard.h"

namespace redflag::cli {
namespace {

struct Options : SamplingOptions {
  pid_t pid = 0;
};

volatile std::sig_atomic_t is_asked_to_stop = 0;
void OnSignal(int) { is_asked_to_stop = 1; }

int RunAttach(Options& options) {
  SamplingOutputs outputs(options);
  if (const std::string problem = WhyNotAttach(options.pid); !problem.empty()) {
    fmt::print(stderr, "redflag attach: {}\n", problem);
    return kBadInput;
  }
  if (!outputs.Prepare("attach")) return kBadInput;
  const std::unique_ptr<Collector> collector = outputs.MakeCollector(options.pid);
  Attachment attachment(options.pid, options.sampling, *collector);
  if (attachment.page_fd() < 0) {
    fmt::print(stderr, "redflag attach: there is no memory to share\n");
    return kBadInput;
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, OnSignal);
  return RunGuarded(options.pid, attachment.page_fd(), [&](TrapShield& shield) {
    attachment.SetShield(&shield);
    const std::string problem = attachment.Run([] { return is_asked_to_stop != 0; });
    if (!problem.empty()) {
      fmt::print(stderr, "redflag attach: {}\n", problem);
      return kBadInput;
    }
    if (options.sampling.stats) {
      for (const std::string& line : attachment.Statistics()) fmt::print(stderr, "redflag: {}\n", line);
    }
    const bool has_races = collector->races() != 0;
    if (!outputs.Render(has_races, "attach")) return kBadInput;
    return has_races ? options.exit_code : kOk;
  });
}

}  // namespace

Run AddAttach(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->sampling.seconds = 10;
  CLI::App* command = app.add_subcommand("attach", "Catch the races of a process that runs already, with breakpoints");
  AddSamplingOptions(*command, *options);
  command
      ->add_option("--seconds", options->sampling.seconds,
                   "For how long; 0: until the process ends, or you stop it with Ctrl-C")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--exit-code", options->exit_code, "Exit with this if anything was reported")
      ->capture_default_str()
      ->check(CLI::Range(0, 255));
  command->add_option("pid", options->pid, "The process")->required()->type_name("PID");
  command->footer(
      R"(Nothing is loaded into the process, and nothing is to be compiled for it; it may be statically linked. Its threads are traced as a debugger does: now and
then one is stopped right before an access to memory, for up to 15 ms, and whoever comes to the same bytes meanwhile races with it. What is found is a race;
what is not found may still be one. At the end, and with Ctrl-C, the code is what it was before, and the process goes on.
  redflag attach 4711                                10 seconds, 100 accesses a second, 3 % of the time of its threads
  redflag attach --seconds 60 --rate 1000 4711       longer, and more of them
  redflag attach --modules all --stats $(pidof app)  libraries, too; and what was done
It takes what a debugger takes: the process is yours, or you are root; no debugger is at it; kernel.yama.ptrace_scope is 0, or you are root.
Exit status: 66 if anything was reported, 2 if it cannot be done, else 0.)");
  return [options] { return RunAttach(*options); };
}

}  // namespace redflag::cli
