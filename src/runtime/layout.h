// Layout: where the kernel has put this process, and whether that suits the shadow.
//
// Addresses are folded into a window (shadow.h). With the usual randomization the parts of a process fold to places of their own; with
// as much as a kernel can be told to use (vm.mmap_rnd_bits=32) two may fold to one. Then the process starts itself again, without
// randomization.
#pragma once

#include <cstdint>

namespace redflag::rt {

// An address in each of the parts that grow.
struct Layout {
  uint64_t image;      // the program, and behind it, growing upwards ...
  uint64_t heap_end;   // ... the heap of brk(2)
  uint64_t libraries;  // one of the first; everything that is mapped later grows downwards from there
  uint64_t stack;      // of the first thread, near its top

  // Do the parts, and room to grow, fold to places of their own?
  bool FoldsApart() const;
};

Layout CurrentLayout();

// Starts the program again at addresses that are not random. Returns if that can't be done, or was done already.
void StartWithoutRandomization();

}  // namespace redflag::rt
