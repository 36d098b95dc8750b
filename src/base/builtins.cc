#include "base/builtins.h"

#include <cstddef>
#include <cstdint>

// Simple loops, which a compiler must not take for what they are.
#define REDFLAG_OWN extern "C" [[gnu::visibility("hidden"), gnu::used]]

namespace {

inline void Opaque() { asm volatile("" ::: "memory"); }

struct [[gnu::packed, gnu::may_alias]] Word {  // anywhere
  uint64_t value;
};

}  // namespace

REDFLAG_OWN void* redflag_memmove(void* to, const void* from, size_t bytes) {
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  if (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from) < bytes) {
    while (bytes-- > 0) {
      target[bytes] = source[bytes];
      Opaque();
    }
    return to;
  }
  size_t at = 0;
  for (; at + sizeof(Word) <= bytes; at += sizeof(Word)) {
    reinterpret_cast<Word*>(target + at)->value = reinterpret_cast<const Word*>(source + at)->value;
    Opaque();
  }
  for (; at < bytes; ++at) {
    target[at] = source[at];
    Opaque();
  }
  return to;
}

REDFLAG_OWN void* redflag_memcpy(void* to, const void* from, size_t bytes) { return redflag_memmove(to, from, bytes); }

REDFLAG_OWN void* redflag_memset(void* to, int value, size_t bytes) {
  auto* target = static_cast<unsigned char*>(to);
  const uint64_t word = uint64_t{0x0101010101010101} * static_cast<unsigned char>(value);
  size_t at = 0;
  for (; at + sizeof(Word) <= bytes; at += sizeof(Word)) {
    reinterpret_cast<Word*>(target + at)->value = word;
    Opaque();
  }
  for (; at < bytes; ++at) {
    target[at] = static_cast<unsigned char>(value);
    Opaque();
  }
  return to;
}

REDFLAG_OWN int redflag_memcmp(const void* a, const void* b, size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(a);
  const auto* second = static_cast<const unsigned char*>(b);
  for (size_t at = 0; at < bytes; ++at) {
    if (first[at] != second[at]) return first[at] < second[at] ? -1 : 1;
    Opaque();
  }
  return 0;
}
