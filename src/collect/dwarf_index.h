// Where in the source an address of a file is, from DWARF 2 to 5. Works from the ranges of the compilation units and functions
// themselves: clang writes no .debug_aranges. Built on demand, a unit at a time; each is walked once.
//
// Not safe for several threads at once, like libdw beneath it.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/dwarf_scopes.h"
#include "report/race_report.h"

namespace redflag {

class DwarfIndex {
 public:
  // `dwarf` outlives the index. `bias`: what its addresses are smaller by than those asked for.
  DwarfIndex(Dwarf* dwarf, uint64_t bias);

  // The functions whose code this is: the innermost first, each but the last inlined into the next. Only `function`, `file`,
  // `line`, `column` and `inlined` are filled in. Empty: the file does not say.
  struct Found {
    std::vector<Frame> frames;
    bool is_full_name =
        false;  // of the outermost; else DWARF had no linker's name for it, and the symbol table may know better
  };
  Found Find(uint64_t address);

  // The same functions in the words of debug information, in the same order.
  std::vector<Dwarf_Die> FunctionsAt(uint64_t address);

  // The function that it is in, as debug information has it; and the address as that has it. None: the file does not say.
  struct Outermost {
    Dwarf_Die die;
    uint64_t address;
    uint64_t begin;  // of the part of its code that it is in
  };
  std::optional<Outermost> FunctionOf(uint64_t address);

  DwarfScopes& scopes() { return scopes_; }

 private:
  struct Function {
    uint64_t begin, end;
    Dwarf_Die die;
  };
  struct Unit {
    Dwarf_Die die;       // of the unit as it stands in the file
    Dwarf_Die contents;  // the same, or that of the .dwo file
    bool walked = false;
    std::vector<Function> functions;  // by `begin`
  };
  struct Range {
    uint64_t begin, end;
    uint32_t unit;
  };

  void AddRanges(Dwarf_Die& die, uint32_t unit);
  void Walk(Unit& unit, Dwarf_Die parent, int depth);
  Unit* UnitAt(uint64_t address);
  static const Function* FunctionAt(Unit& unit, uint64_t address);
  static void FindInlined(Dwarf_Die scope, uint64_t address, int depth, std::vector<Dwarf_Die>& chain);
  static void FillPosition(Unit& unit, uint64_t address, uint64_t function_begin, Frame& frame);
  static void FillCallSite(Unit& unit, Dwarf_Die& inlined, Frame& frame);

  uint64_t bias_;
  std::vector<Unit> units_;
  std::vector<Range> ranges_;  // by `begin`
  DwarfScopes scopes_;
};

// The name of a file in its shortest form; null: empty.
std::string CleanPath(const char* path);

// A linker's name in the words of the source; as it is if it has none.
std::string Demangle(const char* name);

}  // namespace redflag
