// The multiset of the Goldilocks paper (6.1) on a transaction manager of the program's own, which Redflag is told of (redflag/transaction.hpp); or, for
// comparison, on the same one taken for ordinary code. It reads without a lock and looks at a version afterwards, as many do, libitm among them:
// right, and a race to whoever does not know that these are transactions.
//
//   redflag c++ -O2 -g -o own_stm examples/goldilocks/own_stm.cc && redflag run ./own_stm                       no race
//   redflag c++ -O2 -g -DORDINARY_CODE -o ordinary examples/goldilocks/own_stm.cc && redflag run ./ordinary     false ones
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"  // Redflag knows fences
#endif

#ifdef ORDINARY_CODE
#define STM_CODE __attribute__((noinline))
namespace {
struct Told {
  void read(const int*) {}
  void write(const int*) {}
  void commit() {}
};
}  // namespace
#else
#include <redflag/transaction.hpp>
#define STM_CODE __attribute__((noinline, no_sanitize("thread")))
using Told = redflag::transaction;
#endif

namespace {

uint64_t version = 0;  // odd: somebody commits

struct Conflict {};

// Reads what was there at one version, writes all at once when it commits.
class Transaction {
 public:
  STM_CODE Transaction() {
    while (((seen_ = __atomic_load_n(&version, __ATOMIC_ACQUIRE)) & 1) != 0) std::this_thread::yield();
  }

  STM_CODE int Read(const int* from) {
    for (int i = count_; i-- > 0;) {
      if (written_[i].to == from) return written_[i].value;
    }
    const int value = *from;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&version, __ATOMIC_RELAXED) != seen_) throw Conflict();
    told_.read(from);
    return value;
  }

  STM_CODE void Write(int* to, int value) {
    told_.write(to);
    written_[count_++] = {to, value};
  }

  STM_CODE void Commit() {
    if (count_ == 0) return told_.commit();
    uint64_t expected = seen_;
    if (!__atomic_compare_exchange_n(&version, &expected, seen_ + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      throw Conflict();
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (int i = 0; i < count_; ++i) *written_[i].to = written_[i].value;
    told_.commit();
    __atomic_store_n(&version, seen_ + 2, __ATOMIC_RELEASE);
  }

 private:
  static constexpr int kMost = 16;
  struct Written {
    int* to;
    int value;
  };
  Told told_;
  uint64_t seen_ = 0;
  Written written_[kMost];
  int count_ = 0;
};

template <class Body>
auto Atomically(const Body& body) {
  for (;;) {
    try {
      Transaction transaction;
      const auto result = body(transaction);
      transaction.Commit();
      return result;
    } catch (const Conflict&) {
      std::this_thread::yield();
    }
  }
}

constexpr int kSize = 10, kFree = 0;
struct Element {
  int number;  // kFree: none
};
Element elements[kSize];

bool Insert(int number) {
  return Atomically([number](Transaction& transaction) {
    for (Element& element : elements) {
      if (transaction.Read(&element.number) != kFree) continue;
      transaction.Write(&element.number, number);
      return true;
    }
    return false;
  });
}

int Count(int number) {
  return Atomically([number](Transaction& transaction) {
    int count = 0;
    for (const Element& element : elements) count += transaction.Read(&element.number) == number ? 1 : 0;
    return count;
  });
}

bool Remove(int number) {
  return Atomically([number](Transaction& transaction) {
    for (Element& element : elements) {
      if (transaction.Read(&element.number) != number) continue;
      transaction.Write(&element.number, kFree);
      return true;
    }
    return false;
  });
}

}  // namespace

int main() {
  constexpr int kThreads = 4, kOperations = 500;
  bool is_wrong[kThreads] = {};
  std::vector<std::thread> users;
  for (int t = 0; t < kThreads; ++t) {
    users.emplace_back([t, &is_wrong] {
      for (int i = 0; i < kOperations; ++i) {
        const int number = t + 1;
        if (!Insert(number)) continue;
        is_wrong[t] |= Count(number) != 1 || !Remove(number) || Count(number) != 0;
      }
    });
  }
  for (std::thread& user : users) user.join();
  for (const bool wrong : is_wrong) {
    if (wrong) return 1;
  }
  puts("all is well");
}
