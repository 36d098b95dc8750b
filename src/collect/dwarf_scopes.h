// What things are called with the classes and namespaces that they are in. Debug information has no way from a thing to what it is in: a unit is
// walked once, and its scopes kept.
//
// Not safe for several threads at once, like libdw beneath it.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace redflag {

// What an instance in code is an instance of: where its name and its scopes are.
Dwarf_Die DeclarationOf(Dwarf_Die die);

const char* LinkageName(Dwarf_Die& die);  // null: it has none

class DwarfScopes {
 public:
  // The name with its namespaces and classes, without parameters.
  std::string ScopedName(Dwarf_Die& die);

  // That of a function, in the words of its linker's name if it has one.
  std::string FunctionName(Dwarf_Die& die);

  // The class that a function is a member of. None: it is no member function.
  std::optional<Dwarf_Die> ClassOf(Dwarf_Die function);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Scope {
    Dwarf_Die die;
    const char* last;  // where the last thing in it stands
    uint32_t parent;   // kNone: the unit
  };
  using Unit = std::vector<Scope>;  // in the order of where they stand

  // Calls visit(scope) for what a declaration is in, the innermost first, until that says "no".
  template <class Visit>
  void ForEachScope(Dwarf_Die declaration, Visit visit);
  const Unit& UnitOf(Dwarf_Die& die);
  static const char* Walk(Dwarf_Die parent, uint32_t index, int depth, Unit& unit);

  std::unordered_map<const void*, Unit> units_;  // by where they begin
};

}  // namespace redflag
