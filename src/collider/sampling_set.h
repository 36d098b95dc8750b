// The sampling set (DataCollider 3.1.1): every place in a file that accesses memory which threads may share, and is no synchronization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collider/code_file.h"
#include "events/memory_access.h"

namespace redflag {

struct Site {
  uint64_t address;  // in the file
  MemoryAccess access;
  uint32_t reserved = 0;

  bool operator==(const Site&) const = default;
};
static_assert(sizeof(Site) == 24);

struct SamplingSet {
  // Why accesses are not in the set; a count for each way to be left out.
  struct Counts {
    uint64_t functions = 0;
    uint64_t instructions = 0;
    uint64_t accesses = 0;
    uint64_t own = 0;              // on the stack of the thread, or thread-local
    uint64_t atomic = 0;           // by the instruction itself
    uint64_t marked_atomic = 0;    // by what the compiler says in sanmd_atomics2
    uint64_t in_exclusive = 0;     // between a load and a store exclusive, or in a restartable sequence
    uint64_t linker = 0;           // calls through tables of the linker
    uint64_t constant = 0;         // of what nobody can write
    uint64_t other = 0;            // of a kind that is not sampled: masks, gathers, state of the processor
    uint64_t undecoded_bytes = 0;  // no instruction was made out there
  };

  std::vector<Site> sites;  // by address
  Counts counts;
};

SamplingSet FindSites(const CodeFile& file);

// The instruction that ends at an address, where the debug registers of x86-64 stop a thread. None: there is no telling.
struct Located {
  uint64_t address = 0;
  Instruction instruction;
};
bool FindInstructionBefore(const CodeFile& file, uint64_t end, Located& located);
bool FindInstructionAt(const CodeFile& file, uint64_t address, Located& located);

}  // namespace redflag
