// CellMap: the offline shadow: a cell for each granule, and the lifetimes they belong to.
//
// A cell exists once it was touched. Beginning a lifetime costs the same for a byte and a gigabyte: the range
// keeps one stamp, and a cell that comes into being later is revived from it. So memory follows what the
// program touched and what is alive, not how much was ever allocated.
//
// Cells come in lines of 64 bytes of memory, lines in regions. Lines are dealt out to shards; of those that are another shard's it is known
// whether they were touched, so that what a free finds untouched is the same in all shards.
//
// One thread, host side.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "events/access.h"
#include "trace/shard.h"

namespace redflag {

template <class D>
class CellMap {
 public:
  using Cell = typename D::Cell;
  using Stamp = typename D::Stamp;

  // Stamps of freed memory beyond this many are forgotten, oldest first: a late use of such memory is no
  // longer told from a first use. Counted.
  static constexpr size_t kMaxFreedRanges = size_t{1} << 20;

  explicit CellMap(D& detector, Shard shard = {}) : detector_(detector), shard_(shard) {}
  ~CellMap() {
    for (auto& [number, region] : regions_) {
      for (Line* const line : region->lines) Delete(line);
    }
  }
  CellMap(const CellMap&) = delete;
  CellMap& operator=(const CellMap&) = delete;

  // The granule must be this shard's.
  Cell& At(Addr granule) { return (*LineOf(granule))[CellIndex(granule)]; }

  bool Owns(Addr granule) const { return shard_.Owns(granule); }

  // Calls visit(cell, bytes, object, object_size) for the cells that hold these bytes: one, and no object; none, if they are another shard's.
  template <class Visitor>
  [[gnu::always_inline]] void ForBytes(Addr granule, ByteMask bytes, Visitor visit) {
    if (Line* const line = LineOf(granule)) visit((*line)[CellIndex(granule)], bytes, Addr{}, uint64_t{0});
  }

  // [addr, addr + size) begins a new lifetime.
  void Renew(Addr addr, uint64_t size, const Stamp& stamp, bool freed) {
    CutRange(addr, size);
    PutRange(addr, Range{.end = addr + size, .stamp = stamp, .freed = freed});
    LimitFreed();
    DropLines(addr, size, [&](Cell& cell, Addr, ByteMask bytes) { detector_.Revive(cell, bytes, stamp); });
  }

  // [addr, addr + size) is as if never touched.
  void Forget(Addr addr, uint64_t size) {
    CutRange(addr, size);
    LimitFreed();
    DropLines(addr, size, [&](Cell& cell, Addr, ByteMask bytes) { detector_.Forget(cell, bytes); });
  }

  // Calls visit(cell, granule, bytes, granules) for everything in [addr, addr + size) of which something is
  // known: each cell that exists with granules = 1, and for stretches of untouched memory one stand-in cell.
  template <class Visitor>
  void Visit(Addr addr, uint64_t size, Visitor visit) {
    Addr untouched = addr;
    for (const uint64_t number : RegionsIn(addr, size)) {
      ForEachLine(number, *regions_.at(number), addr, size, [&](Addr begin, Line* line) {
        if (begin > untouched) VisitUntouched(untouched, begin, visit);
        ForEachCell(line, begin, addr, size, [&](Cell& cell, Addr granule, ByteMask bytes) {
          visit(cell, granule, bytes, uint64_t{1}, Addr{}, uint64_t{0});
        });
        untouched = begin + kLineBytes;
        return false;
      });
    }
    if (untouched < addr + size) VisitUntouched(untouched, addr + size, visit);
  }

  size_t MemoryInUse() const {
    return lines_ * sizeof(Line) + regions_.size() * sizeof(Region) + ranges_.size() * sizeof(Range);
  }
  uint64_t forgotten_ranges() const { return forgotten_ranges_; }

 private:
  static constexpr uint64_t kLineCells = 8;
  static constexpr uint64_t kLineBytes = kLineCells * kGranule;
  static_assert(kLineBytes == kShardBytes);
  static constexpr uint64_t kRegionLines = 512;
  static constexpr uint64_t kRegionBytes = kRegionLines * kLineBytes;
  static constexpr size_t kCacheSize = 1024;

  using Line = std::array<Cell, kLineCells>;

