#include "runtime/benign.h"

#include "base/arena.h"
#include "base/mem.h"
#include "runtime/environment.h"

namespace redflag::rt {
namespace {

struct Range {
  uint64_t begin, end;
};
struct Mentioned : Mention {
  bool was_found = false;
};

// Few, and asked for rarely: a list. Not a Vector (base/vector.h), which would be destroyed at exit, when races still come.
template <class Item>
class List {
 public:
  void Add(const Item& item) {
    if (count_ == capacity_) {
      const uint64_t larger = capacity_ == 0 ? 4096 / sizeof(Item) : 2 * capacity_;
      auto* moved = static_cast<Item*>(MapPages(larger * sizeof(Item)));
      for (uint32_t i = 0; i < count_; ++i) moved[i] = items_[i];
      if (capacity_ != 0) UnmapPages(items_, capacity_ * sizeof(Item));
      items_ = moved;
      capacity_ = larger;
    }
    items_[count_] = item;
    __atomic_store_n(&count_, count_ + 1, __ATOMIC_RELAXED);
  }
  // The last one takes its place.
  void Remove(uint32_t index) {
    items_[index] = items_[count_ - 1];
    __atomic_store_n(&count_, count_ - 1, __ATOMIC_RELAXED);
  }
  Item& operator[](uint32_t index) { return items_[index]; }
  uint32_t size() const { return __atomic_load_n(&count_, __ATOMIC_RELAXED); }

 private:
  Item* items_ = nullptr;
  uint32_t count_ = 0;
  uint64_t capacity_ = 0;
};

constinit AtomicMem::Lock lock;
constinit List<Range> ranges;
constinit List<Mentioned> mentions;
constinit uint64_t missed = 0;

void Add(Range range) {
  if (range.begin < range.end) ranges.Add(range);
}

bool Contains(uint64_t addr) {
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    if (addr >= ranges[i].begin && addr < ranges[i].end) return true;
  }
  return false;
}

// Of all mentions of a racy byte: they were right.
bool IsMentioned(const RaceRecord& record) {
  bool is_mentioned = false;
  for (uint32_t i = 0; i < mentions.size(); ++i) {
    const uint64_t offset = mentions[i].address - Raw(record.granule);
    if (offset >= kGranule || (Raw(record.bytes) >> offset & 1) == 0) continue;
    mentions[i].was_found = is_mentioned = true;
  }
  return is_mentioned;
}

}  // namespace

void AddBenign(uint64_t addr, uint64_t bytes) {
  ScopedLock guard(lock);
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].begin <= addr && addr + bytes <= ranges[i].end) return;
  }
  Add({addr, addr + bytes});
}

void AddBenign(const Mention& mention) {
  ScopedLock guard(lock);
  mentions.Add(Mentioned{mention});
}

// What is expected stays so: the race may have been found, or is yet to be.
void ForgetBenign(uint64_t addr, uint64_t bytes) {
  if (ranges.size() == 0 && mentions.size() == 0) return;
  ScopedLock guard(lock);
  for (uint32_t i = ranges.size(); i-- > 0;) {
    const Range range = ranges[i];
    if (range.end <= addr || range.begin >= addr + bytes) continue;
    ranges.Remove(i);
    Add({range.begin, addr});
    Add({addr + bytes, range.end});
  }
  for (uint32_t i = mentions.size(); i-- > 0;) {
    if (!mentions[i].is_expected && mentions[i].address - addr < bytes) mentions.Remove(i);
  }
}

bool IsAnyBenign() { return ranges.size() != 0 || mentions.size() != 0; }

bool IsBenign(const RaceRecord& record) {
  if (ranges.size() == 0 && mentions.size() == 0) return false;
  ScopedLock guard(lock);
  if (IsMentioned(record)) return true;
  for (uint64_t i = 0; i < kGranule; ++i) {
    if ((Raw(record.bytes) >> i & 1) != 0 && !Contains(Raw(record.granule) + i)) return false;
  }
  return true;
}

void FlushExpectedRaces() {
  ScopedLock guard(lock);
  for (uint32_t i = mentions.size(); i-- > 0;) {
    const Mentioned mention = mentions[i];
    if (!mention.is_expected) continue;
    mentions.Remove(i);
    if (mention.was_found) continue;
    ++missed;
    Line line;
    line.Add("Redflag: a race was expected and not found: ").Add(mention.why != nullptr ? mention.why : "");
    if (mention.file != nullptr)
      line.Add(" (").Add(mention.file).Add(":").Add(static_cast<uint64_t>(mention.line)).Add(")");
    Complain(line.text());
  }
}

void ForgetExpectedRaces() {
  ScopedLock guard(lock);
  for (uint32_t i = mentions.size(); i-- > 0;) {
    if (mentions[i].is_expected) mentions.Remove(i);
  }
  missed = 0;
}

uint64_t MissedExpectations() { return __atomic_load_n(&missed, __ATOMIC_RELAXED); }

}  // namespace redflag::rt
