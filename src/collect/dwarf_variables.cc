#include "collect/dwarf_variables.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace redflag {
namespace {

constexpr int kMaxDepth = 64;  // of scopes and types within each other; more than that is no program

}  // namespace

std::optional<Dwarf_Die> DwarfVariables::TypeOf(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (dwarf_attr_integrate(&die, DW_AT_type, &attribute) == nullptr || dwarf_formref_die(&attribute, &type) == nullptr)
    return std::nullopt;
  Dwarf_Die peeled;
  return dwarf_peel_type(&type, &peeled) == 0 ? peeled : type;
}

uint64_t DwarfVariables::SizeOf(Dwarf_Die& type) {
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
}

namespace {

// In bytes from the beginning of the structure. None: that has to be found out at run time, or it has no place.
std::optional<uint64_t> PlaceOf(Dwarf_Die& member) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&member, DW_AT_data_member_location, &attribute) == nullptr) return std::nullopt;  // a static one
  if (dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
  return value;
}

// How many elements each dimension has; 0: not known.
std::vector<uint64_t> DimensionsOf(Dwarf_Die& array) {
  std::vector<uint64_t> dimensions;
  Dwarf_Die child;
  if (dwarf_child(&array, &child) != 0) return dimensions;
  do {
    if (dwarf_tag(&child) != DW_TAG_subrange_type) continue;
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    const auto has = [&](unsigned name) {
      return dwarf_attr(&child, name, &attribute) != nullptr && dwarf_formudata(&attribute, &value) == 0;
    };
    dimensions.push_back(has(DW_AT_count) ? value : has(DW_AT_upper_bound) ? value + 1 : 0);
  } while (dwarf_siblingof(&child, &child) == 0);
  return dimensions;
}

// "[1][2]", of the element that is so many behind the first.
std::string IndexIn(Dwarf_Die& array, uint64_t element) {
  std::string index;
  const std::vector<uint64_t> dimensions = DimensionsOf(array);
  for (size_t i = dimensions.size(); i-- > 1 && dimensions[i] != 0;) {
    index.insert(0, fmt::format("[{}]", element % dimensions[i]));
    element /= dimensions[i];
  }
  return index.insert(0, fmt::format("[{}]", element));
}

// Names of the implementation: what is in a std::mutex is not the program's.
bool IsReserved(std::string_view name) { return name.starts_with("__") || name.starts_with("_M_"); }

// One step into a type: what is at `offset` of it. False: nothing that has parts, or parts that the program has names for.
bool StepInto(Dwarf_Die& type, uint64_t& offset, std::string& path) {
  const int tag = dwarf_tag(&type);
  if (tag == DW_TAG_array_type) {
    std::optional<Dwarf_Die> element = DwarfVariables::TypeOf(type);
    const uint64_t size = element ? DwarfVariables::SizeOf(*element) : 0;
    if (size == 0) return false;
    path += IndexIn(type, offset / size);
    offset %= size;
    type = *element;
    return true;
  }
  if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type) return false;  // who knows which member of a union
  Dwarf_Die member;
  if (dwarf_child(&type, &member) != 0) return false;
  do {
    const int kind = dwarf_tag(&member);
    if (kind != DW_TAG_member && kind != DW_TAG_inheritance) continue;
    Dwarf_Attribute bits;
    if (dwarf_attr(&member, DW_AT_bit_size, &bits) != nullptr) continue;  // others may have the same byte
    const std::optional<uint64_t> place = PlaceOf(member);
    std::optional<Dwarf_Die> inner = DwarfVariables::TypeOf(member);
    if (!place || !inner || offset < *place || offset - *place >= DwarfVariables::SizeOf(*inner)) continue;
    const char* name = kind == DW_TAG_member ? dwarf_diename(&member) : nullptr;  // bases have the names of their types
    if (name != nullptr && IsReserved(name)) return false;
    if (name != nullptr) path.append(".").append(name);
    offset -= *place;
    type = *inner;
    return true;
  } while (dwarf_siblingof(&member, &member) == 0);
  return false;  // padding
}

// The address that an operation of a location says, itself or through the table of addresses.
std::optional<uint64_t> AddressOf(Dwarf_Attribute& location, const Dwarf_Op& operation) {
  if (operation.atom == DW_OP_addr) return operation.number;
  Dwarf_Attribute indirect;
  Dwarf_Addr address = 0;
  if (dwarf_getlocation_attr(&location, &operation, &indirect) != 0 || dwarf_formaddr(&indirect, &address) != 0)
    return std::nullopt;
  return address;
}

}  // namespace

