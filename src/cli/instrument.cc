#include "cli/instrument.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace redflag::cli {
namespace {

constexpr int kMaxNesting = 16;  // of response files: one may name itself

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

enum class Input { kSource, kHeader, kLinker };

Input InputOfName(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view suffix = dot == std::string_view::npos ? "" : name.substr(dot);
  if (IsOneOf(suffix, {".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".cp", ".i", ".ii", ".m", ".mm", ".mi",
                       ".mii", ".cppm", ".ixx"}))
    return Input::kSource;
  if (IsOneOf(suffix, {".h", ".hh", ".hpp", ".hxx", ".h++", ".H", ".HPP", ".hp", ".tcc"})) return Input::kHeader;
  return Input::kLinker;  // objects, archives, libraries; assembly, which is not instrumented
}

Input InputOfLanguage(std::string_view language) {
  if (language.find("header") != std::string_view::npos) return Input::kHeader;
  return language.starts_with("assembler") ? Input::kLinker : Input::kSource;
}

// Options whose value is the next argument.
bool TakesValue(std::string_view option) {
  return IsOneOf(option, {"-o",
                          "-I",
                          "-L",
                          "-D",
                          "-U",
                          "-A",
                          "-B",
                          "-F",
                          "-G",
                          "-T",
                          "-e",
                          "-u",
                          "-z",
                          "-include",
                          "-include-pch",
                          "-imacros",
                          "-isystem",
                          "-iquote",
                          "-idirafter",
                          "-iprefix",
                          "-iwithprefix",
                          "-iwithprefixbefore",
                          "-isysroot",
                          "--sysroot",
                          "-MF",
                          "-MT",
                          "-MQ",
                          "-MJ",
                          "-Xlinker",
                          "-Xassembler",
                          "-Xpreprocessor",
                          "-Xclang",
                          "-mllvm",
                          "-arch",
                          "-target",
                          "-gcc-toolchain",
                          "-working-directory",
                          "-aux-info",
                          "-dumpbase",
                          "-dumpbase-ext",
                          "-dumpdir",
                          "-wrapper",
                          "--param",
                          "--serialize-diagnostics"});
}

// -fsanitize=LIST and -fno-sanitize=LIST.
struct SanitizeOption {
  bool on;
  std::vector<std::string> names;
};

std::optional<SanitizeOption> ParseSanitize(std::string_view argument) {
  constexpr std::string_view kOn = "-fsanitize=";
  constexpr std::string_view kOff = "-fno-sanitize=";
  SanitizeOption option{.on = argument.starts_with(kOn), .names = {}};
  if (!option.on && !argument.starts_with(kOff)) return std::nullopt;
  argument.remove_prefix(option.on ? kOn.size() : kOff.size());
  for (size_t at = 0; at <= argument.size();) {
    const size_t end = std::min(argument.find(',', at), argument.size());
    option.names.emplace_back(argument.substr(at, end - at));
    at = end + 1;
  }
  return option;
}

// Their runtimes take over the same functions, or the same memory.
bool IsIncompatible(std::string_view sanitizer) {
  return IsOneOf(sanitizer, {"address", "pointer-compare", "pointer-subtract", "kernel-address", "hwaddress",
                             "kernel-hwaddress", "leak", "memory", "kernel-memory", "dataflow", "numerical"});
}

// Later options win over earlier ones.
void ApplySanitize(const SanitizeOption& option, CompilerJob& job) {
  for (const std::string& name : option.names) {
    if (name == "thread" || (name == "all" && !option.on)) job.instruments = option.on;
    if (option.on && IsIncompatible(name)) job.incompatible = name;
    if (!option.on && (name == job.incompatible || name == "all")) job.incompatible.clear();
  }
}

// Without what asks for the compiler's own race detector, or switches it off: that is decided here. And without a static libstdc++:
// the runtime comes before the shared one, to see what it allocates.
std::vector<std::string> WithoutWhatIsOurs(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  for (const std::string& argument : arguments) {
    if (IsOneOf(argument, {"-static-libtsan", "-static-libstdc++"})) continue;
    std::optional<SanitizeOption> option = ParseSanitize(argument);
    if (!option || std::erase(option->names, "thread") == 0) {
      kept.push_back(argument);
      continue;
    }
    if (option->names.empty()) continue;
    kept.push_back(fmt::format("{}{}", option->on ? "-fsanitize=" : "-fno-sanitize=", fmt::join(option->names, ",")));
  }
  return kept;
}

// Words are separated by white space; quotes of either kind keep it, and a backslash keeps any character.
std::vector<std::string> SplitResponseFile(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
      in_word = true;
    } else if (quote == '\0' && is_space) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

void AppendExpanded(const std::vector<std::string>& arguments, int nesting, std::vector<std::string>& out) {
  for (const std::string& argument : arguments) {
    if (argument.size() > 1 && argument[0] == '@' && nesting < kMaxNesting) {
      std::ifstream file(argument.substr(1), std::ios::binary);
      if (file) {
        const std::string text(std::istreambuf_iterator<char>(file), {});
        AppendExpanded(SplitResponseFile(text), nesting + 1, out);
        continue;
      }
    }
    out.push_back(argument);
  }
}

}  // namespace

