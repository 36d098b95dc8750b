// Transactional multiset, after the Goldilocks paper (section 6.1): threads insert, query and delete integers in an
// array of ten slots by software transactions. What they insert comes in arrays from a shared factory, under a lock.
//
// As in the paper, inserting an array takes a transaction for each slot that is allocated; if all are found, one more
// makes the elements visible, else one more frees the slots again, and the thread waits in line until others delete.
//
// The implementation of transactions makes two workloads of this file:
//
//   multiset     (the default)             locks of the objects accessed, as in the paper: two-phase, with undo log
//   multiset-tm  (-DUSE_TM, g++ -fgnu-tm)  the compiler's own __transaction_atomic
//
// Synchronization: a std::mutex per slot, taken in order of slots, or tried, with rollback and retry if it is not free;
// mutexes and a condition variable outside of transactions. The size is the number of arrays inserted.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>

#include "workload.h"

namespace {

constexpr size_t kSlots = 10;
constexpr size_t kMaxLength = 3;

struct Cell {
  enum State : uint64_t { kFree, kAllocated, kVisible };
  State state;
  uint64_t element;
};

#ifdef USE_TM

constexpr const char* kName = "multiset-tm";

struct alignas(64) Slot {
  Cell cell;
};
Slot slots[kSlots];

// The compiler sees all that is called in a transaction, and so finds out by itself that it may be.
class Transaction {
 public:
  Cell Read(size_t slot) const { return slots[slot].cell; }
  void Write(size_t slot, Cell cell) const { slots[slot].cell = cell; }
};

// Runs body(transaction), as if nothing else ran meanwhile, and returns what it returns.
template <class Body>
auto Atomically(const Body& body) {
  const Transaction transaction;
  __transaction_atomic { return body(transaction); }
}

#else

constexpr const char* kName = "multiset";

struct alignas(64) Slot {
  std::mutex mutex;
  Cell cell{Cell::kFree, 0};
};
Slot slots[kSlots];

// Takes the lock of each slot at its first access and keeps it to the end. Slots in ascending order are waited for:
// that can't deadlock. Any other is tried, and if it is taken, the transaction is rolled back and starts over.
class Transaction {
 public:
  struct Conflict {
    size_t slot;
  };

  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    while (undo_count_ > 0) {
      const Undo& undo = undo_[--undo_count_];
      slots[undo.slot].cell = undo.cell;
    }
    for (size_t slot = 0; slot < kSlots; ++slot)
      if (held_[slot]) slots[slot].mutex.unlock();
  }

  Cell Read(size_t slot) {
    Acquire(slot);
    return slots[slot].cell;
  }
  void Write(size_t slot, Cell cell) {
    Acquire(slot);
    undo_[undo_count_++] = {slot, slots[slot].cell};
    slots[slot].cell = cell;
  }
  void Commit() { undo_count_ = 0; }

 private:
  struct Undo {
    size_t slot;
    Cell cell;
  };

  void Acquire(size_t slot) {
    if (held_[slot]) return;
    if (slot >= first_above_)
      slots[slot].mutex.lock();
    else if (!slots[slot].mutex.try_lock())
      throw Conflict{slot};
    held_[slot] = true;
    first_above_ = std::max(first_above_, slot + 1);
  }

  std::array<bool, kSlots> held_{};
  size_t first_above_ = 0;  // all held are below
  std::array<Undo, kMaxLength> undo_;
  size_t undo_count_ = 0;
};

// Runs body(transaction), as if nothing else ran meanwhile, and returns what it returns.
template <class Body>
auto Atomically(const Body& body) {
  while (true) {
    try {
      Transaction transaction;
      const auto result = body(transaction);
      transaction.Commit();
      return result;
    } catch (const Transaction::Conflict& conflict) {
      const std::lock_guard until_it_is_free(slots[conflict.slot].mutex);
    }
  }
}

#endif

// Integers to insert. Belongs to one thread at a time.
struct Array {
  uint64_t number;
  size_t length;
  std::array<uint64_t, kMaxLength> elements;
};

// Makes a given number of arrays, and uses the memory of those that are returned again.
class Factory {
 public:
  explicit Factory(uint64_t count) : count_(count) {}

  // Null once all are made.
  std::unique_ptr<Array> Make() {
    const std::lock_guard lock(mutex_);
    if (made_ == count_) return nullptr;
    std::unique_ptr<Array> array;
    if (returned_.empty()) {
      array = std::make_unique<Array>();
    } else {
      array = std::move(returned_.back());
      returned_.pop_back();
    }
    array->number = made_++;
    workload::Random random(array->number);
    array->length = 1 + random.Below(kMaxLength);
    for (uint64_t& element : array->elements) element = random.Below(100);
    return array;
  }

