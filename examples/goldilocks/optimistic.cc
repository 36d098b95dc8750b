// Races as conflicts (Goldilocks, section 1): readers count what is on all shelves without a lock. If somebody puts something there at the same time,
// the read that would race does not happen; the count begins again, under the lock.
//
//   redflag c++ -O1 -g -Iinclude -o optimistic examples/goldilocks/optimistic.cc && redflag run --exit-code 0 ./optimistic
#include <chrono>
#include <cstdio>
#include <mutex>
#include <redflag/checked.hpp>
#include <redflag/optimistic.hpp>
#include <thread>
#include <vector>

namespace {

constexpr int kShelves = 16, kMoves = 2000, kCounts = 400;
std::mutex mutex;
redflag::checked<int[kShelves], redflag::on_race::inherit> shelves;

// From one shelf to another: what there is stays the same, once both are done.
void Move(int from, int to) {
  const std::lock_guard<std::mutex> guard(mutex);
  --shelves[static_cast<size_t>(from)];
  ++shelves[static_cast<size_t>(to)];
}

}  // namespace

int main() {
  shelves[0] = 1000;
  std::thread mover([] {
    const redflag::race_scope scope(
        redflag::on_race::report);  // its writes race with counts that were made without the lock
    for (int i = 0; i < kMoves; ++i) {
      Move(i % kShelves, (i + 1) % kShelves);
      if (i % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  const redflag::race_scope scope(redflag::on_race::throw_error);
  int wrong = 0, without_lock = 0, rolled_back = 0;
  for (int i = 0; i < kCounts; ++i) {
    int total = 0, seen = 0;
    const bool was_free = redflag::optimistically(mutex, [&](redflag::undo_log& undo) {
      undo.keep(total);
      undo.on_race([&] { rolled_back += seen > 0 ? 1 : 0; });
      undo.keep(seen);
      for (size_t shelf = 0; shelf < kShelves; ++shelf, ++seen) total += shelves[shelf];
    });
    without_lock += was_free ? 1 : 0;
    if (total != 1000 || seen != kShelves) ++wrong;
    if (i == kCounts / 2) mover.join();
  }
  printf("%d counts, %d wrong, %d without the lock, %d rolled back in the middle\n", kCounts, wrong, without_lock,
         rolled_back);
  return wrong == 0 && without_lock >= kCounts / 2 - 1 ? 0 : 1;
}
