// The travelling salesman's shortest round trip by branch and bound, after the tsp of the ETH benchmarks.
//
// The size is the number of cities. Partial tours wait in a shared priority queue, the one with the lowest bound first,
// under a mutex and a condition variable. A thread takes a tour, and puts back each of its extensions by one more city;
// once few cities are left, it searches all their orders by itself. A tour is allocated by the thread that makes it,
// handed over through the queue, read outside the lock, and freed by the thread that takes it.
//
// The shortest trip so far is written under a mutex of its own. Its length is also read without, relaxed, in order to
// prune: an old length only costs time. The checksum is the optimal length, whatever the order of the search.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr size_t kMaxCities = 24;
constexpr size_t kSearchAlone = 11;  // cities left

class Map {
 public:
  explicit Map(size_t cities) : cities_(cities) {
    workload::Random random(17);
    std::array<std::pair<double, double>, kMaxCities> places;
    for (auto& [x, y] : places) x = random.Unit() * 1000, y = random.Unit() * 1000;
    for (size_t a = 0; a < cities; ++a) {
      for (size_t b = 0; b < cities; ++b) {
        const double dx = places[a].first - places[b].first;
        const double dy = places[a].second - places[b].second;
        distances_[a][b] = static_cast<int>(std::sqrt(dx * dx + dy * dy) + 0.5);
      }
      shortest_[a] = distances_[a][a == 0 ? 1 : 0];
      for (size_t b = 0; b < cities; ++b)
        if (a != b) shortest_[a] = std::min(shortest_[a], distances_[a][b]);
    }
  }

  size_t cities() const { return cities_; }
  int Distance(size_t a, size_t b) const { return distances_[a][b]; }
  int Shortest(size_t a) const { return shortest_[a]; }  // to any other city

 private:
  const size_t cities_;
  std::array<std::array<int, kMaxCities>, kMaxCities> distances_{};
  std::array<int, kMaxCities> shortest_{};
};

// A way through some of the cities, from city 0.
class Tour {
 public:
  explicit Tour(const Map& map) {
    for (size_t city = 0; city < map.cities(); ++city) ahead_ += map.Shortest(city);
  }

  size_t last() const { return cities_[count_ - 1]; }
  size_t count() const { return count_; }
  bool Visits(size_t city) const { return (visited_ >> city & 1) != 0; }
  // No round trip that begins like this is shorter: the last city and those not visited must each be left once.
  int Bound() const { return length_ + ahead_; }
  int RoundTrip(const Map& map) const { return length_ + map.Distance(last(), 0); }

  void Append(const Map& map, size_t city) {
    length_ += map.Distance(last(), city);
    ahead_ -= map.Shortest(last());
    visited_ |= uint32_t{1} << city;
    cities_[count_++] = static_cast<uint8_t>(city);
  }

  void RemoveLast(const Map& map) {
    visited_ &= ~(uint32_t{1} << last());
    --count_;
    ahead_ += map.Shortest(last());
    length_ -= map.Distance(last(), cities_[count_]);
  }

 private:
  size_t count_ = 1;
  std::array<uint8_t, kMaxCities> cities_{};
  uint32_t visited_ = 1;
  int length_ = 0;
  int ahead_ = 0;  // what leaving the last city and those not visited takes at least
};

class TourQueue {
 public:
  explicit TourQueue(int threads) : working_(threads) {}

  void Push(std::unique_ptr<Tour> tour) {
    const std::lock_guard lock(mutex_);
    heap_.push_back(std::move(tour));
    std::ranges::push_heap(heap_, kLater);
    changed_.notify_one();
  }

  // Null when there is nothing left and no thread is at work that could push more.
  std::unique_ptr<Tour> Pop() {
    std::unique_lock lock(mutex_);
    --working_;
    changed_.wait(lock, [&] { return !heap_.empty() || working_ == 0; });
    if (heap_.empty()) {
      changed_.notify_all();
      return nullptr;
    }
    ++working_;
    std::ranges::pop_heap(heap_, kLater);
    std::unique_ptr<Tour> tour = std::move(heap_.back());
    heap_.pop_back();
    return tour;
  }

 private:
  static constexpr auto kLater = [](const auto& a, const auto& b) { return a->Bound() > b->Bound(); };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Tour>> heap_;  // guarded by mutex_
  int working_;                              // guarded by mutex_
};

class Best {
 public:
  Best(const Map& map, const Tour& tour) : length_(tour.RoundTrip(map)), tour_(tour) {}

  int length() const { return length_.load(std::memory_order_relaxed); }

  void Offer(const Map& map, const Tour& tour) {
    const int length = tour.RoundTrip(map);
    const std::lock_guard lock(mutex_);
    if (length >= this->length()) return;
    length_.store(length, std::memory_order_relaxed);
    tour_ = tour;
  }

  const Tour& tour() const { return tour_; }  // once all threads are done

 private:
  std::mutex mutex_;
  std::atomic<int> length_;  // written under mutex_
  Tour tour_;                // guarded by mutex_
};

// Always on to the nearest city: a first bound.
Tour Greedy(const Map& map) {
  Tour tour(map);
  while (tour.count() < map.cities()) {
    size_t next = 0;
    for (size_t city = 1; city < map.cities(); ++city)
      if (!tour.Visits(city) && (next == 0 || map.Distance(tour.last(), city) < map.Distance(tour.last(), next)))
        next = city;
    tour.Append(map, next);
  }
  return tour;
}

class Search {
 public:
  Search(const Map& map, int threads) : map_(map), queue_(threads), best_(map, Greedy(map)) {
    queue_.Push(std::make_unique<Tour>(map));
  }

  void Run() {
    while (const std::unique_ptr<Tour> tour = queue_.Pop()) {
      if (tour->Bound() >= best_.length()) continue;
      if (map_.cities() - tour->count() <= kSearchAlone)
        SearchBelow(*tour);
      else
        Branch(*tour);
    }
  }

  int Length() const { return best_.tour().RoundTrip(map_); }

 private:
  void Branch(const Tour& tour) {
    for (size_t city = 1; city < map_.cities(); ++city) {
      if (tour.Visits(city)) continue;
      auto longer = std::make_unique<Tour>(tour);
      longer->Append(map_, city);
      if (longer->Bound() < best_.length()) queue_.Push(std::move(longer));
    }
  }

  void SearchBelow(Tour& tour) {
    if (tour.Bound() >= best_.length()) return;
    if (tour.count() == map_.cities()) return best_.Offer(map_, tour);
    for (size_t city = 1; city < map_.cities(); ++city) {
      if (tour.Visits(city)) continue;
      tour.Append(map_, city);
      SearchBelow(tour);
      tour.RemoveLast(map_);
    }
  }

  const Map& map_;
  TourQueue queue_;
  Best best_;
};

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 17});
  if (options.size > kMaxCities) workload::Usage(argv[0]);
  const Map map(options.size);
  Search search(map, options.threads);
  workload::InParallel(options.threads, [&](int) { search.Run(); });

  workload::Checksum checksum;
  checksum.Add(static_cast<uint64_t>(search.Length()));
  return workload::Finish("tsp", checksum.Value());
}
