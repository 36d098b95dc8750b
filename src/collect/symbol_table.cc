#include "collect/symbol_table.h"

#include <algorithm>

namespace redflag {
namespace {

bool IsPlace(const GElf_Sym& symbol) {
  switch (GELF_ST_TYPE(symbol.st_info)) {
    case STT_NOTYPE:
    case STT_OBJECT:
    case STT_FUNC:
    case STT_COMMON:
    case STT_GNU_IFUNC:
      return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS;
    default:
      return false;
  }
}

int RankOf(unsigned char binding) { return binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0; }

}  // namespace

SymbolTable::SymbolTable(Dwfl_Module* module) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || *name == '\0' || IsMappingSymbol(name) || !IsPlace(symbol)) continue;
    symbols_.push_back({.begin = address,
                        .size = symbol.st_size,
                        .name = name,
                        .type = static_cast<unsigned char>(GELF_ST_TYPE(symbol.st_info)),
                        .binding = static_cast<unsigned char>(GELF_ST_BIND(symbol.st_info)),
                        .number = i});
  }
  // The last of equals is found first: a global one, and of several the one that the file has first.
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (RankOf(a.binding) != RankOf(b.binding)) return RankOf(a.binding) < RankOf(b.binding);
    return a.number > b.number;
  });
  uint64_t farthest = 0;
  ends_.reserve(symbols_.size());
  for (const Symbol& symbol : symbols_) {
    farthest = std::max(farthest, symbol.begin + symbol.size);
    ends_.push_back(farthest);
  }
}

const SymbolTable::Symbol* SymbolTable::Find(uint64_t address) const {
  const auto behind = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                       [](uint64_t at, const Symbol& symbol) { return at < symbol.begin; });
  const Symbol* nearest = nullptr;
  for (auto i = static_cast<size_t>(behind - symbols_.begin()); i-- > 0;) {
    const Symbol& symbol = symbols_[i];
    if (address - symbol.begin < symbol.size) return &symbol;
    if (nearest == nullptr) nearest = &symbol;
    if (ends_[i] <= address) break;
  }
  return nearest != nullptr && nearest->size == 0 ? nearest : nullptr;
}

}  // namespace redflag
