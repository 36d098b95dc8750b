// redflag cc, redflag c++: the compiler you have, with what instrumentation needs (cli/instrument.h).
#include "cli/compile.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/installation.h"
#ifdef REDFLAG_COLLECT
#include "collect/ignore_list.h"
#endif

namespace redflag::cli {
namespace {

constexpr int kNotFound = 127;  // what a shell answers for a command that is not there

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// A build that was told CXX="redflag c++", or a script of such a name, hands the same on to us.
bool IsOurselves(const std::string& program) {
  const std::vector<std::string> words = Words(program);
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return std::filesystem::path(word).filename().string().starts_with("redflag");
  });
}

// Returns only if that fails.
void Execute(std::vector<std::string> words, bool cxx) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fmt::print(stderr, "redflag {}: cannot run {}: {}\n", cxx ? "c++" : "cc", argv[0], std::strerror(errno));
}

// The value of --ignorelist, which comes before all options of the compiler, or of the environment; empty: none.
std::string TakeIgnoreList(std::vector<std::string>& arguments) {
  constexpr std::string_view kOption = "--ignorelist";
  if (!arguments.empty() && arguments[0] == kOption) {
    if (arguments.size() == 1) throw std::runtime_error("--ignorelist: the name of a file is missing");
    std::string file = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
    return file;
  }
  if (!arguments.empty() && arguments[0].starts_with(std::string(kOption) + "=")) {
    std::string file = arguments[0].substr(kOption.size() + 1);
    arguments.erase(arguments.begin());
    return file;
  }
  const char* named = std::getenv("REDFLAG_IGNORELIST");
  return named == nullptr ? "" : named;
}

// --throw, which comes before all options of the compiler as well.
bool TakeThrow(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "--throw") return false;
  arguments.erase(arguments.begin());
  return true;
}

// What makes the compiler expect that any access may throw.
std::vector<std::string> ThrowOptions(CompilerFamily family, bool cxx) {
  if (family == CompilerFamily::kGcc) return {"-fexceptions", "-fnon-call-exceptions", "-fasynchronous-unwind-tables"};
  fmt::print(stderr,
             "redflag {}: warning: clang cannot make accesses throw: --throw has no effect here; redflag::checked<T> "
             "(redflag/checked.hpp) throws with every compiler\n",
             cxx ? "c++" : "cc");
  return {};
}

// What makes the compiler leave out what the rules name. Only clang takes such a list: in its own terms, in memory that it inherits.
std::vector<std::string> IgnoreListOptions(CompilerFamily family, const std::string& file, bool cxx) {
  const auto warn = [&](std::string_view what) {
    fmt::print(stderr, "redflag {}: warning: {}\n", cxx ? "c++" : "cc", what);
  };
#ifdef REDFLAG_COLLECT
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", file));
  if (family != CompilerFamily::kClang) {
    warn(fmt::format(
        "only clang can leave code out: --ignorelist {} has no effect here; `redflag run --suppressions {}` has", file,
        file));
    return {};
  }
  const ClangIgnoreList list = ClangIgnoreListOf(std::string(std::istreambuf_iterator<char>(in), {}));
  for (const std::string& problem : list.problems) warn(fmt::format("{}: {}", file, problem));
  const int memory = memfd_create("redflag-ignorelist", 0);
  if (memory < 0 || write(memory, list.text.data(), list.text.size()) != static_cast<ssize_t>(list.text.size())) {
    throw std::runtime_error(fmt::format("cannot hand on {}: {}", file, std::strerror(errno)));
  }
  return {"-Xclang", fmt::format("-fsanitize-ignorelist=/proc/self/fd/{}", memory)};
#else
  static_cast<void>(family);
  warn(fmt::format("this build cannot read {}: --ignorelist has no effect", file));
  return {};
#endif
}

// The compiler's own help first: scripts look for words in it. Ours is what a reader has before the eyes at the end.
int HelpOfBoth(const CLI::App& command, const std::vector<std::string>& compiler, bool cxx) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<std::string> words = compiler;
    words.emplace_back("--help");
    Execute(words, cxx);
    _exit(kNotFound);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  fmt::print("\n{}", command.help("redflag"));
  return WIFEXITED(status) ? WEXITSTATUS(status) : kNotFound;
}