  struct Region {
    uint64_t touched = 0;  // how many of its lines
    std::array<Line*, kRegionLines> lines{};
  };

  struct Range {
    Addr end{};
    Stamp stamp{};
    bool freed = false;
    uint64_t serial = 0;
  };

  static uint64_t RegionNumber(Addr addr) { return Raw(addr) / kRegionBytes; }
  static size_t LineIndex(Addr addr) { return Raw(addr) / kLineBytes % kRegionLines; }
  static size_t CellIndex(Addr granule) { return Raw(granule) / kGranule % kLineCells; }

  // Stands for a line that was touched and is another shard's.
  static Line* Foreign() {
    static Line line;
    return &line;
  }

  struct Cached {
    uint64_t number = UINT64_MAX;  // of no region
    Region* region = nullptr;
  };

  // Null: another shard's.
  [[gnu::always_inline]] Line* LineOf(Addr addr) {
    const uint64_t number = RegionNumber(addr);
    Cached& cached = cache_[number % kCacheSize];
    if (cached.number != number) [[unlikely]]
      FindRegion(number);
    Line*& line = cached.region->lines[LineIndex(addr)];
    if (line == nullptr) [[unlikely]]
      NewLine(*cached.region, line, addr);
    return line != Foreign() ? line : nullptr;
  }

  [[gnu::noinline]] void FindRegion(uint64_t number) {
    std::unique_ptr<Region>& region = regions_[number];
    if (region == nullptr) region = std::make_unique<Region>();
    cache_[number % kCacheSize] = {.number = number, .region = region.get()};
  }

  [[gnu::noinline]] void NewLine(Region& region, Line*& line, Addr addr) {
    ++region.touched;
    if (!Owns(addr)) {
      line = Foreign();
      return;
    }
    line = new Line{};
    ++lines_;
    const Addr begin{Raw(addr) / kLineBytes * kLineBytes};
    ForEachRange(begin, begin + kLineBytes, [&](Addr from, Addr to, const Range& range) {
      ForEachCell(line, begin, from, to - from,
                  [&](Cell& cell, Addr, ByteMask bytes) { detector_.Revive(cell, bytes, range.stamp); });
    });
  }

  void Delete(Line* line) {
    if (line == nullptr || line == Foreign()) return;
    for (Cell& cell : *line) detector_.Forget(cell);
    delete line;
    --lines_;
  }

  // Lines that are wholly in the range are gone; `change` is called for the cells of the others.
  template <class Change>
  void DropLines(Addr addr, uint64_t size, Change change) {
    for (const uint64_t number : RegionsIn(addr, size)) {
      const auto region = regions_.find(number);
      ForEachLine(number, *region->second, addr, size, [&](Addr begin, Line* line) {
        if (begin < addr || begin + kLineBytes > addr + size) {
          ForEachCell(line, begin, addr, size, change);
          return false;
        }
        Delete(line);
        return true;
      });
      if (region->second->touched != 0) continue;
      Cached& cached = cache_[number % kCacheSize];
      if (cached.number == number) cached = {};
      regions_.erase(region);
    }
  }

  // The regions that exist and touch the range, in order. Walks the range or the table, whichever is shorter.
  const std::vector<uint64_t>& RegionsIn(Addr addr, uint64_t size) {
    const uint64_t first = RegionNumber(addr);
    const uint64_t last = RegionNumber(addr + (size - 1));
    in_range_.clear();
    if (last - first < regions_.size()) {
      for (uint64_t number = first; number <= last; ++number) {
        if (regions_.contains(number)) in_range_.push_back(number);
      }
      return in_range_;
    }
    for (const auto& [number, region] : regions_) {
      if (number >= first && number <= last) in_range_.push_back(number);
    }
    std::sort(in_range_.begin(), in_range_.end());
    return in_range_;
  }

  // Calls visit(begin, line) for the lines of the region that were touched and touch the range, dropping those for which it returns true.
  template <class Visitor>
  void ForEachLine(uint64_t number, Region& region, Addr addr, uint64_t size, Visitor visit) {
    const Addr begin{number * kRegionBytes};
    const size_t first = addr > begin ? LineIndex(addr) : 0;
    const Addr last_byte = addr + (size - 1);
    const size_t last = last_byte < begin + kRegionBytes ? LineIndex(last_byte) : kRegionLines - 1;
    for (size_t i = first; i <= last; ++i) {
      if (region.lines[i] == nullptr || !visit(begin + i * kLineBytes, region.lines[i])) continue;
      region.lines[i] = nullptr;
      --region.touched;
    }
  }

