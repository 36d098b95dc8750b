// LocksetMatrix: many locksets (Goldilocks, clocks/element_set.h) that are evaluated up to the same event, and go on
// together. A row is a lockset, a column is an element, and columns are what is stored: for each element one bit a lockset.
// An event "if `from` is in LS(x), add `to`" is then one operation on two columns, 64 locksets at a time. This is what makes
// partially-eager evaluation (5.4) bearable for a program that has ten thousand idle objects, each with a lock and a
// lockset of its own.
//
// Rows that have become equal are found by their hashes, compared, and made one.
//
// Item is what a row stands for; Item::row is kept up to date while it has one. In-process: Arena memory only. Not
// thread-safe: the owner locks.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/vector.h"
#include "clocks/element_set.h"
#include "clocks/sync_event_list.h"

namespace redflag {

template <class Mem, class Item>
class LocksetMatrix {
 public:
  explicit LocksetMatrix(Arena<Mem>& arena) : arena_(arena), rows_(arena), columns_(arena) {}
  ~LocksetMatrix() {
    columns_.ForEach([this](uint64_t, Column& column) { FreeColumn(column); });
  }

  uint32_t live() const { return live_; }

  void Add(Item& item, const ElementSet<Mem>& elements) {
    if (rows_.size() == words_ * kBits) Rebuild(words_ == 0 ? 1 : words_ * 2);
    item.row = static_cast<uint32_t>(rows_.size());
    rows_.Push(Row{.item = &item, .hash = 0});
    ++live_;
    elements.ForEach([&](Element element) {
      ColumnOf(element).words[item.row / kBits] |= uint64_t{1} << item.row % kBits;
      rows_[item.row].hash ^= HashKey(Raw(element));
    });
  }

  // The row of a removed item keeps its bits until there is enough to clean up.
  void Remove(Item& item) {
    rows_[item.row].item = nullptr;
    --live_;
    if (rows_.size() > 2 * live_ + kBits) Rebuild(words_);
  }

  bool Contains(const Item& item, Element element) {
    const Column* column = columns_.Find(Raw(element));
    return column != nullptr && (column->words[item.row / kBits] >> item.row % kBits & 1) != 0;
  }

  // Calls visit(element) for each element of the row. Looks at every column.
  template <class Visitor>
  void ForEachElement(const Item& item, Visitor visit) {
    columns_.ForEach([&](uint64_t element, const Column& column) {
      if ((column.words[item.row / kBits] >> item.row % kBits & 1) != 0) visit(Element{element});
    });
  }

  void Apply(const SyncEvent& event) {
    Column* from = columns_.Find(Raw(event.takes_out() ? event.to : event.from));
    if (from == nullptr) return;
    const uint64_t* source = from->words;
    const uint64_t used = (rows_.size() + kBits - 1) / kBits;
    if (event.takes_out()) {
      for (uint64_t word = 0; word < used; ++word) Rehash(event.to, word, source[word]);
      FreeColumn(*from);
      columns_.Erase(Raw(event.to));
      return;
    }
    uint64_t* target = ColumnOf(event.to).words;
    for (uint64_t word = 0; word < used; ++word) {
      const uint64_t added = source[word] & ~target[word];
      if (added == 0) continue;
      target[word] |= added;
      Rehash(event.to, word, added);
    }
  }

  // Calls same(gone, stays) for rows that have become equal; the row of `gone` is no longer there. Does its work when there
  // are twice as many rows as after the last time.
  template <class Same>
  void Merge(Same same) {
    if (live_ < merge_at_) return;
    {
      HashMap<uint32_t, Mem> by_hash(arena_);
      for (uint32_t row = 0; row < rows_.size(); ++row) {
        if (rows_[row].item == nullptr) continue;
        uint32_t& first = by_hash.Insert(rows_[row].hash);
        if (first == 0) {
          first = row + 1;
        } else if (AreEqual(first - 1, row)) {
          same(*rows_[row].item, *rows_[first - 1].item);
          rows_[row].item = nullptr;
          --live_;
        }
      }
    }
    merge_at_ = 2 * live_ < kBits ? kBits : 2 * live_;
    if (rows_.size() > 2 * live_ + kBits) Rebuild(words_);
  }

 private:
  static constexpr uint32_t kBits = 64;

  struct Row {
    Item* item;  // null: removed
    uint64_t hash;
  };
  struct Column {
    uint64_t* words;
  };

  Column& ColumnOf(Element element) {
    Column& column = columns_.Insert(Raw(element));
    if (column.words == nullptr) column.words = NewWords(words_);
    return column;
  }

  uint64_t* NewWords(uint64_t count) {
    auto* words = static_cast<uint64_t*>(arena_.Allocate(count * sizeof(uint64_t)));
    for (uint64_t i = 0; i < count; ++i) words[i] = 0;
    return words;
  }
  void FreeColumn(Column& column) { arena_.Free(column.words, words_ * sizeof(uint64_t)); }

  // The element was added to these rows of a word, or taken out of them.
  void Rehash(Element element, uint64_t word, uint64_t bits) {
    for (; bits != 0; bits &= bits - 1) {
      rows_[word * kBits + static_cast<uint64_t>(__builtin_ctzll(bits))].hash ^= HashKey(Raw(element));
    }
  }

  bool AreEqual(uint32_t a, uint32_t b) {
    bool equal = true;
    columns_.ForEach([&](uint64_t, const Column& column) {
      equal = equal && ((column.words[a / kBits] >> a % kBits ^ column.words[b / kBits] >> b % kBits) & 1) == 0;
    });
    return equal;
  }

  // Leaves out removed rows, and columns that are empty without them; makes room for `words` * 64 rows, or less if less do.
  void Rebuild(uint64_t words) {
    constexpr uint32_t kGone = UINT32_MAX;
    Vector<uint32_t, Mem> places(arena_);  // by old row
    uint32_t kept = 0;
    for (const Row& row : rows_) {
      places.Push(row.item == nullptr ? kGone : kept);
      if (row.item == nullptr) continue;
      row.item->row = kept;
      rows_[kept++] = Row(row);
    }
    while (rows_.size() > kept) rows_.Remove(rows_.size() - 1);
    while (words > 1 && kept < words * kBits / 4) words /= 2;

    Vector<uint64_t, Mem> empty(arena_);
    columns_.ForEach([&](uint64_t element, Column& column) {
      uint64_t* moved = NewWords(words);
      bool any = false;
      for (uint64_t word = 0; word < words_; ++word) {
        for (uint64_t bits = column.words[word]; bits != 0; bits &= bits - 1) {
          const uint32_t place = places[word * kBits + static_cast<uint64_t>(__builtin_ctzll(bits))];
          if (place == kGone) continue;
          moved[place / kBits] |= uint64_t{1} << place % kBits;
          any = true;
        }
      }
      FreeColumn(column);
      column.words = moved;
      if (!any) empty.Push(element);
    });
    words_ = words;
    for (const uint64_t element : empty) {
      FreeColumn(*columns_.Find(element));
      columns_.Erase(element);
    }
  }

  Arena<Mem>& arena_;
  Vector<Row, Mem> rows_;
  HashMap<Column, Mem> columns_;  // by element
  uint64_t words_ = 0;            // in each column
  uint32_t live_ = 0;
  uint32_t merge_at_ = 2;
};

}  // namespace redflag
