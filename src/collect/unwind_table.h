// Where functions begin, by the table for unwinding (.eh_frame_hdr): a stripped file has it, too, and neither names nor debug information otherwise.
//
// The file may be anything: a table that is written in another way than linkers write it is none.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace redflag {

class UnwindTable {
 public:
  explicit UnwindTable(Elf* elf);

  // By addresses of the file; none: before the first of them.
  std::optional<uint64_t> FunctionAt(uint64_t address) const;

 private:
  std::vector<uint64_t> begins_;  // in order
};

}  // namespace redflag