std::vector<std::string> WithResponseFiles(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  AppendExpanded(arguments, 0, out);
  return out;
}

CompilerJob Understand(const std::vector<std::string>& arguments) {
  CompilerJob job;
  bool stops_early = false;
  bool has_linker_input = false;
  bool has_source = false;
  std::string language = "none";  // -x
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() > 1 && argument[0] == '-') {
      if (IsOneOf(argument, {"-c", "-S", "-E", "-M", "-MM", "-r", "-fsyntax-only", "--precompile", "--analyze",
                             "--compile", "--assemble", "--preprocess"}))
        stops_early = true;
      if (IsOneOf(argument, {"-static", "--static", "-static-pie"})) job.is_static = true;
      if (IsOneOf(argument, {"-shared", "--shared", "-Wl,-shared", "-Wl,--shared", "-Wl,-Bshareable"}))
        job.is_library = true;
      if (IsOneOf(argument, {"-nostdlib", "-nodefaultlibs"})) job.plain_libs = false;
      if (IsOneOf(argument, {"-nostdinc", "-ffreestanding", "-fno-hosted"}) || argument.starts_with("-fno-builtin")) {
        job.plain_headers = false;
      }
      if (const auto option = ParseSanitize(argument)) ApplySanitize(*option, job);
      if (argument == "-x" || argument == "-l") {
        if (++i == arguments.size()) break;
        if (argument == "-x") language = arguments[i];
        if (argument == "-l") has_linker_input = true;
      } else if (argument.starts_with("-x")) {
        language = argument.substr(2);
      } else if (argument.starts_with("-l")) {
        has_linker_input = true;
      } else if (TakesValue(argument)) {
        ++i;
      }
      continue;
    }
    switch (language == "none" ? InputOfName(argument) : InputOfLanguage(language)) {
      case Input::kSource:
        has_source = true;
        job.compiles = true;
        break;
      case Input::kHeader:
        job.compiles = true;  // precompiled
        break;
      case Input::kLinker:
        has_linker_input = true;
        break;
    }
  }
  job.has_input = job.compiles || has_linker_input;
  job.links = (has_source || has_linker_input) && !stops_early;
  return job;
}

std::vector<std::string> Instrumented(CompilerFamily family, const std::vector<std::string>& arguments,
                                      const std::filesystem::path& runtime, const std::filesystem::path& shims,
                                      bool throws) {
  const std::vector<std::string> expanded = WithResponseFiles(arguments);
  const CompilerJob job = Understand(expanded);
  if (!job.has_input) return arguments;  // --version, -print-search-dirs, ...
  if (!job.incompatible.empty()) {
    throw std::runtime_error(
        fmt::format("-fsanitize={} and race detection exclude each other: build the program twice, once with each",
                    job.incompatible));
  }
  if (job.links && job.is_static) {
    throw std::runtime_error("-static leaves no place for the runtime library: link dynamically");
  }
  // Long command lines are in files for a reason: they stay there unless something in them has to change.
  std::vector<std::string> theirs = WithoutWhatIsOurs(expanded);
  if (theirs == expanded) theirs = arguments;

  const bool instruments = job.compiles && job.instruments;
  const bool is_gcc = family == CompilerFamily::kGcc;
  // As its own runtime, g++ puts ours before everything else. -fsanitize=thread would instrument as well, and with -nostdlib it links nothing.
  const bool as_tsan = is_gcc && job.plain_libs && (instruments || !job.compiles);
  std::vector<std::string> out;
  // Before the library, which has them too. For the linker alone: as an input it would change what compilers call files that they leave behind.
  if (job.links && !job.is_library) out.push_back("-Wl," + (runtime.parent_path() / "entry_points.o").string());
  if (job.links) {
    out.push_back("-L" + runtime.string());
    out.emplace_back("-Wl,--push-state,--no-as-needed");
    out.emplace_back("-lredflag_rt");
    out.emplace_back("-Wl,--pop-state");
    out.push_back("-Wl,-rpath," + runtime.string());
  }
  if (job.links && as_tsan) out.push_back("-L" + shims.string());
  if (is_gcc && instruments && job.plain_headers && !throws) {
    out.emplace_back("-isystem");
    out.push_back((shims / "include").string());
  }
  out.insert(out.end(), theirs.begin(), theirs.end());
  // Behind theirs, which may end in -fno-sanitize=all -fsanitize=thread.
  if (is_gcc && (instruments || (job.links && as_tsan))) out.emplace_back("-fsanitize=thread");
  if (!is_gcc && instruments) {
    // Said to clang as a whole, it understands its other options about threads, but would link a runtime of its own. Other sanitizers need theirs.
    const bool has_others = std::any_of(expanded.begin(), expanded.end(), [](const std::string& argument) {
      return argument.starts_with("-fsanitize=") && argument != "-fsanitize=thread";
    });
    if (has_others) out.emplace_back("-Xclang");
    out.emplace_back("-fsanitize=thread");
    if (!has_others) out.emplace_back("-fno-sanitize-link-runtime");
  }
  return out;
}

}  // namespace redflag::cli
