// Example 4 of the Goldilocks paper: money is moved by a transaction in one thread, and taken under a lock in another. A race: the one knows nothing of
// the other's means.
//
//   redflag c++ -O1 -g -fgnu-tm -o account examples/goldilocks/account.cc && redflag run ./account
#include <mutex>
#include <thread>

namespace {

struct Account {
  double bal = 100;
  std::mutex mutex;
  void Withdraw(double amount) {
    const std::lock_guard<std::mutex> guard(mutex);
    bal -= amount;
  }
};
Account savings, checking;

}  // namespace

int main() {
  std::thread first([] {
    __transaction_atomic {
      savings.bal -= 42;
      checking.bal += 42;
    }
  });
  std::thread second([] { checking.Withdraw(42); });
  first.join();
  second.join();
}
