// Memory that the program shares with its helper process, by a descriptor.
#pragma once

#include <cstdint>

namespace redflag::rt {

// So many bytes of it, all zero; the descriptor, away from the numbers that programs count on. Negative: can't be had.
int64_t NewSharedMemory(const char* name, int64_t bytes);

}  // namespace redflag::rt
