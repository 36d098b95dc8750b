// Code whose memory is its own business: an allocator that the program brought, the dynamic linker. Found once, at the start.
#pragma once

#include <sys/auxv.h>

#include <cstdint>

#include "runtime/environment.h"

namespace redflag::rt {

// The code of one file, if it is not libc.
class CodeOfFile {
 public:
  // `place` is in the file.
  void Find(uint64_t place) {
    begin_ = place;
    ForEachMappedFile(
        [](const MappedFile& file, void* data) {
          auto& self = *static_cast<CodeOfFile*>(data);
          const auto libc = reinterpret_cast<uint64_t>(&getauxval);
          if (self.begin_ < file.begin || self.begin_ >= file.end) return true;
          self.bytes_ = libc - file.begin < file.end - file.begin ? 0 : file.end - file.begin;
          self.begin_ = file.begin;
          return false;
        },
        this);
  }
  bool Has(uint64_t pc) const { return pc - begin_ < bytes_; }

 private:
  uint64_t begin_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace redflag::rt
