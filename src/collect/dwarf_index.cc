#include "collect/dwarf_index.h"

#include <cxxabi.h>
#include <dwarf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "collect/dwarf_units.h"

namespace redflag {
namespace {

constexpr int kMaxDepth = 200;  // of scopes within each other; more than that is no program

uint32_t Number(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) return 0;
  return static_cast<uint32_t>(value);
}

}  // namespace

std::string CleanPath(const char* path) {
  return path == nullptr ? std::string() : std::filesystem::path(path).lexically_normal().string();
}

namespace {

template <class Visit>
void ForEachChild(Dwarf_Die& parent, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    visit(child);
  } while (dwarf_siblingof(&child, &child) == 0);
}

template <class Visit>
void ForEachRange(Dwarf_Die& die, Visit visit) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t next = 0;
  while ((next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0) {
    if (begin != 0 && begin < end) visit(begin, end);  // at 0: the linker threw it away
  }
}

bool HasRanges(Dwarf_Die& die) {
  return dwarf_hasattr(&die, DW_AT_low_pc) != 0 || dwarf_hasattr(&die, DW_AT_ranges) != 0;
}

template <class Ranges>
auto Covering(Ranges& ranges, uint64_t address) -> decltype(ranges.data()) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](uint64_t wanted, const auto& range) { return wanted < range.begin; });
  if (after == ranges.begin() || address >= (--after)->end) return nullptr;
  return &*after;
}

}  // namespace

std::string Demangle(const char* name) {
  if (name[0] != '_' || name[1] != 'Z') return name;
  const std::string plain(name, std::strcspn(name, "."));  // the rest says which clone it is
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : std::string(name);
}

DwarfIndex::DwarfIndex(Dwarf* dwarf, uint64_t bias) : bias_(bias) {
  ForEachUnit(dwarf, [&](Dwarf_Die die, const Dwarf_Die& contents) {
    units_.push_back(Unit{.die = die, .contents = contents, .walked = false, .functions = {}});
    AddRanges(die, static_cast<uint32_t>(units_.size() - 1));
  });
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

// A unit that gives no ranges of its own has those of its functions.
void DwarfIndex::AddRanges(Dwarf_Die& die, uint32_t unit) {
  if (HasRanges(die)) {
    ForEachRange(die, [&](uint64_t begin, uint64_t end) { ranges_.push_back({begin, end, unit}); });
    return;
  }
  Unit& owner = units_[unit];
  Walk(owner, owner.contents, 0);
  for (const Function& function : owner.functions) ranges_.push_back({function.begin, function.end, unit});
}

// Functions are found wherever they stand: clang puts them into namespaces, GCC puts those of local classes into functions.
void DwarfIndex::Walk(Unit& unit, Dwarf_Die parent, int depth) {
  unit.walked = true;
  if (depth > kMaxDepth) return;
  ForEachChild(parent, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        ForEachRange(child, [&](uint64_t begin, uint64_t end) { unit.functions.push_back({begin, end, child}); });
        [[fallthrough]];
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_lexical_block:
        Walk(unit, child, depth + 1);
        break;
      default:
        break;
    }
  });
  if (depth != 0) return;
  std::sort(unit.functions.begin(), unit.functions.end(), [](const Function& a, const Function& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
}

DwarfIndex::Unit* DwarfIndex::UnitAt(uint64_t address) {
  const Range* range = Covering(ranges_, address);
  return range == nullptr ? nullptr : &units_[range->unit];
}

const DwarfIndex::Function* DwarfIndex::FunctionAt(Unit& unit, uint64_t address) {
  return Covering(unit.functions, address);
}

DwarfIndex::Found DwarfIndex::Find(uint64_t address) {
  const uint64_t wanted = address - bias_;
  Unit* unit = UnitAt(wanted);
  if (unit == nullptr) return {};
  if (!unit->walked) Walk(*unit, unit->contents, 0);
  const Function* function = FunctionAt(*unit, wanted);

  Found found{.frames = std::vector<Frame>(1), .is_full_name = false};
  std::vector<Frame>& frames = found.frames;
  FillPosition(*unit, wanted, function == nullptr ? wanted : function->begin, frames.back());
  if (function == nullptr) return found;
  std::vector<Dwarf_Die> inlined;  // outermost first
  FindInlined(function->die, wanted, 0, inlined);
  for (; !inlined.empty(); inlined.pop_back()) {
    frames.back().function = scopes_.FunctionName(inlined.back());
    frames.back().inlined = true;
    FillCallSite(*unit, inlined.back(), frames.emplace_back());
  }
  Dwarf_Die die = function->die;
  frames.back().function = scopes_.FunctionName(die);
  found.is_full_name = LinkageName(die) != nullptr;
  return found;
}

std::optional<DwarfIndex::Outermost> DwarfIndex::FunctionOf(uint64_t address) {
  const uint64_t wanted = address - bias_;
  Unit* unit = UnitAt(wanted);
  if (unit == nullptr) return std::nullopt;
  if (!unit->walked) Walk(*unit, unit->contents, 0);
  const Function* function = FunctionAt(*unit, wanted);
  if (function == nullptr) return std::nullopt;
  return Outermost{.die = function->die, .address = wanted, .begin = function->begin};
}

std::vector<Dwarf_Die> DwarfIndex::FunctionsAt(uint64_t address) {
  const std::optional<Outermost> function = FunctionOf(address);
  if (!function) return {};
  std::vector<Dwarf_Die> functions = {function->die};
  FindInlined(function->die, function->address, 0, functions);
  std::reverse(functions.begin(), functions.end());
  return functions;
}

void DwarfIndex::FindInlined(Dwarf_Die scope, uint64_t address, int depth, std::vector<Dwarf_Die>& chain) {
  if (depth > kMaxDepth) return;
  bool found = false;
  ForEachChild(scope, [&](Dwarf_Die& child) {
    if (found) return;
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
        tag != DW_TAG_catch_block) {
      return;
    }
    if (HasRanges(child) && dwarf_haspc(&child, address) != 1) return;
    const size_t before = chain.size();
    if (tag == DW_TAG_inlined_subroutine) chain.push_back(child);
    FindInlined(child, address, depth + 1, chain);
    found = chain.size() > before;
  });
}

