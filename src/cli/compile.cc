// redflag cc, redflag c++: the compiler you have, with what instrumentation needs.
//
// The compiler is told to instrument (-fsanitize=thread) and the linker to use our runtime in place of the compiler's own:
//   g++     links -ltsan when it sees the option, early, as an interposing library must be: it finds ours under that name
//   clang   would link its own in any case, so the option goes to the compiler proper only, and ours is named
#include "cli/compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

#include "cli/command.h"
#include "cli/installation.h"

namespace redflag::cli {
namespace {

constexpr int kNotFound = 127;  // what a shell answers for a command that is not there

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsSource(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  return IsOneOf(name.substr(dot),
                 {".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".cp", ".i", ".ii", ".m", ".mm"});
}

// Options whose value is the next argument.
bool TakesValue(std::string_view option) {
  return IsOneOf(option, {"-o",       "-x",       "-I",       "-L",        "-l",          "-D",
                          "-U",       "-include", "-imacros", "-isystem",  "-iquote",     "-idirafter",
                          "-MF",      "-MT",      "-MQ",      "-Xlinker",  "-Xassembler", "-Xpreprocessor",
                          "-Xclang",  "-T",       "-u",       "-z",        "-arch",       "-target",
                          "--param",  "-B",       "-e",       "-aux-info", "-mllvm",      "-isysroot",
                          "--sysroot"});
}

std::string Program(bool cxx) {
  for (const char* variable : {cxx ? "REDFLAG_CXX" : "REDFLAG_CC", cxx ? "CXX" : "CC"}) {
    const char* named = std::getenv(variable);
    // A build that was told CXX="redflag c++" hands the same on to us.
    if (named != nullptr && *named != '\0' && std::string_view(named).find("redflag") == std::string_view::npos)
      return named;
  }
  return cxx ? "g++" : "gcc";
}

// Asks the compiler itself: names tell little (cc, c++, a wrapper).
CompilerFamily FamilyOf(const std::string& program) {
  std::FILE* pipe = popen((program + " --version 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return CompilerFamily::kGcc;
  std::array<char, 256> line{};
  const char* read = std::fgets(line.data(), line.size(), pipe);
  pclose(pipe);
  return read != nullptr && std::strstr(line.data(), "clang") != nullptr ? CompilerFamily::kClang
                                                                         : CompilerFamily::kGcc;
}

int Compile(bool cxx, const std::string& detector, const std::vector<std::string>& arguments) {
  const std::string program = Program(cxx);
  std::vector<std::string> words;
  // CXX may be "ccache g++".
  for (size_t at = 0; at < program.size();) {
    const size_t end = std::min(program.find(' ', at), program.size());
    if (end > at) words.push_back(program.substr(at, end - at));
    at = end + 1;
  }
  const std::vector<std::string> added =
      Instrumented(FamilyOf(program), arguments, RuntimeFolder(detector), LibraryFolder() / "shims");
  words.insert(words.end(), added.begin(), added.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fmt::print(stderr, "redflag {}: cannot run {}: {}\n", cxx ? "c++" : "cc", argv[0], std::strerror(errno));
  return kNotFound;
}

Run AddCompiler(CLI::App& app, bool cxx) {
  const char* name = cxx ? "c++" : "cc";
  CLI::App* command = app.add_subcommand(name, cxx ? "Compile and link C++ for race detection" : "The same for C");
  command->footer(fmt::format(R"(Takes what your compiler takes, and runs it: $REDFLAG_{0} or ${0} if set, else {1}.
  redflag {2} -O1 -g -o app app.{3}
  {0}='redflag {2}' make
  {0}='redflag {2}' cmake -B build       the same for Meson and autotools' configure
  REDFLAG_{0}=clang{4}-19 redflag {2} ...
Add -g, so that reports name lines. -O1 and -O2 are fine.)",
                              cxx ? "CXX" : "CC", cxx ? "g++" : "gcc", name, cxx ? "cc" : "c", cxx ? "++" : ""));
  command->prefix_command();
  command->set_help_flag();
  return [command, cxx] { return Compile(cxx, "hb", command->remaining()); };
}

}  // namespace

CompilerJob Understand(const std::vector<std::string>& arguments) {
  CompilerJob job;
  bool stops_early = false;
  bool language_given = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() > 1 && argument[0] == '-') {
      if (IsOneOf(argument, {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--precompile"})) stops_early = true;
      if (IsOneOf(argument, {"-static", "-static-pie"})) job.is_static = true;
      if (argument.starts_with("-x")) language_given = argument != "-xnone";
      if (argument == "-r") stops_early = true;
      if (TakesValue(argument)) ++i;
      continue;
    }
    job.has_input = true;
    if (language_given || argument == "-" || IsSource(argument)) job.compiles = true;
  }
  job.links = job.has_input && !stops_early;
  return job;
}

std::vector<std::string> Instrumented(CompilerFamily family, const std::vector<std::string>& arguments,
                                      const std::filesystem::path& runtime, const std::filesystem::path& shims) {
  const CompilerJob job = Understand(arguments);
  if (!job.has_input) return arguments;  // --version, -print-search-dirs, ...
  if (job.links && job.is_static) {
    throw std::runtime_error("-static leaves no place for the runtime library: link dynamically");
  }
  std::vector<std::string> out;
  if (family == CompilerFamily::kGcc) {
    if (job.compiles || job.links) out.emplace_back("-fsanitize=thread");
    if (job.links) out.push_back("-L" + shims.string());
  } else {
    if (job.compiles) {
      out.emplace_back("-Xclang");
      out.emplace_back("-fsanitize=thread");
    }
    if (job.links) {
      out.push_back("-L" + runtime.string());
      out.emplace_back("-Wl,--push-state,--no-as-needed");
      out.emplace_back("-lredflag_rt");
      out.emplace_back("-Wl,--pop-state");
    }
  }
  if (job.links) out.push_back("-Wl,-rpath," + runtime.string());
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

Run AddCc(CLI::App& app) { return AddCompiler(app, false); }
Run AddCxx(CLI::App& app) { return AddCompiler(app, true); }

}  // namespace redflag::cli
