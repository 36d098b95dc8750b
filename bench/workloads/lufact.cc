// LU factorization with partial pivoting and the solution of a dense linear system (linpack), after Java Grande's
// lufact.
//
// The size is the order of the matrix. The matrix is a list of columns, each an array of its own. For every step k,
// thread 0 finds the pivot of column k and scales it while the others wait at a pthread barrier; then each thread
// eliminates in its share of the columns that remain, and all meet at the barrier again. As the remaining columns
// become fewer they are shared out anew, so that most columns pass from thread to thread as the factorization goes on.
#include <pthread.h>

#include <cmath>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

using Column = std::vector<double>;

class Barrier {
 public:
  explicit Barrier(int threads) { pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(threads)); }
  ~Barrier() { pthread_barrier_destroy(&barrier_); }
  void Wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

Column RandomColumn(size_t size, workload::Random& random) {
  Column column(size);
  for (double& x : column) x = random.Unit() - 0.5;
  return column;
}

// y += factor * x, for the rows from `first`.
void AddMultiple(Column& y, double factor, const Column& x, size_t first) {
  for (size_t i = first; i < y.size(); ++i) y[i] += factor * x[i];
}

class System {
 public:
  System(size_t size, int threads) : size_(size), threads_(threads), barrier_(threads), pivots_(size) {
    workload::Random random(1325);
    for (size_t j = 0; j < size; ++j) columns_.push_back(RandomColumn(size, random));
    right_side_ = RandomColumn(size, random);
  }

  // To be called in all threads. Afterwards the columns hold U and, below the diagonal, the negative multipliers of L.
  void Factorize(int thread) {
    for (size_t k = 0; k + 1 < size_; ++k) {
      if (thread == 0) ChoosePivot(k);
      barrier_.Wait();
      const auto [begin, end] = workload::ShareOf(size_ - k - 1, thread, threads_);
      for (size_t j = k + 1 + begin; j < k + 1 + end; ++j) Eliminate(k, columns_[j]);
      barrier_.Wait();
    }
  }

  Column Solve() const {
    Column x = right_side_;
    for (size_t k = 0; k + 1 < size_; ++k) Eliminate(k, x);
    for (size_t k = size_; k-- > 0;) {
      x[k] /= columns_[k][k];
      for (size_t i = 0; i < k; ++i) x[i] -= x[k] * columns_[k][i];
    }
    return x;
  }

 private:
  void ChoosePivot(size_t k) {
    Column& column = columns_[k];
    size_t pivot = k;
    for (size_t i = k + 1; i < size_; ++i)
      if (std::fabs(column[i]) > std::fabs(column[pivot])) pivot = i;
    pivots_[k] = pivot;
    std::swap(column[k], column[pivot]);
    for (size_t i = k + 1; i < size_; ++i) column[i] /= -column[k];
  }

  // Step k of the factorization, for a column to the right of k or for the right side.
  void Eliminate(size_t k, Column& column) const {
    std::swap(column[k], column[pivots_[k]]);
    AddMultiple(column, column[k], columns_[k], k + 1);
  }

  const size_t size_;
  const int threads_;
  Barrier barrier_;
  std::vector<Column> columns_;
  std::vector<size_t> pivots_;  // [k] is the row that was exchanged with row k
  Column right_side_;
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 1'300});
  System system(options.size, options.threads);
  workload::InParallel(options.threads, [&](int thread) { system.Factorize(thread); });

  workload::Checksum checksum;
  for (const double x : system.Solve()) checksum.Add(x);
  return workload::Finish("lufact", checksum.Value());
}
