// One file of code on disk, an executable or a shared library: what its symbols and its debug information say of an address.
// Addresses are those of the file, as its program headers give them; where it was loaded is the business of collect/modules.h.
//
// Debug information is looked for in the file, and where Debian puts it if it is in a file of its own; never on the network.
// Not safe for several threads at once.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "collect/called_functions.h"
#include "collect/dwarf_frames.h"
#include "collect/dwarf_functions.h"
#include "collect/dwarf_index.h"
#include "collect/dwarf_pointees.h"
#include "collect/dwarf_variables.h"
#include "collect/symbol_table.h"
#include "collect/unwind_table.h"
#include "report/race_report.h"

namespace redflag {

// What tells whether a path still leads to the same bytes.
struct FileIdentity {
  bool exists = false;
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t modified = 0;  // nanoseconds

  auto operator<=>(const FileIdentity&) const = default;
};
FileIdentity IdentityOf(const std::string& path);

class SymbolFile {
 public:
  struct Variable {
    std::string name;
    uint64_t offset;  // of the address in it
    uint64_t size;
    // If it is known: which part of it that is, as behind its name, and the offset in that.
    std::optional<DwarfVariables::Field> field{};

    bool operator==(const Variable&) const = default;
  };

  // An error in words if the file is not there any more, is not what it was, or holds no code.
  static std::variant<std::unique_ptr<SymbolFile>, std::string> Open(const std::string& path,
                                                                     const FileIdentity& identity);

  // Innermost first, without `module` and `offset`; empty: nothing is known.
  std::vector<Frame> FramesAt(uint64_t address);
  std::optional<Variable> VariableAt(uint64_t address);
  // The same of thread-local memory of the program itself: so far from the thread pointer.
  std::optional<Variable> ThreadLocalAt(int64_t offset);
  // What can be in a block of this size that the code at an address accesses, so many bytes at the first of the offsets: objects that fill the
  // block, of the class whose member function the code is, or that pointers which it has can point to.
  struct Object {
    std::string type;
    std::vector<DwarfVariables::Field> fields;  // what is at each of the offsets
    bool is_own = false;                        // the code is a member function of it
  };
  std::vector<Object> ObjectsAt(uint64_t code, uint64_t size, uint64_t bytes, const std::vector<uint64_t>& offsets);
  // Each function and the code of it (collect/dwarf_functions.h). Those of the symbol table come first; what debug information says of the
  // same code comes later, and is more.
  void ForEachFunction(const std::function<void(const FunctionCode&)>& visit);
  // Does the file ask for a function of this name, to be found elsewhere?
  bool Calls(std::string_view name);
  // What is at `address` on a stack, if that is in the frame of the function that made a call that returns to `return_address`. None: it
  // is not, or there is no telling.
  struct Local {
    std::string function;              // whose frame that is; of a variable, the one that has it
    std::optional<Variable> variable;  // none: not known for certain
    uint64_t begin = 0;                // of the variable
    bool is_parameter = false;
    std::string file;  // where it is declared
    uint32_t line = 0;

    bool operator==(const Local&) const = default;
  };
  std::optional<Local> LocalAt(uint64_t return_address, const DwarfFrames::Call& call, uint64_t address);
  // Where on a stack the frame ends of the function that a call returns to, which returns itself to what lies at `slot`.
  std::optional<uint64_t> FrameEndAt(uint64_t return_address, uint64_t slot);
  // The function of another library that was called before a return address; empty: none.
  std::string CalledBefore(uint64_t return_address);
  // Which function that is, where it has no name: which build of the file, and where in it the function begins. Of code that no table lists: where
  // it is itself.
  std::string UnnamedAt(uint64_t address);
  // Is the address in memory that the file is loaded into, code or data?
  bool Covers(uint64_t address) const;

 private:
  using Session = std::unique_ptr<Dwfl, decltype(&dwfl_end)>;

  SymbolFile(Session session, Dwfl_Module* module);
  void NameFunction(uint64_t address, std::string& function);
  const SymbolTable& Symbols();
  void OpenDwarf();

  Session session_;
  Dwfl_Module* module_;
  std::vector<std::pair<uint64_t, uint64_t>> segments_;
  std::optional<SymbolTable> symbols_;
  std::optional<CalledFunctions> called_;
  std::optional<UnwindTable> functions_;
  bool dwarf_tried_ = false;
  std::optional<DwarfIndex> dwarf_;
  std::optional<DwarfVariables> variables_;
  std::map<Dwarf_Off, std::vector<Pointee>> pointees_;  // of the variables of units
  std::optional<DwarfFrames> frames_;
};

}  // namespace redflag
