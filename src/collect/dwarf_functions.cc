#include "collect/dwarf_functions.h"

#include <dwarf.h>

#include <cstddef>

#include "collect/dwarf_index.h"
#include "collect/dwarf_units.h"

namespace redflag {
namespace {

constexpr int kMaxNesting = 200;

Frame FrameOf(DwarfScopes& scopes, Dwarf_Die& die) {
  Frame frame;
  frame.function = scopes.FunctionName(die);
  frame.file = CleanPath(dwarf_decl_file(&die));
  return frame;
}

template <class Visit>
void ForEachChild(Dwarf_Die& parent, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    visit(child);
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace

void DwarfFunctions::ForEach(const Visit& visit) {
  ForEachUnit(dwarf_, [&](const Dwarf_Die&, const Dwarf_Die& contents) { Walk(contents, 0, visit); });
}

void DwarfFunctions::Walk(Dwarf_Die scope, int nesting, const Visit& visit) {
  if (nesting > kMaxNesting) return;
  ForEachChild(scope, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        if (const FunctionCode code = CodeOf(child, 0); !code.ranges.empty()) {
          visit(code);
          WalkInlined(child, 1, nesting, visit);
        }
        [[fallthrough]];
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_lexical_block:
        Walk(child, nesting + 1, visit);
        break;
      default:
        break;
    }
  });
}

void DwarfFunctions::WalkInlined(Dwarf_Die scope, int depth, int nesting, const Visit& visit) {
  if (nesting > kMaxNesting) return;
  ForEachChild(scope, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_inlined_subroutine:
        visit(CodeOf(child, depth));
        WalkInlined(child, depth + 1, nesting + 1, visit);
        break;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        WalkInlined(child, depth, nesting + 1, visit);
        break;
      default:
        break;
    }
  });
}

FunctionCode DwarfFunctions::CodeOf(Dwarf_Die& die, int depth) {
  FunctionCode code;
  code.depth = depth;
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t next = 0;
  while ((next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0) {
    if (begin != 0 && begin < end)
      code.ranges.emplace_back(begin + bias_, end + bias_);  // at 0: thrown away by the linker
  }
  if (depth != 0) {
    code.frame = &InlinedFrame(die);
  } else if (!code.ranges.empty()) {
    own_ = FrameOf(scopes_, die);
    if (LinkageName(die) == nullptr) name_(code.ranges.front().first, own_.function);
    code.frame = &own_;
  }
  return code;
}

const Frame& DwarfFunctions::InlinedFrame(Dwarf_Die& die) {
  const auto [found, is_new] = inlined_.try_emplace(DeclarationOf(die).addr);
  if (is_new) found->second = FrameOf(scopes_, die);
  return found->second;
}

}  // namespace redflag
