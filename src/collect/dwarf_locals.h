// Which variable of a function is at an address in its frame, from DWARF: its parameters and local variables, those of blocks, and those of functions
// that were inlined into it, as far as they are in scope.
//
// Not safe for several threads at once, like libdw beneath it.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>

#include "collect/dwarf_frames.h"
#include "collect/dwarf_variables.h"

namespace redflag {

struct DwarfLocal {
  std::string name;
  bool is_parameter = false;
  std::string file;  // where it is declared; empty: not known
  uint32_t line = 0;
  uint64_t begin = 0;
  uint64_t size = 0;
  DwarfVariables::Field field;  // which part of it is at the address
  int inlined = 0;              // 0: it is the function's own; 1: that of one that was inlined into it, and so on
};

// At `address`, in the frame of `function`, whose code is at `pc` (as DWARF has it). None: no variable is there for certain.
std::optional<DwarfLocal> FindLocal(Dwarf_Die function, uint64_t pc, const StackFrame& frame, uint64_t address);

}  // namespace redflag