void DwarfVariables::Note(Dwarf_Die& variable) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  const std::optional<Dwarf_Die> type = TypeOf(variable);
  if (!type) return;
  if (dwarf_attr_integrate(&variable, DW_AT_location, &attribute) == nullptr) return;
  if (dwarf_getlocation(&attribute, &operations, &count) != 0 || count == 0) return;
  const int last = operations[count - 1].atom;
  if (count == 2 && (last == DW_OP_GNU_push_tls_address || last == DW_OP_form_tls_address)) {
    parts_.try_emplace({operations[0].number, true}, Part{*type, 0});
    return;
  }
  const auto note = [&](const Dwarf_Op& place, uint64_t offset) {
    if (const std::optional<uint64_t> address = AddressOf(attribute, place))
      parts_.try_emplace({*address + bias_, false}, Part{*type, offset});
  };
  if (count == 1) return note(operations[0], 0);
  // A variable that the compiler took apart is a list of places, each with the size of its part; parts that are gone have no place.
  uint64_t offset = 0;
  for (size_t i = 0; i != count; ++i) {
    if (operations[i].atom != DW_OP_piece) continue;
    if (i != 0 && operations[i - 1].atom != DW_OP_piece) note(operations[i - 1], offset);
    offset += operations[i].number;
  }
}

void DwarfVariables::NoteName(Dwarf_Die& variable) {
  Dwarf_Attribute attribute;
  for (const unsigned int elsewhere : {DW_AT_location, DW_AT_const_value}) {
    if (dwarf_hasattr_integrate(&variable, elsewhere) != 0) return;
  }
  if (dwarf_hasattr(&variable, DW_AT_declaration) != 0) return;
  const char* name = nullptr;
  if (dwarf_attr_integrate(&variable, DW_AT_linkage_name, &attribute) != nullptr) name = dwarf_formstring(&attribute);
  if (name == nullptr) name = dwarf_diename(&variable);
  if (name == nullptr) return;
  const std::optional<Dwarf_Die> type = TypeOf(variable);
  if (!type) return;
  const auto [place, is_new] = unplaced_.try_emplace(name, *type);
  if (!is_new) place->second.reset();
}

std::optional<DwarfVariables::Field> DwarfVariables::FieldOf(const std::string& name, uint64_t offset) const {
  const auto found = unplaced_.find(name);
  if (found == unplaced_.end() || !found->second) return std::nullopt;
  return FieldIn(*found->second, offset);
}

void DwarfVariables::Walk(Dwarf_Die parent, bool in_functions, int depth) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_variable:
        Note(child);
        if (!in_functions) NoteName(child);  // once, and not of locals that were optimized away
        break;
      case DW_TAG_namespace:
        Walk(child, in_functions, depth + 1);
        break;
      case DW_TAG_subprogram:
      case DW_TAG_lexical_block:
      case DW_TAG_inlined_subroutine:
        if (in_functions) Walk(child, in_functions, depth + 1);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::optional<DwarfVariables::Field> DwarfVariables::FieldAt(uint64_t begin, bool is_thread_local, uint64_t offset) {
  auto found = parts_.find({begin, is_thread_local});
  for (; found == parts_.end() && walked_ < 2; found = parts_.find({begin, is_thread_local})) {
    ++walked_;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die, contents;
    uint8_t type = 0;
    while (dwarf_get_units(dwarf_, unit, &unit, nullptr, &type, &die, &contents) == 0) {
      Walk(type == DW_UT_skeleton ? contents : die, walked_ == 2, 0);
    }
  }
  if (found == parts_.end()) return std::nullopt;
  return FieldIn(found->second.type, found->second.offset + offset);
}

DwarfVariables::Field DwarfVariables::FieldIn(Dwarf_Die type, uint64_t offset) {
  Field field{.path = {}, .offset = offset, .size = SizeOf(type)};
  Field at = field;
  for (int depth = 0; depth < kMaxDepth && StepInto(type, at.offset, at.path); ++depth) {
    at.size = SizeOf(type);
    if (at.path.size() != field.path.size()) field = at;  // bases and what has no name are parts of what has
  }
  return field;
}

}  // namespace redflag
