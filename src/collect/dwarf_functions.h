// All functions of a file by what debug information says of their code: each by itself, and wherever it was inlined. The other way round than
// collect/dwarf_index.h, which is asked about one address.
//
// Not safe for several threads at once.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collect/dwarf_scopes.h"
#include "report/race_report.h"

namespace redflag {

// One instance of a function in code.
struct FunctionCode {
  const Frame* frame =
      nullptr;  // `function` and `file` of it; from debug information, the same pointer for all inlined instances of one
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // [begin, end)
  int depth = 0;                                      // how many others it is inlined into
};

class DwarfFunctions {
 public:
  using Visit = std::function<void(const FunctionCode&)>;
  // Puts in a better name for the function at an address, if one is known, that debug information has no linker's name for.
  using Name = std::function<void(uint64_t address, std::string& name)>;

  // `dwarf` outlives this. `bias`: what its addresses are smaller by.
  DwarfFunctions(Dwarf* dwarf, uint64_t bias, Name name) : dwarf_(dwarf), bias_(bias), name_(std::move(name)) {}

  // Each function before those that are inlined into it, and all of those before the next one.
  void ForEach(const Visit& visit);

 private:
  void Walk(Dwarf_Die scope, int nesting, const Visit& visit);
  void WalkInlined(Dwarf_Die scope, int depth, int nesting, const Visit& visit);
  FunctionCode CodeOf(Dwarf_Die& die, int depth);
  const Frame& InlinedFrame(Dwarf_Die& die);

  Dwarf* dwarf_;
  uint64_t bias_;
  Name name_;
  DwarfScopes scopes_;
  Frame own_;                                       // of the function that stands by itself
  std::unordered_map<const void*, Frame> inlined_;  // by what they are instances of
};

}  // namespace redflag
