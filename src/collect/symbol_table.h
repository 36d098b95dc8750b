// The symbols of a file, in order: which of them an address is in. libdwfl answers that too, by looking at each.
#pragma once

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace redflag {

// Not a name, but a mark of the assembler: on arm64, "$d" and "$x" say whether data or code follows.
inline bool IsMappingSymbol(const char* name) { return name[0] == '$'; }

class SymbolTable {
 public:
  struct Symbol {
    uint64_t begin = 0;
    uint64_t size = 0;           // 0: it does not say
    const char* name = nullptr;  // the module's
    unsigned char type = STT_NOTYPE;
    unsigned char binding = STB_LOCAL;
    int number = 0;  // in the file
  };

  explicit SymbolTable(Dwfl_Module* module);

  // The innermost one that has the address; of several that are the same, a global one. If there is none, one without a size that is
  // nearer than any other. Null: nothing is known.
  const Symbol* Find(uint64_t address) const;

  const std::vector<Symbol>& all() const { return symbols_; }

 private:
  std::vector<Symbol> symbols_;  // by where they begin
  std::vector<uint64_t> ends_;   // of each and those before it, the farthest
};

}  // namespace redflag
