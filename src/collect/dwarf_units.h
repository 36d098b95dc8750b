// The units of a file's debug information that have code or data of their own.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>

namespace redflag {

// Calls visit(unit, contents) for each; `contents` is in another file, if the debug information is split, and else the same.
template <class Visit>
void ForEachUnit(Dwarf* dwarf, Visit visit) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Half version = 0;
  uint8_t type = 0;
  Dwarf_Die die;
  Dwarf_Die split;
  while (dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, &split) == 0) {
    if (type == DW_UT_type || type == DW_UT_partial || dwarf_tag(&die) == DW_TAG_invalid) continue;
    const bool is_split = type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid;
    visit(die, is_split ? split : die);
  }
}

}  // namespace redflag
