// Red-black successive over-relaxation, after the sor of the ETH benchmarks (sor2 in the Goldilocks paper).
//
// The size is the number of sweeps. What sor.cc does in one array, this does in two: the red and the black cells are
// packed into arrays of their own, with each row a separate block of half the width, so that a half sweep reads rows of
// one colour and writes rows of the other. Every thread owns a band of rows. All of them meet at a std::barrier after
// each half sweep.
//
// Cell k of row i lies in column 2k + Offset(colour, i). The cells above and below it have the same k in the other
// colour.
#include <barrier>
#include <vector>

#include "workload.h"

namespace {

constexpr size_t kRows = 600;
constexpr size_t kHalf = 300;  // columns of one colour
constexpr float kOmega = 1.25f;

enum Colour : size_t { kRed, kBlack };

constexpr size_t Offset(Colour colour, size_t i) { return (i + colour) % 2; }
constexpr Colour Other(Colour colour) { return colour == kRed ? kBlack : kRed; }

class Grid {
 public:
  Grid() {
    workload::Random random(20070611);
    for (size_t i = 0; i < kRows; ++i)
      for (const Colour colour : {kRed, kBlack}) {
        auto& row = cells_[colour].emplace_back(kHalf);
        for (float& cell : row) cell = static_cast<float>(random.Unit());
      }
  }

  // Updates the cells of one colour in the rows [begin, end), none of which may be the first or last of the grid.
  void HalfSweep(size_t begin, size_t end, Colour colour) {
    auto& mine = cells_[colour];
    const auto& others = cells_[Other(colour)];
    for (size_t i = begin; i < end; ++i) {
      const size_t offset = Offset(colour, i);
      const float* above = others[i - 1].data();
      const float* below = others[i + 1].data();
      const float* beside = others[i].data();
      float* row = mine[i].data();
      for (size_t k = 1 - offset; k < kHalf - offset; ++k)
        row[k] =
            kOmega / 4 * (above[k] + below[k] + beside[k + offset - 1] + beside[k + offset]) + (1 - kOmega) * row[k];
    }
  }

  double Total() const {
    double total = 0;
    for (const auto& rows : cells_)
      for (const auto& row : rows)
        for (const float cell : row) total += cell;
    return total;
  }

 private:
  std::vector<std::vector<float>> cells_[2];
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 1'300});
  Grid grid;
  std::barrier barrier(options.threads);
  workload::InParallel(options.threads, [&](int thread) {
    const auto [begin, end] = workload::ShareOf(kRows - 2, thread, options.threads);
    for (uint64_t sweep = 0; sweep < options.size; ++sweep)
      for (const Colour colour : {kRed, kBlack}) {
        grid.HalfSweep(begin + 1, end + 1, colour);
        barrier.arrive_and_wait();
      }
  });

  workload::Checksum checksum;
  checksum.Add(grid.Total());
  return workload::Finish("sor2", checksum.Value());
}
