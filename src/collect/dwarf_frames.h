// Where on a stack the frame of a function is, while a call that it made is under way: from what the file says of its frames (CFI), and from words
// that were found on the stack. Words that lie on a stack may be left there from calls that ended long ago: what does not fit together is no
// frame.
//
// Not safe for several threads at once, like libdw beneath it.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <optional>

namespace redflag {

// A frame, and what registers hold in its function.
class StackFrame {
 public:
  uint64_t cfa = 0;       // the canonical frame address: it ends there
  uint64_t bottom = 0;    // it has nothing below that ...
  bool is_whole = false;  // ... and all that is not below it
  struct Register {
    unsigned number = 0;
    std::optional<uint64_t> value;
  };
  Register stack_pointer;
  Register frame_pointer;

  std::optional<uint64_t> ValueOf(uint64_t number) const {
    if (number == stack_pointer.number) return stack_pointer.value;
    return number == frame_pointer.number ? frame_pointer.value : std::nullopt;
  }
};

class DwarfFrames {
 public:
  // `module` outlives this.
  explicit DwarfFrames(Dwfl_Module* module);

  // A call on a stack.
  struct Call {
    uint64_t address = 0;             // where it lies what the call returns to
    uint64_t below = 0;               // the word before that
    uint64_t slot = 0;                // where it lies what the function that made the call returns to itself
    std::optional<uint64_t> inner{};  // if it is known: where the frame of the function that was called ends
  };

  // The frame of the function that begins at `entry`, of a call that returns to `return_address` in it. None: this is no such call, or
  // there is no telling.
  std::optional<StackFrame> FrameOf(uint64_t return_address, uint64_t entry, const Call& call) const;

  // Where the frame of a function ends that `return_address` is in, and whose own return address lies at `slot`.
  std::optional<uint64_t> EndOf(uint64_t return_address, uint64_t slot) const;

 private:
  struct Rules {
    unsigned cfa_register = 0;
    uint64_t cfa_offset = 0;     // from that register
    uint64_t return_offset = 0;  // from the CFA, where the return address is
  };
  std::optional<Rules> RulesAt(uint64_t address) const;
  std::optional<uint64_t> PushedBy(uint64_t entry) const;

  Elf* elf_ = nullptr;
  uint64_t elf_bias_ = 0;
  Dwarf_CFI* rules_ = nullptr;
  uint64_t rules_bias_ = 0;
  int machine_ = 0;
};

}  // namespace redflag
