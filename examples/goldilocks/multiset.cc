// The transactional multiset of the Goldilocks paper (6.1): threads insert and remove numbers; room is found by a transaction for each number, and all
// become visible in one. The numbers themselves come from a factory with a lock. No race.
//
//   redflag c++ -O2 -g -fgnu-tm -o multiset examples/goldilocks/multiset.cc && redflag run ./multiset 10 200       threads, operations of each
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kSize = 10, kMost = 3;
enum State { kFree, kReserved, kValid };
struct Element {
  int number;
  State state;
};
Element elements[kSize];

struct Numbers {
  int count;
  int values[kMost];
};
class Factory {
 public:
  Numbers* Make() {
    const std::lock_guard<std::mutex> guard(mutex_);
    auto* numbers = new Numbers();
    numbers->count = 1 + static_cast<int>(next_ % kMost);
    for (int i = 0; i < numbers->count; ++i) numbers->values[i] = static_cast<int>(next_++ % 7);
    return numbers;
  }

 private:
  std::mutex mutex_;
  unsigned next_ = 0;
} factory;

int Reserve() {
  int found = -1;
  __transaction_atomic {
    for (int i = 0; i < kSize && found < 0; ++i) {
      if (elements[i].state == kFree) {
        elements[i].state = kReserved;
        found = i;
      }
    }
  }
  return found;
}

bool Insert(const Numbers* numbers) {
  int places[kMost];
  int count = 0;
  while (count < numbers->count && (places[count] = Reserve()) >= 0) ++count;
  const bool has_room = count == numbers->count;
  __transaction_atomic {
    for (int i = 0; i < count; ++i) {
      elements[places[i]].number = numbers->values[i];
      elements[places[i]].state = has_room ? kValid : kFree;
    }
  }
  return has_room;
}

bool Remove(int number) {
  bool is_found = false;
  __transaction_atomic {
    for (int i = 0; i < kSize && !is_found; ++i) {
      if (elements[i].state == kValid && elements[i].number == number) {
        elements[i].state = kFree;
        is_found = true;
      }
    }
  }
  return is_found;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 5;
  const int operations = argc > 2 ? atoi(argv[2]) : 200;
  std::vector<std::thread> users;
  for (int t = 0; t < threads; ++t) {
    users.emplace_back([operations, t] {
      for (int i = 0; i < operations; ++i) {
        Numbers* numbers = factory.Make();
        Insert(numbers);
        delete numbers;
        Remove((i + t) % 7);
        Remove((i + t + 3) % 7);
      }
    });
  }
  for (std::thread& user : users) user.join();
  for (const Element& element : elements) {
    if (element.state == kReserved) return 1;
  }
  puts("all is well");
}
