// Memory that can't be had: malloc, calloc, realloc, new, mmap answer as they would without us.
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

int shared;

static void* volatile keep;

int main() {
  const size_t too_much = SIZE_MAX / 4;
  errno = 0;
  keep = std::malloc(too_much);
  std::printf("malloc %d %d\n", keep == nullptr, errno == ENOMEM);
  errno = 0;
  keep = std::calloc(SIZE_MAX / 2, 4);
  std::printf("calloc %d %d\n", keep == nullptr, errno == ENOMEM);
  char* block = static_cast<char*>(std::malloc(16));
  block[0] = 'x';
  errno = 0;
  keep = std::realloc(block, too_much);
  std::printf("realloc %d %d %c\n", keep == nullptr, errno == ENOMEM, block[0]);
  std::free(block);
  void* aligned = nullptr;
  std::printf("posix_memalign %d\n", posix_memalign(&aligned, 64, too_much) == ENOMEM);
  keep = std::aligned_alloc(64, too_much & ~size_t{63});
  std::printf("aligned_alloc %d\n", keep == nullptr);
  keep = new (std::nothrow) char[too_much];
  std::printf("new(nothrow) %d\n", keep == nullptr);
  try {
    keep = ::operator new(too_much);
    std::puts("new succeeded");
  } catch (const std::bad_alloc&) {
    std::puts("bad_alloc");
  }
  std::printf("mmap %d\n",
              mmap(nullptr, too_much & ~size_t{4095}, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  std::thread other([] { shared = 1; });
  shared = 2;
  other.join();
  return 3;
}
