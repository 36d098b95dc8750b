// One thread that works, beside thirty that sleep: what they could be stopped for must not be spent on the one.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> done;
unsigned table[64];

[[gnu::noinline]] unsigned Work(unsigned seed) {
  for (unsigned i = 0; i < 64; ++i) table[i] = table[(i * 7 + seed) % 64] + seed;
  for (unsigned i = 0; i < 64; i += 2) seed ^= table[i];
  for (unsigned i = 1; i < 64; i += 2) seed += table[i];
  return seed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::chrono::duration<double> seconds(argc > 1 ? std::atof(argv[1]) : 3);
  std::vector<std::jthread> sleepers;
  for (int i = 0; i < 30; ++i) sleepers.emplace_back([] { done.wait(false); });
  std::jthread worker([&] {
    unsigned seed = 1;
    for (const auto end = std::chrono::steady_clock::now() + seconds; std::chrono::steady_clock::now() < end;) {
      for (int i = 0; i < 1000; ++i) seed = Work(seed);
    }
    table[0] = seed;
    done = true;
    done.notify_all();
  });
  worker.join();
  std::puts("worked");
}
