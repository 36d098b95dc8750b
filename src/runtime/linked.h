// Where entry points go on that are linked into programs (entry_points.cc): functions of the runtime library, with the signature of the entry point, jumped to. In the library
// they are called directly; what a program defines under the same name does not count there.
#pragma once

#include "runtime/local.h"

#ifdef REDFLAG_IN_PROGRAM
#define REDFLAG_LINKED_FUNCTION __attribute__((visibility("default")))
#else
#define REDFLAG_LINKED_FUNCTION __attribute__((visibility("protected")))
#endif

extern "C" {

// An aligned access that the first filter does not know by the cell, and by the plane.
#define REDFLAG_ACCESSES(size)                                                     \
  REDFLAG_LINKED_FUNCTION void REDFLAG_LINKED(read##size)(void* p);                \
  REDFLAG_LINKED_FUNCTION void REDFLAG_LINKED(read##size##_beyond_plane)(void* p); \
  REDFLAG_LINKED_FUNCTION void REDFLAG_LINKED(write##size)(void* p);
REDFLAG_ACCESSES(1)
REDFLAG_ACCESSES(2)
REDFLAG_ACCESSES(4)
REDFLAG_ACCESSES(8)
#undef REDFLAG_ACCESSES

// Any other.
#define REDFLAG_ACCESSES(size)                                           \
  REDFLAG_LINKED_FUNCTION void REDFLAG_LINKED(long_read##size)(void* p); \
  REDFLAG_LINKED_FUNCTION void REDFLAG_LINKED(long_write##size)(void* p);
REDFLAG_ACCESSES(2)
REDFLAG_ACCESSES(4)
REDFLAG_ACCESSES(8)
REDFLAG_ACCESSES(16)
#undef REDFLAG_ACCESSES

REDFLAG_LINKED_FUNCTION void REDFLAG_LINKED(vptr_read)(void** p);

// A call that there is no room for, or of a thread that is not known yet.
REDFLAG_LINKED_FUNCTION void REDFLAG_LINKED(func_entry)(void* pc);
// The end of a call that is not among the frames.
REDFLAG_LINKED_FUNCTION void REDFLAG_LINKED(func_exit)();
}
