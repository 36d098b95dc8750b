// redflag symbolize: names and source lines for logs that show addresses only.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>

#include "cli/command.h"
#include "collect/log_symbolizer.h"

namespace redflag::cli {
namespace {

constexpr const char* kFooter =
    R"(Reads lines from standard input and copies them to standard output. Wherever a line says MODULE+0xOFFSET and MODULE is a
program or shared library, the function and the source line take its place; functions that it was inlined into follow.

Examples:
  ./app 2>&1 | redflag symbolize            a program that printed addresses
  redflag symbolize <app.log                a log from somewhere else; the files must be here
  echo ./app+0x1189 | redflag symbolize     one address

Offsets are return addresses, as stacks have them: the instruction before is looked up. --exact looks up the offset itself.)";

int RunSymbolize(bool exact) {
  Symbolizer symbolizer;
  const OffsetMeaning meaning = exact ? OffsetMeaning::kExact : OffsetMeaning::kReturnAddress;
  std::string line;
  while (std::getline(std::cin, line)) {
    fmt::print("{}", SymbolizeLine(line, meaning, symbolizer));
    std::fflush(stdout);
    for (const std::string& note : symbolizer.TakeNotes()) fmt::print(stderr, "redflag: {}\n", note);
  }
  if (std::cin.bad()) {
    fmt::print(stderr, "redflag: cannot read standard input: {}\n", std::strerror(errno));
    return kBadInput;
  }
  return kOk;
}

}  // namespace

Run AddSymbolize(CLI::App& app) {
  auto exact = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("symbolize", "Put names and source lines into logs that show addresses");
  command->add_flag("--exact", *exact, "Look up the offsets themselves, not the instructions before them");
  command->footer(kFooter);
  return [exact] { return RunSymbolize(*exact); };
}

}  // namespace redflag::cli
