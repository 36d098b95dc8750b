// Which field of a variable is at an offset, from DWARF: the types of global, static and thread-local variables. All units are looked through
// once, when the first variable is asked for; bodies of functions, for what is static in them, only if it was not found elsewhere.
//
// Not safe for several threads at once, like libdw beneath it.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace redflag {

class DwarfVariables {
 public:
  // `dwarf` outlives this. `bias`: what its addresses are smaller by than those asked for.
  DwarfVariables(Dwarf* dwarf, uint64_t bias) : dwarf_(dwarf), bias_(bias) {}

  struct Field {
    std::string path;     // ".limits[3].max"; empty: it is the variable itself
    uint64_t offset = 0;  // in the field
    uint64_t size = 0;    // of the field; 0: not known

    bool operator==(const Field&) const = default;
  };

  // Of the variable, or a part of one that was taken apart, that begins at this address, or if `is_thread_local` so far into the file's thread-local memory. None: the file
  // does not say.
  std::optional<Field> FieldAt(uint64_t begin, bool is_thread_local, uint64_t offset);

  // The same of a variable by its linker's name, if the file does not say where it is, as of thread-local ones on arm64, and no other
  // such variable has that name. Only after FieldAt() found nothing.
  std::optional<Field> FieldOf(const std::string& name, uint64_t offset) const;

  // Of a type.
  static Field FieldIn(Dwarf_Die type, uint64_t offset);

  // The type of a variable or of what it is made of, without const and other names for it; and its size, 0: not known.
  static std::optional<Dwarf_Die> TypeOf(Dwarf_Die& die);
  static uint64_t SizeOf(Dwarf_Die& type);

 private:
  using Place = std::pair<uint64_t, bool>;  // where it begins, and whether that is thread-local

  // A variable, or what the compiler left of it when it took it apart.
  struct Part {
    Dwarf_Die type;   // of the whole variable
    uint64_t offset;  // of the part in it
  };

  void Walk(Dwarf_Die parent, bool in_functions, int depth);
  void Note(Dwarf_Die& variable);
  void NoteName(Dwarf_Die& variable);

  Dwarf* dwarf_;
  uint64_t bias_;
  int walked_ = 0;  // 1: all but functions; 2: all
  std::map<Place, Part> parts_;
  std::map<std::string, std::optional<Dwarf_Die>> unplaced_;  // by name; none: there are several
};

}  // namespace redflag
