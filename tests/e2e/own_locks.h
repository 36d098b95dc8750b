// Locks that a program makes for itself of atomic operations.
#ifndef REDFLAG_TESTS_E2E_OWN_LOCKS_H_
#define REDFLAG_TESTS_E2E_OWN_LOCKS_H_

#include <atomic>

#include "invisible.h"

class FlagLock {
 public:
  void Lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) usleep(20);
  }
  bool TryLock() { return !flag_.test_and_set(std::memory_order_acquire); }
  void Unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

class TicketLock {
 public:
  NOINLINE void Lock() {
    const unsigned mine = next_.fetch_add(1, std::memory_order_relaxed);
    while (serving_.load(std::memory_order_acquire) != mine) usleep(20);
  }
  NOINLINE void Unlock() { serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  std::atomic<unsigned> next_{0};
  std::atomic<unsigned> serving_{0};
};

// One word: how many readers, or -1 for a writer.
class SharedLock {
 public:
  void Lock() {
    int nobody = 0;
    while (!users_.compare_exchange_weak(nobody, -1, std::memory_order_acquire, std::memory_order_relaxed)) {
      nobody = 0;
      usleep(20);
    }
  }
  void Unlock() { users_.store(0, std::memory_order_release); }
  void ReadLock() {
    int readers = users_.load(std::memory_order_relaxed);
    while (readers < 0 ||
           !users_.compare_exchange_weak(readers, readers + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      usleep(20);
      readers = users_.load(std::memory_order_relaxed);
    }
  }
  void ReadUnlock() { users_.fetch_sub(1, std::memory_order_release); }

 private:
  std::atomic<int> users_{0};
};

// Two words, which readers and writers look at in different order.
class TwoWordLock {
 public:
  void Lock() {
    while (writer_.exchange(true)) usleep(20);
    while (readers_.load() != 0) usleep(20);
  }
  void Unlock() { writer_.store(false); }
  void ReadLock() {
    for (;;) {
      readers_.fetch_add(1);
      if (!writer_.load()) return;
      readers_.fetch_sub(1);
      usleep(20);
    }
  }
  void ReadUnlock() { readers_.fetch_sub(1); }

 private:
  std::atomic<int> readers_{0};
  std::atomic<bool> writer_{false};
};

// Each waits on a word of its own, and is told by the one before.
class QueueLock {
 public:
  struct Node {
    std::atomic<Node*> next{nullptr};
    std::atomic<bool> waits{false};
  };
  void Lock(Node& mine) {
    mine.next.store(nullptr, std::memory_order_relaxed);
    mine.waits.store(true, std::memory_order_relaxed);
    Node* before = last_.exchange(&mine, std::memory_order_acq_rel);
    if (before == nullptr) return;
    before->next.store(&mine, std::memory_order_release);
    while (mine.waits.load(std::memory_order_acquire)) usleep(20);
  }
  void Unlock(Node& mine) {
    Node* after = mine.next.load(std::memory_order_acquire);
    if (after == nullptr) {
      Node* expected = &mine;
      if (last_.compare_exchange_strong(expected, nullptr, std::memory_order_release, std::memory_order_relaxed))
        return;
      while ((after = mine.next.load(std::memory_order_acquire)) == nullptr) usleep(20);
    }
    after->waits.store(false, std::memory_order_release);
  }

 private:
  std::atomic<Node*> last_{nullptr};
};

#endif  // REDFLAG_TESTS_E2E_OWN_LOCKS_H_
