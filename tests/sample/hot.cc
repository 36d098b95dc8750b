// A race that happens all the time: two threads count without a lock.
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

long counter;
std::atomic<bool> done;

// Not inlined: the compiler would count in a register.
__attribute__((noinline)) static void Count() {
  counter = counter + 1;  // RACE
}

static void* Work(void*) {
  while (!done.load(std::memory_order_relaxed)) Count();
  return nullptr;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Work, nullptr);
  timespec wait = {static_cast<time_t>(seconds), static_cast<long>((seconds - static_cast<long>(seconds)) * 1e9)};
  nanosleep(&wait, nullptr);
  done = true;
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  std::printf("counted\n");
  return 0;
}
