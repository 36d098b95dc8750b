// Monte Carlo pricing of a stock, after Java Grande's montecarlo.
//
// The size is the number of price paths. A task is a seed: it draws 1000 days of a geometric Brownian motion, with the
// drift and volatility of a history that all threads read, into a path on the heap, and then estimates both from the
// path. Every thread works on a slice of the list of tasks; results go into one vector under a mutex, in whatever order
// they come, and are sorted by task before the main thread averages them.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr size_t kDays = 1000;
constexpr double kDay = 1.0 / 365.0;  // in years

using Prices = std::vector<double>;

// Drift and volatility, by the year.
struct Rates {
  double drift, volatility;
};

struct Task {
  uint64_t id, seed;
};

struct Result {
  uint64_t task;
  Rates rates;
  double last_price;
};

// Marsaglia's polar method.
class Normal {
 public:
  explicit Normal(uint64_t seed) : random_(seed) {}

  double Next() {
    if (std::exchange(has_second_, false)) return second_;
    double x, y, square;
    do {
      x = 2 * random_.Unit() - 1;
      y = 2 * random_.Unit() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double scale = std::sqrt(-2 * std::log(square) / square);
    has_second_ = true;
    second_ = y * scale;
    return x * scale;
  }

 private:
  workload::Random random_;
  bool has_second_ = false;
  double second_ = 0;
};

Prices DrawPath(double first_price, Rates rates, uint64_t seed) {
  const double mean = (rates.drift - rates.volatility * rates.volatility / 2) * kDay;
  const double deviation = rates.volatility * std::sqrt(kDay);
  Normal normal(seed);
  Prices path(kDays);
  path[0] = first_price;
  for (size_t day = 1; day < kDays; ++day) path[day] = path[day - 1] * std::exp(mean + deviation * normal.Next());
  return path;
}

Rates Estimate(const Prices& path) {
  std::vector<double> returns;
  for (size_t day = 1; day < path.size(); ++day) returns.push_back(std::log(path[day] / path[day - 1]));
  const auto count = static_cast<double>(returns.size());
  double sum = 0;
  for (const double r : returns) sum += r;
  const double mean = sum / count;
  double squares = 0;
  for (const double r : returns) squares += (r - mean) * (r - mean);
  const double variance = squares / (count - 1);
  return {.drift = (mean + variance / 2) / kDay, .volatility = std::sqrt(variance / kDay)};
}

class Results {
 public:
  void Add(const Result& result) {
    const std::lock_guard lock(mutex_);
    results_.push_back(result);
  }

  std::vector<Result> InOrder() {
    const std::lock_guard lock(mutex_);
    std::ranges::sort(results_, {}, &Result::task);
    return results_;
  }

 private:
  std::mutex mutex_;
  std::vector<Result> results_;  // guarded by mutex_
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 20'000});
  const Prices history = DrawPath(100, {.drift = 0.05, .volatility = 0.3}, 2007);
  const Rates rates = Estimate(history);
  workload::Random seeds(613);
  std::vector<Task> tasks;
  for (uint64_t id = 0; id < options.size; ++id) tasks.push_back({.id = id, .seed = seeds.Next()});

  Results results;
  workload::InParallel(options.threads, [&](int thread) {
    const auto [begin, end] = workload::ShareOf(tasks.size(), thread, options.threads);
    for (size_t i = begin; i < end; ++i) {
      const Prices path = DrawPath(history.back(), rates, tasks[i].seed);
      results.Add({.task = tasks[i].id, .rates = Estimate(path), .last_price = path.back()});
    }
  });

  double drift = 0, volatility = 0, last_price = 0;
  for (const Result& result : results.InOrder()) {
    drift += result.rates.drift;
    volatility += result.rates.volatility;
    last_price += result.last_price;
  }
  workload::Checksum checksum;
  for (const double sum : {drift, volatility, last_price}) checksum.Add(sum / static_cast<double>(options.size));
  return workload::Finish("montecarlo", checksum.Value());
}
