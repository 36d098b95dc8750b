// A race in a library that is loaded while the program runs: compiled twice, with -DLIBRARY as the library.
#ifdef LIBRARY

long counted;
extern "C" __attribute__((visibility("default"))) void CountInLibrary() { counted = counted + 1; }  // RACE

#else

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

std::atomic<bool> done;
void (*count)();

static void* Work(void*) {
  while (!done.load(std::memory_order_relaxed)) count();
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  const timespec before = {0, 300'000'000}, after = {std::atoi(argv[2]), 0};
  nanosleep(&before, nullptr);
  void* const library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) return 1;
  count = reinterpret_cast<void (*)()>(dlsym(library, "CountInLibrary"));
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Work, nullptr);
  nanosleep(&after, nullptr);
  done = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  std::puts("counted");
  return 0;
}

#endif
