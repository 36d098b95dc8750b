// Blocks of the heap that do not come through malloc: of an operator new that does not call it. That of the C++ library does; those that an
// allocator brings (tcmalloc, mimalloc) may not.
#pragma once

#include <cstddef>

#include "intercept/hooks.h"

namespace redflag::heap {

// Blocks that the calling thread was given by malloc and its like, for whoever wants to see whether one was.
size_t BlocksBorn();

// A block begins its life that malloc knows nothing of; from now on, operator delete has to tell of each.
void BornApart(hooks::Pc pc, void* block);
// A block is about to be given to operator delete.
void Deleting(hooks::Pc pc, void* block);

// Where the allocator's code is: its malloc.
const void* AllocatorCode();

}  // namespace redflag::heap
