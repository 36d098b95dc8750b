// Red-black successive over-relaxation on a square grid, after Java Grande's sor.
//
// The size is the number of sweeps. A sweep updates the red cells of the checkerboard from their black neighbours and
// then the black ones from the red. Every thread owns a band of rows, and no barrier holds all of them together: a
// thread publishes how many half sweeps it has done in a counter of its own (Java Grande's volatile `sync` array), and
// starts its next one once the threads above and below have done as many. That one condition orders both what it reads
// of their rows and what they read of its own.
//
// Stores to a counter release, loads acquire. A thread that must wait does so in std::atomic::wait, which tries a few
// times and then sleeps on a futex.
#include <algorithm>
#include <atomic>
#include <vector>

#include "workload.h"

namespace {

constexpr size_t kSide = 500;
constexpr size_t kInner = kSide - 2;  // the border is fixed
constexpr double kOmega = 1.25;

class Grid {
 public:
  Grid() : cells_(kSide * kSide) {
    workload::Random random(10101010);
    for (double& cell : cells_) cell = random.Unit() * 1e-6;
  }

  // Of the rows [begin, end), the cells whose row and column add up to an odd (colour 0) or even (colour 1) number.
  void HalfSweep(size_t begin, size_t end, size_t colour) {
    for (size_t i = begin; i < end; ++i) {
      const double* above = Row(i - 1);
      const double* below = Row(i + 1);
      double* row = Row(i);
      for (size_t j = 1 + (i + colour) % 2; j < kSide - 1; j += 2)
        row[j] = kOmega / 4 * (above[j] + below[j] + row[j - 1] + row[j + 1]) + (1 - kOmega) * row[j];
    }
  }

  double Total() const {
    double total = 0;
    for (const double cell : cells_) total += cell;
    return total;
  }

 private:
  double* Row(size_t i) { return cells_.data() + i * kSide; }

  std::vector<double> cells_;
};

// How many half sweeps a thread has done: written by that thread, waited for by its neighbours.
class alignas(64) Progress {
 public:
  void Publish(int done) {
    done_.store(done, std::memory_order_release);
    done_.notify_all();
  }

  void Await(int wanted) const {
    for (int seen; (seen = done_.load(std::memory_order_acquire)) < wanted;)
      done_.wait(seen, std::memory_order_acquire);
  }

 private:
  std::atomic<int> done_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 1'800});
  const int half_sweeps = static_cast<int>(2 * options.size);
  // Waiting for the next threads only is enough as long as they own the next rows: no band may be empty.
  const int threads = std::min(options.threads, static_cast<int>(kInner));

  Grid grid;
  std::vector<Progress> progress(static_cast<size_t>(threads));
  workload::InParallel(threads, [&](int thread) {
    const auto self = static_cast<size_t>(thread);
    const auto [begin, end] = workload::ShareOf(kInner, thread, threads);
    for (int done = 0; done < half_sweeps; ++done) {
      if (self > 0) progress[self - 1].Await(done);
      if (self + 1 < progress.size()) progress[self + 1].Await(done);
      grid.HalfSweep(begin + 1, end + 1, static_cast<size_t>(done % 2));
      progress[self].Publish(done + 1);
    }
  });

  workload::Checksum checksum;
  checksum.Add(grid.Total());
  return workload::Finish("sor", checksum.Value());
}
