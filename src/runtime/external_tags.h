// Kinds of objects that libraries have registered (abi_external.cc), by number from 1; 0 is none. Thread-safe.
#pragma once

#include <cstdint>

namespace redflag::rt {

uint32_t TagOfObject(uint64_t object);
const char* ObjectTypeOf(uint32_t tag);  // null: there is no such tag
const char* HeaderOf(uint32_t tag);
void* HandleOf(uint32_t tag);  // what the library knows it by

}  // namespace redflag::rt
