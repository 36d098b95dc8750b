// Example 2 of the Goldilocks paper: an object is handed from thread to thread under two locks, and written by each without any. No race:
// `redflag run -d hb` and `-d goldilocks` are silent, `-d lockset` is not.
//
//   redflag c++ -O1 -g -o boxes examples/goldilocks/boxes.cc && redflag run -d goldilocks ./boxes
#include <mutex>
#include <thread>

namespace {

struct IntBox {
  int data;
};
IntBox* a;
IntBox* b;
std::mutex ma, mb;

IntBox* Take(IntBox*& box, std::mutex& mutex) {
  for (;;) {
    const std::lock_guard<std::mutex> guard(mutex);
    if (box != nullptr) return box;
  }
}

}  // namespace

int main() {
  std::thread first([] {
    auto* tmp1 = new IntBox();
    tmp1->data = 0;
    const std::lock_guard<std::mutex> guard(ma);
    a = tmp1;
  });
  std::thread second([] {
    IntBox* tmp2 = Take(a, ma);
    const std::lock_guard<std::mutex> guard(mb);
    b = tmp2;
  });
  std::thread third([] {
    IntBox* tmp3 = Take(b, mb);
    {
      const std::lock_guard<std::mutex> guard(mb);
      b->data = 2;
    }
    tmp3->data = 3;
  });
  first.join();
  second.join();
  third.join();
  const bool is_good = b->data == 3;
  delete b;
  return is_good ? 0 : 1;
}
