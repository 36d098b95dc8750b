// What the pointers of a function point to, as far as their types say: of its parameters and local variables, and of the variables of the unit
// that it is in. Used to tell what is in a block of the heap, which does not say it itself.
#pragma once

#include <elfutils/libdw.h>

#include <string>
#include <vector>

#include "collect/dwarf_scopes.h"

namespace redflag {

// A structure or a class that something points to.
struct Pointee {
  Dwarf_Die type;
  std::string name;  // its own, or that of the typedef that is the only name it has
};

// Of the parameters and variables of a function, or of an instance of one that was inlined, or of the variables that all functions of a unit
// see. Pointers, references, std::unique_ptr and std::shared_ptr.
std::vector<Pointee> PointeesIn(DwarfScopes& scopes, Dwarf_Die function_or_unit);

}  // namespace redflag
