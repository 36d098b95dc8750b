// A small numerics library in the manner of Colt (dense and sparse matrices, histograms) used by many threads at once.
//
// The size is the number of jobs; threads take them in batches from an atomic counter. A job correlates one row of a
// dense matrix with a block of others. The threads share
//   - the norms of rows, computed at first use and kept in a cache under a reader-writer lock;
//   - a sparse matrix and a histogram, neither safe by itself, each behind a synchronized view: a wrapper that lets
//     nobody at the object without its mutex, like Java's synchronized collections;
//   - a dense matrix of sums behind one such view for each band of rows.
// Whatever is summed by several threads is an integer, so that the order doesn't matter.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr size_t kRows = 128;
constexpr size_t kColumns = 512;
constexpr size_t kBlock = 16;  // rows that one job looks at
constexpr size_t kBands = 8;   // of the matrix of sums
constexpr size_t kBins = 64;
constexpr uint64_t kBatch = 8;

template <class T>
class DenseMatrix {
 public:
  DenseMatrix(size_t rows, size_t columns) : rows_(rows), columns_(columns), cells_(rows * columns) {}

  size_t rows() const { return rows_; }
  std::span<T> Row(size_t i) { return std::span(cells_).subspan(i * columns_, columns_); }
  std::span<const T> Row(size_t i) const { return std::span(cells_).subspan(i * columns_, columns_); }

 private:
  size_t rows_, columns_;
  std::vector<T> cells_;
};

class SparseMatrix {
 public:
  void Add(uint32_t row, uint32_t column, int64_t value) { cells_[uint64_t{row} << 32 | column] += value; }

  int64_t Get(uint32_t row, uint32_t column) const {
    const auto found = cells_.find(uint64_t{row} << 32 | column);
    return found == cells_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<uint64_t, int64_t> cells_;
};

class Histogram {
 public:
  // Of values in [-1, 1].
  void Fill(double value) {
    const auto bin = static_cast<size_t>((value + 1) / 2 * kBins);
    ++bins_[std::min(bin, kBins - 1)];
  }
  std::span<const uint64_t> bins() const { return bins_; }

 private:
  std::array<uint64_t, kBins> bins_{};
};

// Calls get at the object one at a time.
template <class T>
class Synchronized {
 public:
  template <class... Arguments>
  explicit Synchronized(Arguments&&... arguments) : object_(std::forward<Arguments>(arguments)...) {}

  template <class Call>
  auto With(Call&& call) {
    const std::lock_guard lock(mutex_);
    return call(object_);
  }

 private:
  std::mutex mutex_;
  T object_;  // guarded by mutex_
};

double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class NormCache {
 public:
  explicit NormCache(const DenseMatrix<double>& matrix) : matrix_(matrix), norms_(matrix.rows()) {}

  double Norm(size_t row) {
    {
      const std::shared_lock lock(mutex_);
      if (norms_[row]) return *norms_[row];
    }
    const double norm = std::sqrt(Dot(matrix_.Row(row), matrix_.Row(row)));
    const std::lock_guard lock(mutex_);
    norms_[row] = norm;
    return norm;
  }

 private:
  const DenseMatrix<double>& matrix_;
  std::shared_mutex mutex_;
  std::vector<std::optional<double>> norms_;  // guarded by mutex_
};

class Study {
 public:
  Study() : samples_(kRows, kColumns), norms_(samples_) {
    workload::Random random(1999);
    for (size_t i = 0; i < kRows; ++i)
      for (double& cell : samples_.Row(i)) cell = random.Unit() - 0.5;
    for (size_t i = 0; i < kBands; ++i)
      sums_.push_back(std::make_unique<Synchronized<DenseMatrix<int64_t>>>(kRows / kBands, kRows));
  }

  void Job(uint64_t job) {
    workload::Random random(job);
    const size_t row = random.Below(kRows);
    const size_t first = random.Below(kRows - kBlock);

    std::array<double, kBlock> found;
    const double norm = norms_.Norm(row);
    for (size_t i = 0; i < kBlock; ++i) {
      const double norms = norm * norms_.Norm(first + i);
      found[i] = Dot(samples_.Row(row), samples_.Row(first + i)) / norms;
    }

    histogram_.With([&](Histogram& histogram) {
      for (const double correlation : found) histogram.Fill(correlation);
    });
    strong_.With([&](SparseMatrix& strong) {
      for (size_t i = 0; i < kBlock; ++i)
        if (std::fabs(found[i]) > 0.1)
          strong.Add(static_cast<uint32_t>(row), static_cast<uint32_t>(first + i), Millionths(found[i]));
    });
    sums_[row / (kRows / kBands)]->With([&](DenseMatrix<int64_t>& band) {
      const auto sums = band.Row(row % (kRows / kBands));
      for (size_t i = 0; i < kBlock; ++i) sums[first + i] += Millionths(found[i]);
    });
  }

  uint64_t Result() {
    workload::Checksum checksum;
    histogram_.With([&](Histogram& histogram) {
      for (const uint64_t bin : histogram.bins()) checksum.Add(bin);
    });
    strong_.With([&](SparseMatrix& strong) {
      for (uint32_t i = 0; i < kRows; ++i)
        for (uint32_t j = 0; j < kRows; ++j) checksum.Add(static_cast<uint64_t>(strong.Get(i, j)));
    });
    for (const auto& view : sums_)
      view->With([&](DenseMatrix<int64_t>& band) {
        for (size_t i = 0; i < band.rows(); ++i)
          for (const int64_t sum : band.Row(i)) checksum.Add(static_cast<uint64_t>(sum));
      });
    return checksum.Value();
  }

 private:
  static int64_t Millionths(double value) { return std::llround(value * 1e6); }

  DenseMatrix<double> samples_;  // constant while threads run
  NormCache norms_;
  Synchronized<Histogram> histogram_;
  Synchronized<SparseMatrix> strong_;
  std::vector<std::unique_ptr<Synchronized<DenseMatrix<int64_t>>>> sums_;  // by band of rows
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 80'000});
  Study study;
  std::atomic<uint64_t> next = 0;
  workload::InParallel(options.threads, [&](int) {
    for (uint64_t begin; (begin = next.fetch_add(kBatch, std::memory_order_relaxed)) < options.size;)
      for (uint64_t job = begin; job < std::min(begin + kBatch, options.size); ++job) study.Job(job);
  });
  return workload::Finish("colt", study.Result());
}
