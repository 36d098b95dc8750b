// ObjectMap: the offline shadow for detectors that keep one cell for each object (Map::kObject). An object is an
// allocation or a declared variable; memory that belongs to none is an object of its own, granule by granule.
//
// All shards have the same objects; the engine asks for cells of those that begin in its part.
//
// One thread, host side. The interface is that of CellMap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/ids.h"
#include "clocks/commit_clocks.h"
#include "events/access.h"
#include "trace/shard.h"

namespace redflag {

template <class D>
class ObjectMap {
 public:
  using Cell = typename D::Cell;
  using Stamp = typename D::Stamp;

  // A free is a write to the whole object; of a very large one only so many granules are looked at.
  static constexpr uint64_t kMaxFreedGranules = uint64_t{1} << 16;

  explicit ObjectMap(D& detector, Shard = {}) : detector_(detector) {}
  ~ObjectMap() {
    for (auto& [begin, object] : objects_) detector_.Forget(object.cell);
  }
  ObjectMap(const ObjectMap&) = delete;
  ObjectMap& operator=(const ObjectMap&) = delete;

  // A variable that exists from the start.
  void Declare(Addr addr, uint64_t size) {
    if (Overlapping(addr, addr + size) == objects_.end())
      objects_.emplace(addr, Object{.end = addr + size, .cell = {}});
  }

  // Calls visit(cell, bytes, object, object_size) for each object that holds some of these bytes.
  template <class Visitor>
  void ForBytes(Addr granule, ByteMask bytes, Visitor visit) {
    const Addr end = granule + kGranule;
    for (auto it = Overlapping(granule, end); it != objects_.end() && it->first < end; ++it) {
      const Addr first = std::max(it->first, granule);
      const ByteMask inside = bytes & MaskOf(first, std::min(it->second.end, end) - first);
      bytes = bytes & ~inside;
      if (Any(inside)) visit(it->second.cell, inside, it->first, it->second.end - it->first);
    }
    if (!Any(bytes)) return;
    // Nobody's memory: each run of bytes between objects becomes an object.
    for (uint64_t i = 0; i < kGranule; ++i) {
      if ((Raw(bytes) >> i & 1) == 0) continue;
      const Addr begin = GapBegin(granule + i, granule);
      const Addr gap_end = GapEnd(granule + i, end);
      Object& object = objects_.emplace(begin, Object{.end = gap_end, .cell = {}}).first->second;
      const ByteMask inside = bytes & MaskOf(begin, gap_end - begin);
      bytes = bytes & ~inside;
      visit(object.cell, inside, begin, gap_end - begin);
    }
  }

  // [addr, addr + size) begins a new lifetime: it is one object now. What it cuts off from older objects stays theirs.
  void Renew(Addr addr, uint64_t size, const Stamp& stamp, bool) {
    Forget(addr, size);
    Object& object = objects_.emplace(addr, Object{.end = addr + size, .cell = {}}).first->second;
    detector_.Revive(object.cell, kAllBytes, stamp);
  }

  // [addr, addr + size) is nobody's memory, and as if never touched.
  void Forget(Addr addr, uint64_t size) {
    const Addr end = addr + size;
    for (auto it = Overlapping(addr, end); it != objects_.end() && it->first < end;) {
      const Addr old_begin = it->first;
      const Addr old_end = it->second.end;
      if (old_begin < addr) {
        it->second.end = addr;
        ++it;
      } else {
        detector_.Forget(it->second.cell);
        it = objects_.erase(it);
      }
      if (old_end > end) objects_.emplace(end, Object{.end = old_end, .cell = {}});
    }
  }

  // Calls visit(cell, granule, bytes, 1, object, object_size) for the granules of [addr, addr + size).
  template <class Visitor>
  void Visit(Addr addr, uint64_t size, Visitor visit) {
    const uint64_t most = std::min(size, kMaxFreedGranules * kGranule);
    ForEachGranule(addr, most, [&](Addr granule, ByteMask bytes) {
      ForBytes(granule, bytes, [&](Cell& cell, ByteMask inside, Addr object, uint64_t object_size) {
        visit(cell, granule, inside, uint64_t{1}, object, object_size);
      });
    });
  }

  size_t MemoryInUse() const { return objects_.size() * (sizeof(Object) + 6 * sizeof(void*)); }

 private:
  struct Object {
    Addr end{};
    Cell cell{};
  };
  using Objects = std::map<Addr, Object>;

  // The first object that shares a byte with [begin, end).
  typename Objects::iterator Overlapping(Addr begin, Addr end) {
    auto it = objects_.upper_bound(begin);
    if (it != objects_.begin() && std::prev(it)->second.end > begin) return std::prev(it);
    return it != objects_.end() && it->first < end ? it : objects_.end();
  }
  Addr GapBegin(Addr byte, Addr granule) {
    auto it = objects_.upper_bound(byte);
    return it == objects_.begin() ? granule : std::max(granule, std::prev(it)->second.end);
  }
  Addr GapEnd(Addr byte, Addr granule_end) {
    auto it = objects_.upper_bound(byte);
    return it == objects_.end() ? granule_end : std::min(granule_end, it->first);
  }

  D& detector_;
  Objects objects_;  // by first address; disjoint
};

}  // namespace redflag
