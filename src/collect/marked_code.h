// Which code the rules about code name (docs/suppressions.md), by address: for the program, which does not watch what is ignored, and learns
// which functions take and give back locks of its own making (events/code_mark.h). The rules mean the same here as for reports
// (collect/suppressions.h).
//
// Of a program that runs, by /proc: the modules that are loaded, where they are. Not safe for several threads at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/suppressions.h"
#include "collect/symbol_file.h"
#include "events/code_mark.h"

namespace redflag {

class MarkedCode {
 public:
  // Those of the rules that are about code.
  explicit MarkedCode(const std::vector<SuppressionRule>& rules);

  // The code of a file at [begin, end), which is `bias` higher there than in the file. Once for each part of a file.
  void Add(const std::string& path, uint64_t begin, uint64_t end, uint64_t bias);

  // In order, without overlaps; those without marks are left out.
  std::vector<MarkedRange> ranges() const;

  // As the program maps it.
  std::string Encode() const;

 private:
  // What holds for an instance of a function; those that are inlined into it begin with the same.
  struct State {
    uint32_t marks = 0;
    uint32_t instance = 0;
    bool operator==(const State&) const = default;
  };
  // What a function by itself is, by its name and file.
  struct Verdict {
    bool is_own = false;
    bool is_ignored = false;
    bool is_tree = false;
    uint32_t lock_marks = 0;
  };

  Verdict Judge(const Frame& frame) const;
  State StateIn(const State& around, const Verdict& verdict, bool is_inlined);
  // Later words on the same code replace earlier ones.
  void Paint(uint64_t begin, uint64_t end, const State& state);
  void PaintFunctions(SymbolFile& file, const Frame& module, uint64_t begin, uint64_t end, uint64_t bias);

  std::vector<SuppressionRule> rules_;
  bool needs_functions_ = false;
  uint32_t instances_ = 0;
  std::map<uint64_t, State> from_;  // what holds from an address on, to the next one
  std::vector<MarkedRange> modules_;
};

// The parts of the files that a process has mapped for execution, of a text like that of /proc/PID/maps.
struct MappedCode {
  std::string path;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t image = 0;  // where the file begins
};
std::vector<MappedCode> MappedCodeOf(std::string_view maps);

}  // namespace redflag
