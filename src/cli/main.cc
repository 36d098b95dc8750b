// redflag: one command, one subcommand a job.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/arch.h"
#include "cli/command.h"

namespace redflag::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  redflag c++ -g -o app app.cc                       build a program for race detection
  redflag run ./app                                  run it; races are reported as they happen
  redflag run --sarif races.sarif ./app              and write them in a form for others, too
  redflag record ./app                               keep what it does, in redflag.rft
  redflag analyze redflag.rft                        find the races of a recorded run
  redflag analyze -d all --stats app.trace           ask every detector, count the rules they applied
  redflag list                                       which detectors there are
  redflag doctor                                     does all of this work on this machine, and if not, why

Exit codes: 0 no race, 66 races found, 1 --check or --verify failed, 2 bad command line or input.
`redflag help COMMAND` says more about each command.)";

int Main(int argc, char** argv) {
  CLI::App app("Redflag finds data races in C and C++ programs.", "redflag");
  app.set_version_flag("-V,--version", fmt::format("redflag {} ({})", REDFLAG_VERSION, arch::kName),
                       "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_help_all_flag("--help-all", "Print the help of every command and exit");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);

  std::vector<std::pair<CLI::App*, Run>> commands;
  const auto add = [&](Run (*command)(CLI::App&)) {
    Run run = command(app);
    commands.emplace_back(app.get_subcommands({}).back(), std::move(run));
  };
  add(AddCxx);
  add(AddCc);
  add(AddRun);
  add(AddRecord);
  add(AddAnalyze);
  add(AddMerge);
  add(AddReport);
  add(AddConvert);
  add(AddList);
  add(AddDoctor);
#ifdef REDFLAG_COLLECT
  add(AddSample);
  add(AddAttach);
  add(AddSymbolize);
  add(AddSuppress);
  add(AddCollect);
  add(AddMark);
#endif
  add(AddHelp);

  if (argc == 1) {
    fmt::print(stderr, "{}", app.help());
    return kBadInput;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return kBadInput;
  }
  for (const auto& [command, run] : commands) {
    if (!command->parsed()) continue;
    const int code = run();
    // A full disk must not look like a clean run.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      fmt::print(stderr, "redflag: cannot write to standard output: {}\n", std::strerror(errno));
      return kBadInput;
    }
    return code;
  }
  return kBadInput;
}

}  // namespace
}  // namespace redflag::cli

int main(int argc, char** argv) {
  try {
    return redflag::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("redflag: out of memory\n", stderr);
  } catch (const std::exception& error) {
    fmt::print(stderr, "redflag: {}\n", error.what());
  }
  return redflag::cli::kBadInput;
}
