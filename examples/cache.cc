// A cache that counts what it holds under a lock. One place reads the count without it.
//
//   redflag c++ -g -o cache examples/cache.cc && redflag run ./cache
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

class Cache {
 public:
  void Insert(int key, std::string value) {
    const std::lock_guard guard(mutex_);
    entries_[key] = std::move(value);
    ++size_;
  }

  int Size() const { return size_; }  // a single int: what could go wrong?

 private:
  std::mutex mutex_;
  std::unordered_map<int, std::string> entries_;
  int size_ = 0;
};

void Fill(Cache& cache) {
  for (int i = 0; i < 1000; ++i) cache.Insert(i, "value");
}

int main() {
  auto cache = std::make_unique<Cache>();
  std::thread filler(Fill, std::ref(*cache));
  std::printf("%d so far\n", cache->Size());
  filler.join();
}
