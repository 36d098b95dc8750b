// Example 3 of the Goldilocks paper: objects are private at first, then in a list that transactions alone touch, then private again. No race; but a
// detector that does not know transactions reports one.
//
//   redflag c++ -O1 -g -fgnu-tm -o list examples/goldilocks/transactional_list.cc && redflag run ./list
#include <cstdio>
#include <thread>

namespace {

struct Foo {
  int data;
  Foo* nxt;
};
Foo* head;
constexpr int kRounds = 300;

void Put() {
  for (int i = 0; i < kRounds; ++i) {
    auto* t1 = new Foo();
    t1->data = 42;
    __transaction_atomic {
      t1->nxt = head;
      head = t1;
    }
  }
}

void Reset() {
  for (int i = 0; i < kRounds / 10; ++i) {
    __transaction_atomic {
      for (Foo* iter = head; iter != nullptr; iter = iter->nxt) iter->data = 0;
    }
  }
}

int Take() {
  int sum = 0;
  for (int taken = 0; taken < kRounds;) {
    Foo* t3;
    __transaction_atomic {
      t3 = head;
      if (t3 != nullptr) head = t3->nxt;
    }
    if (t3 == nullptr) {
      std::this_thread::yield();
      continue;
    }
    t3->data++;
    sum += t3->data;
    delete t3;
    ++taken;
  }
  return sum;
}

}  // namespace

int main() {
  int sum = 0;
  std::thread first(Put), second(Reset), third([&sum] { sum = Take(); });
  first.join();
  second.join();
  third.join();
  const bool is_good = head == nullptr && sum >= kRounds && sum <= 43 * kRounds;
  puts(is_good ? "all is well" : "wrong");
  return is_good ? 0 : 1;
}