int Compile(const CLI::App& command, bool cxx, const std::string& detector) {
  std::vector<std::string> arguments = command.remaining();
  if (arguments.empty()) {
    fmt::print(stderr, "{}", command.help("redflag"));
    return kBadInput;
  }
  bool throws = TakeThrow(arguments);
  const std::string list = TakeIgnoreList(arguments);
  throws = TakeThrow(arguments) || throws;
  const std::string program = CompilerProgram(cxx);
  std::vector<std::string> words = Words(program);
  if (arguments == std::vector<std::string>{"--help"}) return HelpOfBoth(command, words, cxx);
  const CompilerFamily family = FamilyOf(CompilerVersion(program));
  const std::vector<std::string> instrumented =
      Instrumented(family, arguments, RuntimeFolder(detector), LibraryFolder() / "shims", throws);
  if (!list.empty() && Understand(WithResponseFiles(arguments)).compiles) {
    const std::vector<std::string> more = IgnoreListOptions(family, list, cxx);
    words.insert(words.end(), more.begin(), more.end());
  }
  if (throws && Understand(WithResponseFiles(arguments)).compiles) {
    const std::vector<std::string> more = ThrowOptions(family, cxx);
    words.insert(words.end(), more.begin(), more.end());
  }
  words.insert(words.end(), instrumented.begin(), instrumented.end());
  Execute(words, cxx);
  return kNotFound;
}

Run AddCompiler(CLI::App& app, bool cxx) {
  const char* name = cxx ? "c++" : "cc";
  CLI::App* command =
      app.add_subcommand(name, cxx ? "Compile and link C++ for race detection" : "Compile and link C likewise");
  command->footer(fmt::format(R"(  redflag {2} [--throw] [--ignorelist RULES] OPTION... FILE...

Takes what your compiler takes, and runs it: $REDFLAG_{0} or ${0} if set, else {1}.

Examples:
  redflag {2} -O1 -g -o app app.{3}
  {0}='redflag {2}' make
  {0}='redflag {2}' cmake -B build       the same for Meson and autotools' configure
  REDFLAG_{0}=clang{4}-19 redflag {2} ...

With --ignorelist RULES, or REDFLAG_IGNORELIST=RULES, clang instruments nothing of what the rules `fun` and `src` of this file name, not
even its synchronization; g++ cannot, and warns.

With --throw, g++ compiles so that `redflag run --on-race throw` and the policies of redflag/race_error.hpp can throw
redflag::data_race_error in place of an access that races; clang cannot, and warns.

Add -g, so that reports name lines. -O1 and -O2 are fine. What is linked, shared libraries too, needs the runtime library at
run time and finds it by its run path. -static is refused, and so is -fsanitize=address, memory or leak; -static-libstdc++ is left out.
`redflag {2} --help` prints the help of the compiler before this, and --version its version: build systems rely on that.)",
                              cxx ? "CXX" : "CC", cxx ? "g++" : "gcc", name, cxx ? "cc" : "c", cxx ? "++" : ""));
  command->prefix_command();
  command->set_help_flag();
  command->set_help_all_flag();
  return [command, cxx] { return Compile(*command, cxx, "hb"); };
}

}  // namespace

std::string CompilerProgram(bool cxx) {
  for (const char* variable : {cxx ? "REDFLAG_CXX" : "REDFLAG_CC", cxx ? "CXX" : "CC"}) {
    const char* named = std::getenv(variable);
    if (named != nullptr && !Words(named).empty() && !IsOurselves(named)) return named;
  }
  return cxx ? "g++" : "gcc";
}

std::string CompilerVersion(const std::string& program) {
  std::FILE* pipe = popen((program + " --version 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  std::array<char, 256> line{};
  const char* read = std::fgets(line.data(), line.size(), pipe);
  pclose(pipe);
  std::string version = read != nullptr ? read : "";
  while (!version.empty() && version.back() == '\n') version.pop_back();
  return version;
}

// Names of programs tell little (cc, c++, a wrapper): ask what it says of itself.
CompilerFamily FamilyOf(const std::string& version) {
  return version.find("clang") != std::string::npos ? CompilerFamily::kClang : CompilerFamily::kGcc;
}

Run AddCc(CLI::App& app) { return AddCompiler(app, false); }
Run AddCxx(CLI::App& app) { return AddCompiler(app, true); }

}  // namespace redflag::cli
