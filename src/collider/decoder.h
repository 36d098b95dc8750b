// What the instructions of a program do to memory. One decoder for each architecture, both on every host: what a program for the other machine
// does can be looked at here too.
//
// Nothing in this folder knows of processes: a sampler of user programs and one of a kernel can both be built on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "events/memory_access.h"

namespace redflag {

enum class Machine : uint8_t { kX86_64, kArm64 };

struct Instruction {
  // What the search for accesses has to know of an instruction besides.
  enum class Role : uint8_t {
    kOther,
    kSetsFramePointer,    // from the stack pointer: what is relative to it is on the stack
    kBreaksFramePointer,  // it is not that any more, and not because the function ends
    kCallThroughMemory,   // a call or jump to an address in memory at a fixed place: the linker's business
  };

  // What pruning (collider/pruning.h) has to know of what is computed. Of arm64, no more than loads and stores are told.
  enum class Operation : uint8_t { kOther, kMove, kAdd, kAnd, kOr, kXor, kTest };

  uint8_t length = 0;  // 0: no instruction
  Operation operation = Operation::kOther;
  uint8_t target = kNoRegister;  // the register that is written or tested
  uint8_t source = kNoRegister;  // the register that is read besides: what is stored, or added to
  bool has_immediate = false;
  int64_t immediate = 0;
  Role role = Role::kOther;
  bool accesses_memory = false;
  MemoryAccess access{};
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // The instruction that the code begins with, which is at the address `pc`.
  virtual Instruction Decode(std::span<const std::byte> code, uint64_t pc) = 0;

  // By Capstone for x86-64, by decoder_arm64.cc for arm64.
  static std::unique_ptr<Decoder> For(Machine machine);
};

// One word of arm64 code. Exact for what ARMv8.0 to ARMv8.5 load and store; of SVE, and of instructions on memory tags, nothing is said.
Instruction DecodeArm64(uint32_t word);

}  // namespace redflag
