// How a compiler's command line becomes one that builds an instrumented program. Pure: reads response files, runs nothing.
//
// The compiler is told to instrument (-fsanitize=thread) and the linker to use our runtime in place of the compiler's own:
//   g++     links -ltsan when it sees the option, early, as an interposing library must be: it finds ours under that name
//           and tells of memset and memcpy by a string.h of ours (include/gcc)
//   clang   is told not to link its own, and ours is named
// cmake/redflag-config.cmake.in and cmake/redflag.pc.in say the same to build systems.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace redflag::cli {

enum class CompilerFamily { kGcc, kClang };

// What the options of a compiler's command line ask for.
struct CompilerJob {
  bool has_input = false;     // a file is compiled or linked
  bool compiles = false;      // at least one input is a source or a header
  bool links = false;         // shared libraries too: they need the runtime as much, and -z defs holds
  bool is_static = false;     // -static
  bool is_library = false;    // -shared
  bool instruments = true;    // false: -fno-sanitize=thread
  bool plain_libs = true;     // false: -nostdlib or -nodefaultlibs
  bool plain_headers = true;  // false: -nostdinc, -ffreestanding, -fno-builtin, ...: string.h is not what it usually is
  std::string incompatible;   // a -fsanitize= that cannot be combined with ours; empty: none
};
CompilerJob Understand(const std::vector<std::string>& arguments);

// @FILE replaced by the arguments in it, as compilers read them; an @FILE that cannot be read stays.
std::vector<std::string> WithResponseFiles(const std::vector<std::string>& arguments);

// The arguments with what is needed added. `runtime` is the folder of the runtime library, beside which the entry points are that are linked into programs (runtime/entry_points.cc);
// `shims` that of what stands in for the compiler's own runtime. `throws`: any access may throw, memset too, which string.h says it does not. Throws std::runtime_error if the program could not be checked.
std::vector<std::string> Instrumented(CompilerFamily family, const std::vector<std::string>& arguments,
                                      const std::filesystem::path& runtime, const std::filesystem::path& shims,
                                      bool throws = false);

}  // namespace redflag::cli
