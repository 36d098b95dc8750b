// How a compiler's command line becomes one that builds an instrumented program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace redflag::cli {

enum class CompilerFamily { kGcc, kClang };

// What the options of a compiler's command line ask for.
struct CompilerJob {
  bool has_input = false;  // a file is compiled or linked
  bool compiles = false;   // at least one input is a source
  bool links = false;
  bool is_static = false;
};
CompilerJob Understand(const std::vector<std::string>& arguments);

// The arguments with what is needed added. `runtime` is the folder of the runtime library, `shims` that of what stands in for
// the compiler's own runtime.
std::vector<std::string> Instrumented(CompilerFamily family, const std::vector<std::string>& arguments,
                                      const std::filesystem::path& runtime, const std::filesystem::path& shims);

}  // namespace redflag::cli
