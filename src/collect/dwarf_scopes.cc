#include "collect/dwarf_scopes.h"

#include <dwarf.h>

#include <algorithm>

#include "collect/dwarf_index.h"

namespace redflag {
namespace {

constexpr int kMaxDepth = 200;  // of scopes within each other; more than that is no program

const char* PlaceOf(const Dwarf_Die& die) { return static_cast<const char*>(die.addr); }

}  // namespace

const char* LinkageName(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(&die, name, &attribute) != nullptr) return dwarf_formstring(&attribute);
  }
  return nullptr;
}

Dwarf_Die DeclarationOf(Dwarf_Die die) {
  Dwarf_Attribute attribute;
  Dwarf_Die origin;
  for (int steps = 0; steps < 4; ++steps) {
    if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == nullptr &&
        dwarf_attr(&die, DW_AT_specification, &attribute) == nullptr) {
      break;
    }
    if (dwarf_formref_die(&attribute, &origin) == nullptr) break;
    die = origin;
  }
  return die;
}

// Where the last thing stands that was found.
const char* DwarfScopes::Walk(Dwarf_Die parent, uint32_t index, int depth, Unit& unit) {
  const char* last = PlaceOf(parent);
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return last;
  do {
    last = PlaceOf(child);
    if (dwarf_haschildren(&child) == 0) continue;
    const auto scope = static_cast<uint32_t>(unit.size());
    unit.push_back({.die = child, .last = last, .parent = index});
    last = Walk(child, scope, depth + 1, unit);
    unit[scope].last = last;
  } while (dwarf_siblingof(&child, &child) == 0);
  return last;
}

const DwarfScopes::Unit& DwarfScopes::UnitOf(Dwarf_Die& die) {
  static const Unit kNoScopes;
  Dwarf_Die root;
  if (dwarf_diecu(&die, &root, nullptr, nullptr) == nullptr) return kNoScopes;
  const auto [known, is_new] = units_.try_emplace(root.addr);
  if (is_new) Walk(root, kNone, 0, known->second);
  return known->second;
}

template <class Visit>
void DwarfScopes::ForEachScope(Dwarf_Die declaration, Visit visit) {
  const Unit& unit = UnitOf(declaration);
  const char* place = PlaceOf(declaration);
  const auto after =
      std::partition_point(unit.begin(), unit.end(), [&](const Scope& scope) { return PlaceOf(scope.die) < place; });
  auto index = after == unit.begin() ? kNone : static_cast<uint32_t>(after - unit.begin() - 1);
  while (index != kNone) {
    const Scope& scope = unit[index];
    if (place <= scope.last && !visit(scope.die)) return;
    index = scope.parent;
  }
}

// GCC gives functions of one file no linker's name.
std::string DwarfScopes::ScopedName(Dwarf_Die& die) {
  Dwarf_Die declaration = DeclarationOf(die);
  const char* own = dwarf_diename(&declaration);
  std::string name = own == nullptr ? "" : own;
  ForEachScope(declaration, [&](Dwarf_Die scope) {
    const int tag = dwarf_tag(&scope);
    if (tag == DW_TAG_lexical_block) return true;
    const char* called = dwarf_diename(&scope);
    if (called == nullptr) called = tag == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous)";
    name.insert(0, "::").insert(0, called);
    return true;
  });
  return name;
}

std::string DwarfScopes::FunctionName(Dwarf_Die& die) {
  const char* linkage = LinkageName(die);
  return linkage != nullptr ? Demangle(linkage) : ScopedName(die);
}

std::optional<Dwarf_Die> DwarfScopes::ClassOf(Dwarf_Die function) {
  std::optional<Dwarf_Die> found;
  ForEachScope(DeclarationOf(function), [&](Dwarf_Die scope) {
    const int tag = dwarf_tag(&scope);
    if (tag == DW_TAG_class_type || tag == DW_TAG_structure_type) found = scope;
    return false;
  });
  return found;
}

}  // namespace redflag
