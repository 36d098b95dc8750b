// CellMap: the offline shadow: a cell for each granule, and the lifetimes they belong to.
//
// A cell exists once it was touched. Beginning a lifetime costs the same for a byte and a gigabyte: the range
// keeps one stamp, and a cell that comes into being later is revived from it. So memory follows what the
// program touched and what is alive, not how much was ever allocated.
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

namespace redflag {

template <class D>
class CellMap {
 public:
  using Cell = typename D::Cell;
  using Stamp = typename D::Stamp;

  // Stamps of freed memory beyond this many are forgotten, oldest first: a late use of such memory is no
  // longer told from a first use. Counted.
  static constexpr size_t kMaxFreedRanges = size_t{1} << 20;

  explicit CellMap(D& detector) : detector_(detector) {}
  ~CellMap() {
    for (auto& [number, page] : pages_) ForgetPage(*page);
  }
  CellMap(const CellMap&) = delete;
  CellMap& operator=(const CellMap&) = delete;

  Cell& At(Addr granule) { return PageOf(granule)[CellIndex(granule)]; }

  // Calls visit(cell, bytes, object, object_size) for the cells that hold these bytes: one, and no object.
  template <class Visitor>
  void ForBytes(Addr granule, ByteMask bytes, Visitor visit) {
    visit(At(granule), bytes, Addr{}, uint64_t{0});
  }

  // [addr, addr + size) begins a new lifetime.
  void Renew(Addr addr, uint64_t size, const Stamp& stamp, bool freed) {
    SetRange(addr, size, stamp, freed);
    ForEachPage(addr, size, [&](uint64_t number, Page& page) {
      const Addr begin{number * kPageBytes};
      if (begin >= addr && begin + kPageBytes <= addr + size) {
        ForgetPage(page);
        return true;
      }
      ForEachCell(page, begin, addr, size,
                  [&](Cell& cell, Addr, ByteMask bytes) { detector_.Revive(cell, bytes, stamp); });
      return false;
    });
  }

  // Calls visit(cell, granule, bytes, granules) for everything in [addr, addr + size) of which something is
  // known: each cell that exists with granules = 1, and for stretches of untouched memory one stand-in cell.
  template <class Visitor>
  void Visit(Addr addr, uint64_t size, Visitor visit) {
    Addr untouched = addr;
    std::vector<uint64_t> numbers;
    ForEachPage(addr, size, [&](uint64_t number, Page&) {
      numbers.push_back(number);
      return false;
    });
    std::sort(numbers.begin(), numbers.end());
    for (const uint64_t number : numbers) {
      const Addr begin{number * kPageBytes};
      if (begin > untouched) VisitUntouched(untouched, begin, visit);
      ForEachCell(*pages_.at(number), begin, addr, size, [&](Cell& cell, Addr granule, ByteMask bytes) {
        visit(cell, granule, bytes, uint64_t{1}, Addr{}, uint64_t{0});
      });
      untouched = begin + kPageBytes;
    }
    if (untouched < addr + size) VisitUntouched(untouched, addr + size, visit);
  }

  size_t MemoryInUse() const { return pages_.size() * sizeof(Page) + ranges_.size() * sizeof(Range); }
  uint64_t forgotten_ranges() const { return forgotten_ranges_; }

 private:
  static constexpr uint64_t kPageCells = 64;
  static constexpr uint64_t kPageBytes = kPageCells * kGranule;
  static constexpr size_t kCacheSize = 256;

  using Page = std::array<Cell, kPageCells>;

  struct Range {
    Addr end{};
    Stamp stamp{};
    bool freed = false;
    uint64_t serial = 0;
  };

  static uint64_t NumberOf(Addr addr) { return Raw(addr) / kPageBytes; }
  static size_t CellIndex(Addr granule) { return Raw(granule) / kGranule % kPageCells; }

  Page& PageOf(Addr addr) {
    const uint64_t number = NumberOf(addr);
    auto& [cached_number, cached_page] = cache_[number % kCacheSize];
    if (cached_page != nullptr && cached_number == number) return *cached_page;
    std::unique_ptr<Page>& page = pages_[number];
    if (page == nullptr) {
      page = std::make_unique<Page>();
      const Addr begin{number * kPageBytes};
      ForEachRange(begin, begin + kPageBytes, [&](Addr from, Addr to, const Range& range) {
        ForEachCell(*page, begin, from, to - from,
                    [&](Cell& cell, Addr, ByteMask bytes) { detector_.Revive(cell, bytes, range.stamp); });
      });
    }
    cached_number = number;
    cached_page = page.get();
    return *page;
  }

  // Calls visit(number, page) for the pages that touch the range, dropping those for which it returns true.
  // Walks the range or the table, whichever is shorter.
  template <class Visitor>
  void ForEachPage(Addr addr, uint64_t size, Visitor visit) {
    const uint64_t first = NumberOf(addr);
    const uint64_t last = NumberOf(addr + (size - 1));
    const auto handle = [&](auto it) {
      if (!visit(it->first, *it->second)) return std::next(it);
      auto& cached = cache_[it->first % kCacheSize];
      if (cached.first == it->first) cached.second = nullptr;
      return pages_.erase(it);
    };
    if (last - first < pages_.size()) {
      for (uint64_t number = first; number <= last; ++number) {
        if (auto it = pages_.find(number); it != pages_.end()) handle(it);
      }
    } else {
      for (auto it = pages_.begin(); it != pages_.end();) {
        it = it->first >= first && it->first <= last ? handle(it) : std::next(it);
      }
    }
  }

  // The cells of one page that [addr, addr + size) touches.
  template <class Visitor>
  static void ForEachCell(Page& page, Addr begin, Addr addr, uint64_t size, Visitor visit) {
    const Addr from = addr < begin ? begin : addr;
    const Addr to = addr + size < begin + kPageBytes ? addr + size : begin + kPageBytes;
    for (Addr granule = GranuleOf(from); granule < to; granule = granule + kGranule) {
      const Addr first = granule < from ? from : granule;
      visit(page[CellIndex(granule)], granule, MaskOf(first, to - first));
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

  void SetRange(Addr addr, uint64_t size, const Stamp& stamp, bool freed) {
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
    PutRange(addr, Range{.end = end, .stamp = stamp, .freed = freed});
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

  void ForgetPage(Page& page) {
    for (Cell& cell : page) detector_.Forget(cell);
  }

  D& detector_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::array<std::pair<uint64_t, Page*>, kCacheSize> cache_{};
  std::map<Addr, Range> ranges_;  // by first address; disjoint
  std::deque<std::pair<Addr, uint64_t>> freed_;
  uint64_t serial_ = 0;
  uint64_t forgotten_ranges_ = 0;
};

}  // namespace redflag
