// Matrix multiply, C = A * B, of n by n doubles: each thread computes a block of the rows of C, and reads all of B.
//
// Nothing but loads, stores and arithmetic in three nested loops: what remains of a detector's cost here is the check
// of one access, and what the compiler can do about it. The order of the loops makes two workloads of this file:
//
//   matmul-ijk  (-DORDER_IJK)  a dot product; the accesses to B jump from row to row, and the sum stays in a register
//   matmul-ikj  (the default)  rows of B are added to rows of C; all accesses are consecutive, many are writes
//
// Synchronization: the start and the end of the threads. The size is n.
#include "workload.h"

namespace {

#ifdef ORDER_IJK
constexpr const char* kName = "matmul-ijk";
#else
constexpr const char* kName = "matmul-ikj";
#endif

class Matrix {
 public:
  explicit Matrix(size_t n) : n_(n), cells_(n * n) {}
  size_t n() const { return n_; }
  double* row(size_t i) { return &cells_[i * n_]; }
  const double* row(size_t i) const { return &cells_[i * n_]; }

 private:
  const size_t n_;
  std::vector<double> cells_;
};

Matrix RandomMatrix(size_t n, uint64_t seed) {
  Matrix matrix(n);
  workload::Random random(seed);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) matrix.row(i)[j] = random.Unit() - 0.5;
  return matrix;
}

// Row i of the product; c is all zeros before.
void MultiplyRow(const Matrix& a, const Matrix& b, size_t i, double* c) {
  const size_t n = a.n();
  const double* row = a.row(i);
#ifdef ORDER_IJK
  for (size_t j = 0; j < n; ++j) {
    double sum = 0;
    for (size_t k = 0; k < n; ++k) sum += row[k] * b.row(k)[j];
    c[j] = sum;
  }
#else
  for (size_t k = 0; k < n; ++k) {
    const double factor = row[k];
    const double* other = b.row(k);
    for (size_t j = 0; j < n; ++j) c[j] += factor * other[j];
  }
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 600});
  const size_t n = options.size;
  const Matrix a = RandomMatrix(n, 1);
  const Matrix b = RandomMatrix(n, 2);
  Matrix c(n);

  workload::InParallel(options.threads, [&](int thread) {
    const workload::Range rows = workload::ShareOf(n, thread, options.threads);
    for (size_t i = rows.begin; i < rows.end; ++i) MultiplyRow(a, b, i, c.row(i));
  });

  workload::Checksum checksum;
  for (size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (size_t j = 0; j < n; ++j) sum += c.row(i)[j] * static_cast<double>(j % 7 + 1);
    checksum.Add(sum);
  }
  return workload::Finish(kName, checksum.Value());
}