  void Return(std::unique_ptr<Array> array) {
    const std::lock_guard lock(mutex_);
    returned_.push_back(std::move(array));
  }

 private:
  const uint64_t count_;
  std::mutex mutex_;
  uint64_t made_ = 0;
  std::vector<std::unique_ptr<Array>> returned_;
};

// Those who found no room. They stand in line, and the first tries again whenever a slot may have become free.
class WaitingLine {
 public:
  void SlotFreed() {
    const std::lock_guard lock(mutex_);
    ++times_freed_;
    freed_.notify_one();
  }

  // Returns when try_again() has returned true.
  template <class Try>
  void Wait(const Try& try_again) {
    const std::lock_guard first_in_line(line_);
    std::unique_lock lock(mutex_);
    while (true) {
      const uint64_t times_freed = times_freed_;
      lock.unlock();
      if (try_again()) return;
      lock.lock();
      freed_.wait(lock, [&] { return times_freed_ > times_freed; });
    }
  }

 private:
  std::mutex line_;
  std::mutex mutex_;  // guards times_freed_
  std::condition_variable freed_;
  uint64_t times_freed_ = 0;
};

class Multiset {
 public:
  // Waits for room if need be.
  void Insert(const Array& array) {
    if (TryInsert(array)) return;
    waiting_.SlotFreed();  // what we had allocated may have been in the way of the first in line
    waiting_.Wait([&] { return TryInsert(array); });
  }

  uint64_t Count(uint64_t element) const {
    return Atomically([element](auto& transaction) {
      uint64_t count = 0;
      for (size_t slot = 0; slot < kSlots; ++slot) count += Holds(transaction.Read(slot), element) ? 1 : 0;
      return count;
    });
  }

  // One of these elements; false if there is none.
  bool Delete(uint64_t element) {
    const bool deleted = Atomically([element](auto& transaction) {
      for (size_t slot = 0; slot < kSlots; ++slot) {
        if (!Holds(transaction.Read(slot), element)) continue;
        transaction.Write(slot, {Cell::kFree, 0});
        return true;
      }
      return false;
    });
    if (deleted) waiting_.SlotFreed();
    return deleted;
  }

 private:
  // All of the array's elements or none.
  static bool TryInsert(const Array& array) {
    std::array<size_t, kMaxLength> allocated;
    for (size_t count = 0; count < array.length; ++count) {
      allocated[count] = Allocate(array.number % kSlots);
      if (allocated[count] == kSlots) {
        SetAll(allocated, count, Cell::kFree, array);
        return false;
      }
    }
    SetAll(allocated, array.length, Cell::kVisible, array);
    return true;
  }

  static bool Holds(const Cell& cell, uint64_t element) {
    return cell.state == Cell::kVisible && cell.element == element;
  }

  // A slot, looked for from `start` on and around; kSlots if none is free.
  static size_t Allocate(size_t start) {
    return Atomically([start](auto& transaction) {
      for (size_t i = 0; i < kSlots; ++i) {
        const size_t slot = (start + i) % kSlots;
        if (transaction.Read(slot).state != Cell::kFree) continue;
        transaction.Write(slot, {Cell::kAllocated, 0});
        return slot;
      }
      return kSlots;
    });
  }

  static void SetAll(const std::array<size_t, kMaxLength>& allocated, size_t count, Cell::State state,
                     const Array& array) {
    const size_t* const which = allocated.data();
    const uint64_t* const elements = array.elements.data();
    Atomically([=](auto& transaction) {
      for (size_t i = 0; i < count; ++i) transaction.Write(which[i], {state, elements[i]});
      return true;
    });
  }

  WaitingLine waiting_;
};

// What is inserted is found, and can be deleted, whatever the other threads do.
uint64_t InsertQueryDelete(Multiset* multiset, const Array& array) {
  workload::Checksum checksum;
  checksum.Add(array.number);
  multiset->Insert(array);
  for (size_t i = 0; i < array.length; ++i) {
    checksum.Add(array.elements[i]);
    checksum.Add(uint64_t{multiset->Count(array.elements[i]) > 0});
  }
  for (size_t i = 0; i < array.length; ++i) checksum.Add(uint64_t{multiset->Delete(array.elements[i])});
  return checksum.Value();
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 300'000});
  Factory factory(options.size);
  Multiset multiset;
  std::vector<uint64_t> digests(options.threads);

  workload::InParallel(options.threads, [&](int thread) {
    while (std::unique_ptr<Array> array = factory.Make()) {
      digests[thread] += InsertQueryDelete(&multiset, *array);
      factory.Return(std::move(array));
    }
  });

  return workload::Finish(kName, std::accumulate(digests.begin(), digests.end(), uint64_t{0}));
}