  // The cells of one line that [addr, addr + size) touches. None, if it is another shard's.
  template <class Visitor>
  static void ForEachCell(Line* line, Addr begin, Addr addr, uint64_t size, Visitor visit) {
    if (line == Foreign()) return;
    const Addr from = addr < begin ? begin : addr;
    const Addr to = addr + size < begin + kLineBytes ? addr + size : begin + kLineBytes;
    for (Addr granule = GranuleOf(from); granule < to; granule = granule + kGranule) {
      const Addr first = granule < from ? from : granule;
      visit((*line)[CellIndex(granule)], granule, MaskOf(first, to - first));
    }
  }

  template <class Visitor>
  void ForEachRange(Addr from, Addr to, Visitor visit) {
    auto it = ranges_.upper_bound(from);
    if (it != ranges_.begin() && std::prev(it)->second.end > from) --it;
    for (; it != ranges_.end() && it->first < to; ++it) {
      visit(it->first < from ? from : it->first, it->second.end < to ? it->second.end : to, it->second);
    }
  }

  // Untouched memory in a lifetime: all of it has the same history, the stamp. Whole granules are shown at
  // once, ragged ends on their own.
  template <class Visitor>
  void VisitUntouched(Addr from, Addr to, Visitor visit) {
    ForEachRange(from, to, [&](Addr begin, Addr end, const Range& range) {
      const auto show = [&](Addr granule, ByteMask bytes, uint64_t granules) {
        Cell cell{};
        detector_.Revive(cell, bytes, range.stamp);
        visit(cell, granule, bytes, granules, Addr{}, uint64_t{0});
        detector_.Forget(cell);
      };
      if (GranuleOf(begin) != begin) {
        show(GranuleOf(begin), MaskOf(begin, end - begin), 1);
        begin = GranuleOf(begin) + kGranule;
      }
      if (begin >= end) return;
      const Addr whole_end = GranuleOf(end);
      if (begin < whole_end) show(begin, kAllBytes, (whole_end - begin) / kGranule);
      if (whole_end < end) show(whole_end, MaskOf(whole_end, end - whole_end), 1);
    });
  }

  void CutRange(Addr addr, uint64_t size) {
    const Addr end = addr + size;
    auto it = ranges_.upper_bound(addr);
    if (it != ranges_.begin() && std::prev(it)->second.end > addr) --it;
    while (it != ranges_.end() && it->first < end) {
      const Addr old_begin = it->first;
      const Range old = it->second;
      it = ranges_.erase(it);
      if (old_begin < addr) PutRange(old_begin, Range{.end = addr, .stamp = old.stamp, .freed = old.freed});
      if (old.end > end) PutRange(end, Range{.end = old.end, .stamp = old.stamp, .freed = old.freed});
    }
  }

  void LimitFreed() {
    while (freed_.size() > kMaxFreedRanges) {
      const auto [where, serial] = freed_.front();
      freed_.pop_front();
      const auto oldest = ranges_.find(where);
      if (oldest == ranges_.end() || oldest->second.serial != serial) continue;
      ranges_.erase(oldest);
      ++forgotten_ranges_;
    }
  }

  void PutRange(Addr begin, Range range) {
    range.serial = ++serial_;
    if (range.freed) freed_.emplace_back(begin, range.serial);
    ranges_.insert_or_assign(begin, range);
  }

  D& detector_;
  const Shard shard_;
  std::unordered_map<uint64_t, std::unique_ptr<Region>> regions_;  // by number
  std::array<Cached, kCacheSize> cache_{};
  std::map<Addr, Range> ranges_;  // by first address; disjoint
  std::deque<std::pair<Addr, uint64_t>> freed_;
  std::vector<uint64_t> in_range_;  // the latest answer of RegionsIn()
  size_t lines_ = 0;                // that have cells
  uint64_t serial_ = 0;
  uint64_t forgotten_ranges_ = 0;
};

}  // namespace redflag
