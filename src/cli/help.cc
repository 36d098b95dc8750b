// redflag help: the help of a command, for those whose --help belongs to somebody else (redflag c++).
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.h"

namespace redflag::cli {

Run AddHelp(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("help", "Print the help of a command");
  command->add_option("COMMAND", *name, "Which command; without it: all of them, a line each");
  command->footer("Examples:\n  redflag help run\n  redflag help c++");
  return [&app, name] {
    if (name->empty()) {
      // Not app.help(): that is of the command that was given, which is this one.
      fmt::print("{}", app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
      return kOk;
    }
    for (const CLI::App* about : app.get_subcommands({})) {
      if (about->get_name() != *name) continue;
      fmt::print("{}", about->help(app.get_name()));
      return kOk;
    }
    fmt::print(stderr, "redflag help: there is no command '{}'; `redflag --help` lists them\n", *name);
    return kBadInput;
  };
}

}  // namespace redflag::cli
