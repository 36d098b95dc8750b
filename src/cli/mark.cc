// redflag mark: which code of a program under test the user's rules are about. Started by the runtime, not by people.
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "collect/marked_code.h"
#include "collect/suppressions.h"

namespace redflag::cli {
namespace {

struct Options {
  int fd = -1;
  int pid = 0;
  std::string rules;
};

constexpr const char* kFooter =
    R"(The runtime inside an instrumented program starts this command when it has rules about code (fun, src, obj, lock and others), and waits
for it; there is no need to run it by hand. It reads /proc/PID/maps and the files that are mapped there, and writes the addresses of
the code that the rules name.)";

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// What the addresses of a file are smaller by than those in memory.
uint64_t BiasOf(const MappedCode& code) {
  Elf64_Ehdr header{};
  std::ifstream file(code.path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  return file && header.e_type == ET_EXEC ? 0 : code.image;
}

int RunMark(const Options& options) {
  Suppressions suppressions;
  suppressions.AddFiles(options.rules);  // the helper process complains of what is wrong with them
  std::ifstream file(fmt::format("/proc/{}/maps", options.pid));
  if (!file) {
    fmt::print(stderr, "redflag mark: cannot read the memory map of process {}\n", options.pid);
    return kBadInput;
  }
  const std::string maps(std::istreambuf_iterator<char>(file), {});
  MarkedCode code(suppressions.rules());
  for (const MappedCode& each : MappedCodeOf(maps)) code.Add(each.path, each.begin, each.end, BiasOf(each));
  if (WriteAll(options.fd, code.Encode())) return kOk;
  fmt::print(stderr, "redflag mark: cannot write: {}\n", std::strerror(errno));
  return kBadInput;
}

}  // namespace

Run AddMark(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("mark", "Find the code that rules are about");
  command->group("");  // not for people: left out of the list of commands
  command->add_option("--fd", options->fd, "Descriptor to write to, 3 or more")
      ->required()
      ->check(CLI::Range(STDERR_FILENO + 1, INT_MAX - 1))
      ->type_name("N");
  command->add_option("--pid", options->pid, "The process whose code it is")
      ->required()
      ->check(CLI::PositiveNumber)
      ->type_name("P");
  command->add_option("--rules", options->rules, "Files of rules, with semicolons in between")
      ->required()
      ->type_name("FILES");
  command->footer(kFooter);
  return [options] { return RunMark(*options); };
}

}  // namespace redflag::cli
