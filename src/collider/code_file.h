// The code of an executable or a shared library on disk: its functions, as the table for unwinding (.eh_frame_hdr) lists them. That table is
// there in stripped files too, and what it covers is code, which not all of an executable segment is. Statically linked programs have none of it, and
// are read entry by entry (.eh_frame).
//
// Addresses are those of the file. The file may be anything: nothing in it is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "collider/decoder.h"

namespace redflag {

class CodeFile {
 public:
  struct Segment {
    uint64_t address, size;  // of what is in the file
    uint64_t offset;         // in the file
    bool executable;
    bool writable;
  };
  struct Range {
    uint64_t begin, end;
    auto operator<=>(const Range&) const = default;
  };

  // An error in words if that is no program or library for x86-64 or arm64.
  static std::variant<CodeFile, std::string> Open(const std::string& path);

  Machine machine() const { return machine_; }
  const std::string& build_id() const { return build_id_; }  // in hexadecimal; empty: it has none
  const std::vector<Segment>& segments() const { return segments_; }
  // In order, none overlaps another.
  const std::vector<Range>& functions() const { return functions_; }
  // The bytes from an address to the end of its segment; empty: there are none in the file.
  std::span<const std::byte> At(uint64_t address) const;
  // Are these bytes the same for as long as the program runs: in a part that is not writable, or is so only for the loader?
  bool IsConstant(const Range& range) const;
  // Of a section by name; empty: there is none. Its address.
  std::pair<std::span<const std::byte>, uint64_t> Section(std::string_view name) const;

 private:
  CodeFile() = default;
  std::string Read();
  void ReadNotes(uint64_t offset, uint64_t size);
  void ReadFunctions(uint64_t table_address);
  void ReadFrames();
  void SortFunctions();
  bool ReadFunction(uint64_t address, Range& range) const;
  template <class T>
  bool Take(uint64_t offset, T& to) const;

  std::vector<std::byte> bytes_;
  Machine machine_{};
  std::string build_id_;
  std::vector<Segment> segments_;
  Range loader_only_{};  // writable until it is relocated
  std::vector<Range> functions_;
};

}  // namespace redflag
