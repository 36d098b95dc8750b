// A buffer that the kernel writes while a thread reads it: no thread to be named.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>

int buffer[4];
int ends[2];
std::atomic<bool> done;

__attribute__((noinline)) static int Look() { return buffer[0]; }  // RACE

static void* Reader(void*) {
  int last = 0;
  while (!done.load(std::memory_order_relaxed)) last ^= Look();
  return last == 12345 ? &buffer : nullptr;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  pipe(ends);
  pthread_t reader;
  pthread_create(&reader, nullptr, Reader, nullptr);
  const time_t end = time(nullptr) + static_cast<time_t>(seconds) + 1;
  for (int i = 0; time(nullptr) < end; ++i) {
    const int values[4] = {i, i, i, i};
    if (write(ends[1], values, sizeof values) < 0 || read(ends[0], buffer, sizeof buffer) < 0) return 1;
  }
  done = true;
  pthread_join(reader, nullptr);
  std::puts("read");
  return 0;
}
