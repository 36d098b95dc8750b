// What every workload shares: its two options and the line that it prints.
//
//   NAME [--threads N] [--size N]
//
// The size is in the workload's own units. A workload prints one line, `NAME checksum=HEX`, that depends on the size alone:
// the same under every tool, with any number of threads. Every workload is free of data races.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#ifdef WORKLOAD_PROGRESS
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#endif

namespace workload {

#ifdef WORKLOAD_PROGRESS
// For who measures how fast it gets on while it runs: each thread counts what it did, in the file of that name, a cache line for each.
inline void Progress() {
  constexpr size_t kThreads = 64, kLine = 8;
  static std::atomic<size_t> threads{0};
  static uint64_t* const counts = [] {
    const char* name = std::getenv("WORKLOAD_PROGRESS");
    const int fd = name == nullptr ? -1 : open(name, O_RDWR | O_CREAT, 0600);
    constexpr size_t kBytes = kThreads * kLine * sizeof(uint64_t);
    if (fd < 0 || ftruncate(fd, kBytes) != 0) std::abort();
    return static_cast<uint64_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  }();
  thread_local uint64_t* const own = counts + threads.fetch_add(1) % kThreads * kLine;
  std::atomic_ref<uint64_t>(*own).store(*own + 1, std::memory_order_relaxed);
}
#else
inline void Progress() {}
#endif

struct Options {
  int threads;
  uint64_t size;
};

[[noreturn]] inline void Usage(const char* program) {
  std::fprintf(stderr, "usage: %s [--threads N] [--size N], both at least 1\n", program);
  std::exit(2);
}

inline Options Parse(int argc, char** argv, Options defaults) {
  Options options = defaults;
  for (int i = 1; i < argc; i += 2) {
    char* end = nullptr;
    const uint64_t value = i + 1 < argc ? std::strtoull(argv[i + 1], &end, 10) : 0;
    if (value == 0 || *end != '\0') Usage(argv[0]);
    if (std::strcmp(argv[i], "--threads") == 0 && value <= 1024)
      options.threads = static_cast<int>(value);
    else if (std::strcmp(argv[i], "--size") == 0)
      options.size = value;
    else
      Usage(argv[0]);
  }
  return options;
}

// Runs body(0) ... body(count - 1), each in a thread of its own, and waits for them all.
inline void InParallel(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// The share of thread `index` of `count` in [0, total): first and one past the last.
struct Range {
  uint64_t begin, end;
};
inline Range ShareOf(uint64_t total, int index, int count) {
  const auto part = [&](int i) { return total * static_cast<uint64_t>(i) / static_cast<uint64_t>(count); };
  return {part(index), part(index + 1)};
}

// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// Order matters within a Checksum; add the Value()s of several where it must not.
class Checksum {
 public:
  void Add(uint64_t value) { value_ = (value_ ^ value) * 0x100000001b3u + (value_ >> 29); }
  // To 8 digits: compilers may contract or reorder what -O2 allows.
  void Add(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.8e", value);
    for (const char* c = text; *c != '\0'; ++c) Add(static_cast<uint64_t>(static_cast<unsigned char>(*c)));
  }
  uint64_t Value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

inline int Finish(const char* name, uint64_t checksum) {
  return std::printf("%s checksum=%016" PRIx64 "\n", name, checksum) > 0 && std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace workload
