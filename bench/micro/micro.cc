// What one operation costs under a race detector: compiled once per tool, the same source and flags. Run by bench/run micro.
//
// Each benchmark does one thing in a loop. The memory is initialised before threads share it and every conflict is ordered, so
// that no tool has anything to report.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr size_t kWords = 1024;

// Keeps the compiler from merging accesses; no instructions of its own.
inline void Barrier() { asm volatile("" ::: "memory"); }

// The same few words again and again, with no synchronization between: a detector has seen these accesses before.
void AccessHit(benchmark::State& state) {
  uint64_t words[8] = {};
  uint64_t* p = words;
  benchmark::DoNotOptimize(p);
  for (auto _ : state) {
    for (size_t i = 0; i < 8; ++i) {
      p[i] += 1;
      Barrier();
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * 8);
}

// Each word once after each release: the first access of a segment to it.
void AccessMiss(benchmark::State& state) {
  std::vector<uint64_t> words(kWords);
  std::atomic<uint64_t> release = 0;
  uint64_t* p = words.data();
  benchmark::DoNotOptimize(p);
  for (auto _ : state) {
    release.store(1, std::memory_order_release);
    for (size_t i = 0; i < kWords; ++i) {
      p[i] = i;
      Barrier();
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kWords));
}

// Every thread reads the same table, in segments of its own.
void SharedRead(benchmark::State& state) {
  static const std::vector<uint64_t> table(kWords, 1);
  std::atomic<uint64_t> release = 0;
  const uint64_t* p = table.data();
  benchmark::DoNotOptimize(p);
  uint64_t sum = 0;
  for (auto _ : state) {
    release.store(1, std::memory_order_release);
    for (size_t i = 0; i < kWords; ++i) {
      sum += p[i];
      Barrier();
    }
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kWords));
}

// A word that passes from thread to thread under a lock.
void PingPongWrite(benchmark::State& state) {
  static std::mutex mutex;
  static uint64_t word = 0;
  for (auto _ : state) {
    const std::lock_guard guard(mutex);
    ++word;
    Barrier();
  }
  benchmark::DoNotOptimize(&word);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

void LockUnlock(benchmark::State& state) {
  std::mutex mutex;
  for (auto _ : state) {
    mutex.lock();
    mutex.unlock();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

void ReadLockUnlock(benchmark::State& state) {
  static std::shared_mutex mutex;
  for (auto _ : state) {
    mutex.lock_shared();
    mutex.unlock_shared();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

template <std::memory_order kOrder>
void AtomicAdd(benchmark::State& state) {
  static std::atomic<uint64_t> counter = 0;
  for (auto _ : state) counter.fetch_add(1, kOrder);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

void AtomicLoadAcquire(benchmark::State& state) {
  static std::atomic<uint64_t> flag = 1;
  uint64_t sum = 0;
  for (auto _ : state) sum += flag.load(std::memory_order_acquire);
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

[[gnu::noinline]] void Callee(uint64_t* word) {
  *word += 1;
  Barrier();
}

// A function that is entered and left, with one access that was seen before.
void FunctionEntryExit(benchmark::State& state) {
  uint64_t word = 0;
  for (auto _ : state) Callee(&word);
  benchmark::DoNotOptimize(word);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

void ForkJoin(benchmark::State& state) {
  for (auto _ : state) std::thread([] {}).join();
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

void AllocFree(benchmark::State& state) {
  for (auto _ : state) {
    auto* block = new uint64_t[8];
    benchmark::DoNotOptimize(block);
    delete[] block;
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

void Everywhere(benchmark::internal::Benchmark* benchmark) {
  for (const int threads : {1, 2, 8, 64}) benchmark->Threads(threads);
}

BENCHMARK(AccessHit)->Name("access hit")->Apply(Everywhere);
BENCHMARK(AccessMiss)->Name("access miss")->Apply(Everywhere);
BENCHMARK(SharedRead)->Name("shared read")->Apply(Everywhere);
BENCHMARK(PingPongWrite)->Name("ping-pong write under a lock")->Apply(Everywhere);
BENCHMARK(LockUnlock)->Name("lock and unlock")->Apply(Everywhere);
BENCHMARK(ReadLockUnlock)->Name("read lock and unlock")->Apply(Everywhere);
BENCHMARK(AtomicAdd<std::memory_order_relaxed>)->Name("atomic add, relaxed")->Apply(Everywhere);
BENCHMARK(AtomicAdd<std::memory_order_acq_rel>)->Name("atomic add, acquire and release")->Apply(Everywhere);
BENCHMARK(AtomicLoadAcquire)->Name("atomic load, acquire")->Apply(Everywhere);
BENCHMARK(FunctionEntryExit)->Name("function entry and exit")->Apply(Everywhere);
BENCHMARK(AllocFree)->Name("allocate and free")->Apply(Everywhere);
BENCHMARK(ForkJoin)->Name("fork and join")->Apply(Everywhere);

}  // namespace

BENCHMARK_MAIN();
