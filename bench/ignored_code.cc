// What a rule about code saves (docs/suppressions.md): two threads that spend their time in one function each, `Count` on memory that they share
// without order, or `Sum` on their own.
//
//   ignored_code shared|own
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kThreads = 2;
constexpr int kRounds = 2000;
constexpr int kSize = 1 << 14;

uint32_t table[1 << 16];
std::atomic<uint32_t> rounds;

[[gnu::noinline]] void Count(uint32_t seed) {
  for (int i = 0; i < 10000; ++i) {
    seed = seed * 1664525u + 1013904223u;
    ++table[seed >> 16];
  }
}

[[gnu::noinline]] uint32_t Sum(uint32_t* data) {
  uint32_t sum = 0;
  for (int i = 0; i < kSize; ++i) {
    data[i] += static_cast<uint32_t>(i);
    sum ^= data[i];
  }
  return sum;
}

void* Share(void*) {
  for (uint32_t i = 0; i < kRounds; ++i) {
    Count(i);
    rounds.fetch_add(1, std::memory_order_acq_rel);
  }
  return nullptr;
}

void* KeepOwn(void*) {
  auto* data = static_cast<uint32_t*>(std::calloc(kSize, sizeof(uint32_t)));
  for (int i = 0; i < kRounds; ++i) rounds.fetch_add(Sum(data), std::memory_order_relaxed);
  std::free(data);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  void* (*work)(void*) = argc > 1 && std::strcmp(argv[1], "own") == 0 ? KeepOwn : Share;
  pthread_t threads[kThreads];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, work, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  std::printf("%u\n", rounds.load());
}