void DwarfIndex::FillPosition(Unit& unit, uint64_t address, uint64_t function_begin, Frame& frame) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit.die, &lines, &count) != 0 || count == 0) return;
  const auto address_of = [&](size_t index) {
    Dwarf_Addr at = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, index), &at);
    return at;
  };
  size_t low = 0;
  size_t high = count;  // the first line after the address
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (address_of(middle) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  // Code that belongs to no line, as compilers say for what they merged, is shown at the line before it.
  for (size_t index = high; index-- > 0 && (index + 1 == high || address_of(index) >= function_begin);) {
    Dwarf_Line* line = dwarf_onesrcline(lines, index);
    bool is_end = false;
    int number = 0;
    int column = 0;
    if (dwarf_lineendsequence(line, &is_end) != 0 || is_end || dwarf_lineno(line, &number) != 0) return;
    if (number == 0) continue;
    if (dwarf_linecol(line, &column) != 0) column = 0;
    frame.file = CleanPath(dwarf_linesrc(line, nullptr, nullptr));
    frame.line = static_cast<uint32_t>(number);
    frame.column = static_cast<uint32_t>(column);
    return;
  }
}

void DwarfIndex::FillCallSite(Unit& unit, Dwarf_Die& inlined, Frame& frame) {
  frame.line = Number(inlined, DW_AT_call_line);
  frame.column = Number(inlined, DW_AT_call_column);
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  const uint32_t file = Number(inlined, DW_AT_call_file);
  if (dwarf_getsrcfiles(&unit.die, &files, &count) != 0 || file >= count) return;
  frame.file = CleanPath(dwarf_filesrc(files, file, nullptr, nullptr));
}

}  // namespace redflag
