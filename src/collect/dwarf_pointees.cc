#include "collect/dwarf_pointees.h"

#include <dwarf.h>

#include <optional>
#include <string_view>
#include <utility>

namespace redflag {
namespace {

constexpr int kMaxDepth = 64;  // of scopes and names within each other; more than that is no program

std::optional<Dwarf_Die> TypeIn(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (dwarf_attr_integrate(&die, DW_AT_type, &attribute) == nullptr || dwarf_formref_die(&attribute, &type) == nullptr)
    return std::nullopt;
  return type;
}

// Without const and other names for it. `name`: the last of these names.
std::optional<Dwarf_Die> Bare(DwarfScopes& scopes, std::optional<Dwarf_Die> type, std::string& name) {
  for (int depth = 0; type && depth < kMaxDepth; ++depth) {
    switch (dwarf_tag(&*type)) {
      case DW_TAG_typedef:
        name = scopes.ScopedName(*type);
        break;
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_restrict_type:
        break;
      default:
        return type;
    }
    type = TypeIn(*type);
  }
  return std::nullopt;
}

// The T of std::unique_ptr<T> and its like.
std::optional<Dwarf_Die> TypeInSmartPointer(Dwarf_Die& type) {
  const char* own = dwarf_diename(&type);
  const std::string_view name = own == nullptr ? "" : own;
  if (!name.starts_with("unique_ptr<") && !name.starts_with("shared_ptr<")) return std::nullopt;
  Dwarf_Die child;
  if (dwarf_child(&type, &child) != 0) return std::nullopt;
  do {
    if (dwarf_tag(&child) == DW_TAG_template_type_parameter) return TypeIn(child);
  } while (dwarf_siblingof(&child, &child) == 0);
  return std::nullopt;
}

void Note(DwarfScopes& scopes, Dwarf_Die& variable, std::vector<Pointee>& pointees) {
  std::string name;
  std::optional<Dwarf_Die> type = Bare(scopes, TypeIn(variable), name);
  for (int depth = 0; type && depth < 3; ++depth) {  // a reference to a smart pointer, a pointer to a pointer
    std::optional<Dwarf_Die> to;
    switch (dwarf_tag(&*type)) {
      case DW_TAG_pointer_type:
      case DW_TAG_reference_type:
      case DW_TAG_rvalue_reference_type:
        to = TypeIn(*type);
        break;
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
        if (depth != 0) {
          if (dwarf_diename(&*type) != nullptr) name = scopes.ScopedName(*type);
          if (!name.empty() && dwarf_bytesize(&*type) > 0) pointees.push_back({*type, name});
        }
        to = TypeInSmartPointer(*type);
        break;
      default:
        return;
    }
    name.clear();
    type = Bare(scopes, to, name);
  }
}

void Walk(DwarfScopes& scopes, Dwarf_Die scope, int depth, std::vector<Pointee>& pointees) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&scope, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_formal_parameter:
      case DW_TAG_variable:
        Note(scopes, child, pointees);
        break;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
      case DW_TAG_namespace:
        Walk(scopes, child, depth + 1, pointees);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace

std::vector<Pointee> PointeesIn(DwarfScopes& scopes, Dwarf_Die function_or_unit) {
  std::vector<Pointee> pointees;
  Walk(scopes, function_or_unit, 0, pointees);
  return pointees;
}

}  // namespace redflag
