// Which function of another library a call was to: the instruction before a return address, the stub of the linker that it leads to (PLT), the
// word that the stub jumps through (GOT), and the symbol that the dynamic linker fills that word for. It needs no debug information.
//
// ThreadSanitizer shows the functions of libc that it stands in for as frames of their own, `#0 memcpy`. Our runtime knows the place that
// called; this tells what was called there.
//
// Not safe for several threads at once.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace redflag {

class CalledFunctions {
 public:
  // Of a file that outlives this.
  explicit CalledFunctions(Elf* elf);

  // The demangled name; empty: the call before this address (of the file) is not one to another library.
  std::string Before(uint64_t return_address) const;

 private:
  std::optional<uint32_t> WordAt(uint64_t address) const;
  std::optional<uint64_t> X86Slot(uint64_t return_address) const;
  std::optional<uint64_t> Arm64Slot(uint64_t return_address) const;

  Elf* elf_;
  bool is_arm64_ = false;
  std::unordered_map<uint64_t, std::string> symbols_;  // by the address of the word
};

}  // namespace redflag
