// Fourier coefficients of f(x) = (x + 1)^x on [0, 2], after Java Grande's series.
//
// The size is the number of pairs (a_n, b_n). Every integral is a trapezoid sum of 1000 steps. A thread computes a
// slice of the coefficients into two shared arrays; there is no synchronization beyond starting and joining the
// threads. Nearly all the time goes to pow, sin and cos: what a detector costs a program that rarely touches memory.
#include <cmath>
#include <numbers>
#include <vector>

#include "workload.h"

namespace {

constexpr double kEnd = 2.0;
constexpr int kSteps = 1000;

double F(double x) { return std::pow(x + 1.0, x); }

template <class Integrand>
double Integrate(Integrand integrand) {
  constexpr double kWidth = kEnd / kSteps;
  double sum = (integrand(0.0) + integrand(kEnd)) / 2.0;
  for (int i = 1; i < kSteps; ++i) sum += integrand(i * kWidth);
  return sum * kWidth;
}

struct Series {
  std::vector<double> cosines, sines;

  explicit Series(size_t count) : cosines(count), sines(count) {}

  void Compute(size_t n) {
    const double omega = 2.0 * std::numbers::pi / kEnd * static_cast<double>(n);
    cosines[n] = Integrate([=](double x) { return F(x) * std::cos(omega * x); });
    sines[n] = Integrate([=](double x) { return F(x) * std::sin(omega * x); });
  }
};

// In units of 1e-8: the small coefficients are differences of large terms, so that their last digits are the libm's.
uint64_t Rounded(double coefficient) { return static_cast<uint64_t>(std::llround(coefficient * 1e8)); }

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 10'000});
  Series series(options.size);
  workload::InParallel(options.threads, [&](int thread) {
    const auto [begin, end] = workload::ShareOf(options.size, thread, options.threads);
    for (size_t n = begin; n < end; ++n) series.Compute(n);
  });

  workload::Checksum checksum;
  for (size_t n = 0; n < options.size; ++n) {
    checksum.Add(Rounded(series.cosines[n]));
    checksum.Add(Rounded(series.sines[n]));
  }
  return workload::Finish("series", checksum.Value());
}
