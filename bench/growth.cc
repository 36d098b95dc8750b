// What is measured by bench/growth, compiled once per tool: one part of it at a time.
//
//   growth nothing                         starts and ends
//   growth race                            races at once, prints when that was (CLOCK_MONOTONIC, ns), then lives for 2 s
//   growth access THREADS TOTAL            TOTAL accesses by as many threads, each to memory of its own; a lock that all share after every 4,096
//   growth pairs THREADS TOTAL             TOTAL times a lock is taken by two threads, and by nobody else; the other threads are there
//   growth sleep THREADS                   as many threads that have used a little memory and sleep; prints the resident set in KB
//   growth freed                           uses and frees 256 MB; prints the resident set in KB with it, and after it
//
// `access` and `pairs` print the processor time of that alone, in ns: without that in which threads start, end, or wait for others to do so.
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

uint64_t Now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

long ResidentKb() {
  long pages = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
  std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// Runs work(i) in each thread, all of them from one moment on, and prints the processor time that they took for it, added up.
template <class Work>
void Measure(int count, Work work) {
  std::barrier start(count);
  std::barrier stop(count);
  std::atomic<uint64_t> sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      const uint64_t begin = Now(CLOCK_THREAD_CPUTIME_ID);
      work(i);
      sum += Now(CLOCK_THREAD_CPUTIME_ID) - begin;
      stop.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%llu\n", static_cast<unsigned long long>(sum.load()));
}

void Access(int count, long total) {
  constexpr long kBetweenLocks = 4096;
  std::mutex mutex;
  long sum = 0;
  Measure(count, [&](int) {
    std::vector<long> own(512);
    long* words = own.data();
    long mine = total / count;
    asm volatile("" : "+r"(words), "+r"(mine));
    for (long i = 0; i < mine; ++i) {
      words[i % 512] += i;
      asm volatile("" ::: "memory");
      if (i % kBetweenLocks == 0) {
        const std::lock_guard<std::mutex> guard(mutex);
        ++sum;
      }
    }
  });
}

void Pairs(int count, long total) {
  std::mutex mutex;
  long sum = 0;
  Measure(count, [&](int i) {
    long mine = i < 2 ? total / 2 : 0;
    asm volatile("" : "+r"(mine));
    for (long k = 0; k < mine; ++k) {
      const std::lock_guard<std::mutex> guard(mutex);
      ++sum;
      asm volatile("" ::: "memory");
    }
  });
}

void Sleep(int count) {
  std::barrier all(count + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      std::vector<char> own(1000, 'a');
      all.arrive_and_wait();
      all.arrive_and_wait();
    });
  }
  all.arrive_and_wait();
  std::printf("%ld\n", ResidentKb());
  all.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
}

void Freed() {
  constexpr size_t kBytes = size_t{256} << 20;
  auto* words = static_cast<uint64_t*>(std::malloc(kBytes));
  for (size_t i = 0; i < kBytes / sizeof *words; ++i) words[i] = i;
  asm volatile("" : : "r"(words) : "memory");
  std::printf("%ld ", ResidentKb());
  std::free(words);
  std::printf("%ld\n", ResidentKb());
}

volatile int racy;
void Race() {
  std::thread other([] { racy = 1; });
  racy = 2;
  const uint64_t now = Now(CLOCK_MONOTONIC);
  other.join();
  std::printf("%llu\n", static_cast<unsigned long long>(now));
  std::fflush(stdout);
  sleep(2);
}

}  // namespace

int main(int argc, char** argv) {
  const auto is = [&](const char* part, int arguments) { return argc == arguments && std::strcmp(argv[1], part) == 0; };
  if (is("nothing", 2)) return 0;
  if (is("race", 2)) return Race(), 0;
  if (is("access", 4)) return Access(std::atoi(argv[2]), std::atol(argv[3])), 0;
  if (is("pairs", 4)) return Pairs(std::atoi(argv[2]), std::atol(argv[3])), 0;
  if (is("sleep", 3)) return Sleep(std::atoi(argv[2])), 0;
  if (is("freed", 2)) return Freed(), 0;
  std::fprintf(stderr, "growth: see bench/growth.cc\n");
  return 2;
}
