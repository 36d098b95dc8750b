// The tables with which the text reader gives out ids and addresses.
//
// Invariants:
// - Equal strings and equal positions have one id. Ids are given out in order of first use.
// - A fresh address never lies in memory that was given out, or asked for by address, before.
//
// The reader's own; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "trace/interval_set.h"
#include "trace/trace.h"

namespace redflag {

// Gives out addresses for variables and blocks that do not say where they are.
class AddressPlan {
 public:
  static constexpr uint64_t kFirst = 0x10000;
  static constexpr uint64_t kUsualAlign = 16;

  // [addr, addr + size) was asked for by address.
  void Take(Addr addr, uint64_t size) { taken_.Insert(Raw(addr), Raw(addr) + size); }

  // `align` is a power of two. Nothing if the address space is used up.
  std::optional<Addr> Fresh(uint64_t size, uint64_t align);

 private:
  uint64_t next_ = kFirst;
  IntervalSet taken_;
};

// Ids for strings, by first use; `strings` is the Trace's table.
class StringTable {
 public:
  uint32_t Intern(std::string_view text, std::vector<std::string>& strings);
  std::optional<uint32_t> Find(std::string_view text) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> ids_;
};

// Ids for positions, by first use.
class PositionTable {
 public:
  PositionId Intern(std::string_view file, uint32_t line, uint32_t column, Trace& trace);

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // file, line, column
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  StringTable files_;
  std::vector<std::string> file_names_;
  std::unordered_map<Key, PositionId, Hash> ids_;
};

}  // namespace redflag
