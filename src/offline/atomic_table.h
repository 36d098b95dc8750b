// AtomicTable: the synchronization state of atomic variables, by address. An atomic dies with the memory it is in.
//
// One thread, host side.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace redflag {

template <class D>
class AtomicTable {
 public:
  using Sync = typename D::Sync;

  explicit AtomicTable(D& detector) : detector_(detector) {}

  Sync& At(Addr addr) {
    Line& line = lines_[LineOf(addr)];
    for (auto& [where, sync] : line) {
      if (where == addr) return *sync;
    }
    return *line.emplace_back(addr, std::make_unique<Sync>(detector_)).second;
  }

  // [addr, addr + size) begins a new lifetime. Walks the range or the table, whichever is shorter.
  void Forget(Addr addr, uint64_t size) {
    const uint64_t first = LineOf(addr);
    const uint64_t last = LineOf(addr + (size - 1));
    const auto forget = [&](auto it) {
      std::erase_if(it->second, [&](const auto& atomic) { return atomic.first >= addr && atomic.first - addr < size; });
      return it->second.empty() ? lines_.erase(it) : std::next(it);
    };
    if (last - first < lines_.size()) {
      for (uint64_t line = first; line <= last; ++line) {
        if (auto it = lines_.find(line); it != lines_.end()) forget(it);
      }
    } else {
      for (auto it = lines_.begin(); it != lines_.end();) {
        it = it->first >= first && it->first <= last ? forget(it) : std::next(it);
      }
    }
  }

  size_t MemoryInUse() const { return lines_.size() * (sizeof(Line) + sizeof(Sync)); }

 private:
  // Atomics that share 64 bytes; most lines have one.
  using Line = std::vector<std::pair<Addr, std::unique_ptr<Sync>>>;
  static uint64_t LineOf(Addr addr) { return Raw(addr) / 64; }

  D& detector_;
  std::unordered_map<uint64_t, Line> lines_;
};

}  // namespace redflag
