// Accesses to variables from outside of sections: relaxed accesses of whole words, one after the other, in the order of addresses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "redflag/tolerate/engine.hpp"

namespace redflag::tolerate {

template <class Memory>
class outside {
 public:
  static void read(const cell& from, size_t offset, size_t bytes, void* into) {
    auto* to = static_cast<unsigned char*>(into);
    by_units(from, offset, bytes, [&](auto unit, void* word, size_t skipped, size_t count) {
      using Unit = decltype(unit);
      const auto value = static_cast<typename Unit::value>(Memory::template outside_load<Unit>(word));
      std::memcpy(to, reinterpret_cast<const unsigned char*>(&value) + skipped, count);
      to += count;
    });
  }
  // Bytes of a word that are not written stay what they are.
  static void write(const cell& into, size_t offset, size_t bytes, const void* from) {
    const auto* at = static_cast<const unsigned char*>(from);
    by_units(into, offset, bytes, [&](auto unit, void* word, size_t skipped, size_t count) {
      using Unit = decltype(unit);
      const auto with = [&](uint64_t before) {
        auto value = static_cast<typename Unit::value>(before);
        std::memcpy(reinterpret_cast<unsigned char*>(&value) + skipped, at, count);
        return static_cast<uint64_t>(value);
      };
      if (count == sizeof(typename Unit::value)) {
        Memory::template outside_store<Unit>(word, with(0));
      } else {
        uint64_t before = Memory::template outside_load<Unit>(word);
        while (!Memory::template outside_replace<Unit>(word, before, with(before))) {
        }
      }
      at += count;
    });
  }

 private:
  template <class Visitor>
  static void by_units(const cell& at, size_t offset, size_t bytes, const Visitor& visit) {
    switch (at.unit_bytes) {
      case 1:
        return by<unit1>(at, offset, bytes, visit);
      case 2:
        return by<unit2>(at, offset, bytes, visit);
      case 4:
        return by<unit4>(at, offset, bytes, visit);
      default:
        return by<unit8>(at, offset, bytes, visit);
    }
  }
  template <class Unit, class Visitor>
  static void by(const cell& at, size_t offset, size_t bytes, const Visitor& visit) {
    constexpr size_t kBytes = sizeof(typename Unit::value);
    for (size_t end = offset + bytes; offset < end;) {
      const size_t skipped = offset % kBytes;
      const size_t count = std::min(kBytes - skipped, end - offset);
      visit(Unit{}, static_cast<unsigned char*>(at.global) + (offset - skipped), skipped, count);
      offset += count;
    }
  }
};

}  // namespace redflag::tolerate

namespace redflag {

// One relaxed access to a variable that others may access: of the thread that takes no lock, and of a section that accesses it only once, which is
// atomic by itself and needs no copy.
template <class T>
  requires std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8)
T read_once(const T& from) noexcept {
  using Unit = typename tolerate::unit_of_bytes<sizeof(T)>::type;
  const auto word = static_cast<typename Unit::value>(tolerate::hardware::outside_load<Unit>(&from));
  alignas(T) unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &word, sizeof(T));
  return *std::launder(reinterpret_cast<const T*>(bytes));
}
template <class T>
  requires std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8)
void write_once(T& into, const std::type_identity_t<T>& value) noexcept {
  using Unit = typename tolerate::unit_of_bytes<sizeof(T)>::type;
  typename Unit::value word;
  std::memcpy(&word, &value, sizeof(T));
  tolerate::hardware::outside_store<Unit>(&into, word);
}

}  // namespace redflag
