#include "collect/dwarf_locals.h"

#include <dwarf.h>

#include <cstddef>
#include <filesystem>
#include <vector>

namespace redflag {
namespace {

constexpr int kMaxDepth = 200;  // of scopes within each other; more than that is no program

// A location or value of one operation, as it is true at an address of the code. None: it takes more to say where it is, or nothing does.
std::optional<Dwarf_Op> OperationAt(Dwarf_Attribute& attribute, uint64_t pc) {
  Dwarf_Op* operations[2] = {};
  size_t counts[2] = {};
  if (dwarf_getlocation_addr(&attribute, pc, operations, counts, 2) != 1 || counts[0] != 1) return std::nullopt;
  return operations[0][0];
}

std::optional<uint64_t> NumberOf(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(&die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) {
    return std::nullopt;
  }
  return value;
}

// libdw has a function for that, to which the first file of a unit is none.
void FillDeclaration(Dwarf_Die& variable, DwarfLocal& local) {
  const std::optional<uint64_t> number = NumberOf(variable, DW_AT_decl_file);
  const std::optional<uint64_t> line = NumberOf(variable, DW_AT_decl_line);
  Dwarf_Die unit;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (!number || !line || dwarf_diecu(&variable, &unit, nullptr, nullptr) == nullptr) return;
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || *number >= count) return;
  const char* file = dwarf_filesrc(files, *number, nullptr, nullptr);
  if (file == nullptr) return;
  local.file = std::filesystem::path(file).lexically_normal().string();
  local.line = static_cast<uint32_t>(*line);
}

class Finder {
 public:
  Finder(uint64_t pc, const StackFrame& frame, uint64_t address) : pc_(pc), frame_(frame), address_(address) {}

  std::optional<DwarfLocal> Find(Dwarf_Die function) {
    FindBase(function);
    Walk(function, true, 0, 0);
    if (there_.size() == 1) return there_.front();
    if (there_.empty() && at_home_.size() == 1 && elsewhere_ == 0) return at_home_.front();
    return std::nullopt;
  }

 private:
  void FindBase(Dwarf_Die& function) {
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(&function, DW_AT_frame_base, &attribute) == nullptr) return;
    const std::optional<Dwarf_Op> base = OperationAt(attribute, pc_);
    if (!base) return;
    if (base->atom == DW_OP_call_frame_cfa) {
      base_ = frame_.cfa;
    } else if (base->atom >= DW_OP_reg0 && base->atom <= DW_OP_reg31) {
      base_ = frame_.ValueOf(base->atom - DW_OP_reg0);
    } else {
      base_ = PlaceOf(*base);
    }
  }

  // In memory: so far from the base, or from what a register holds.
  std::optional<uint64_t> PlaceOf(const Dwarf_Op& operation) const {
    std::optional<uint64_t> from;
    if (operation.atom == DW_OP_fbreg) {
      from = base_;
    } else if (operation.atom >= DW_OP_breg0 && operation.atom <= DW_OP_breg31) {
      from = frame_.ValueOf(operation.atom - DW_OP_breg0);
    }
    return from ? std::optional(*from + operation.number) : std::nullopt;
  }

  // Where in the frame it is, if it is in memory in some part of its function and never in two places. An optimizer that knows what the
  // variable holds says that, in the other parts, and not where.
  std::optional<uint64_t> HomeOf(Dwarf_Attribute& location) const {
    std::optional<uint64_t> home;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    Dwarf_Op* operations = nullptr;
    size_t count = 0;
    for (ptrdiff_t next = 0;
         (next = dwarf_getlocations(&location, next, &base, &begin, &end, &operations, &count)) > 0;) {
      const std::optional<uint64_t> place = count == 1 ? PlaceOf(operations[0]) : std::nullopt;
      if (place && home && *place != *home) return std::nullopt;
      if (place) home = place;
    }
    return home;
  }

  void Consider(Dwarf_Die& variable, bool is_in_scope, int inlined) {
    Dwarf_Attribute location;
    std::optional<Dwarf_Die> type = DwarfVariables::TypeOf(variable);
    const uint64_t size = type ? DwarfVariables::SizeOf(*type) : 0;
    if (size == 0 || dwarf_attr_integrate(&variable, DW_AT_location, &location) == nullptr) return;
    const auto is_here = [&](std::optional<uint64_t> place) {
      return place && address_ >= *place && address_ - *place < size;
    };
    Dwarf_Op* operations = nullptr;
    size_t count = 0;
    const bool is_known = dwarf_getlocation_addr(&location, pc_, &operations, &count, 1) == 1;
    const std::optional<Dwarf_Op> now = is_in_scope ? OperationAt(location, pc_) : std::nullopt;
    const std::optional<uint64_t> place = now ? PlaceOf(*now) : std::nullopt;
    const std::optional<uint64_t> home = place ? place : HomeOf(location);
    if (!is_here(home)) return;
    const bool is_parameter = dwarf_tag(&variable) == DW_TAG_formal_parameter;
    const bool is_alive = is_known || (is_parameter && inlined == 0);  // parameters are, as long as the function
    if (!is_in_scope || !is_alive) {
      ++elsewhere_;
      return;
    }
    DwarfLocal local;
    const char* name = dwarf_diename(&variable);
    if (name != nullptr) local.name = name;
    local.is_parameter = is_parameter;
    FillDeclaration(variable, local);
    local.begin = *home;
    local.size = size;
    local.field = DwarfVariables::FieldIn(*type, address_ - *home);
    local.inlined = inlined;
    (place ? there_ : at_home_).push_back(std::move(local));
  }

  void Walk(Dwarf_Die scope, bool is_in_scope, int inlined, int depth) {
    Dwarf_Die child;
    if (depth > kMaxDepth || dwarf_child(&scope, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
        Consider(child, is_in_scope, inlined);
      } else if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                 tag == DW_TAG_catch_block) {
        const bool is_in = is_in_scope && dwarf_haspc(&child, pc_) == 1;
        Walk(child, is_in, tag == DW_TAG_inlined_subroutine ? inlined + 1 : inlined, depth + 1);
      }
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  uint64_t pc_;
  const StackFrame& frame_;
  uint64_t address_;
  std::optional<uint64_t> base_;
  std::vector<DwarfLocal> there_;    // at the address, and in scope
  std::vector<DwarfLocal> at_home_;  // the same of those of which only the value is known now
  int elsewhere_ = 0;                // those that are there in other parts of the function
};

}  // namespace

std::optional<DwarfLocal> FindLocal(Dwarf_Die function, uint64_t pc, const StackFrame& frame, uint64_t address) {
  std::optional<DwarfLocal> found = Finder(pc, frame, address).Find(function);
  if (found && found->name.empty()) found.reset();
  return found;
}

}  // namespace redflag
