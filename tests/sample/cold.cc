// A race that happens now and then: each of two threads touches the variable every 100 ms.
#include <pthread.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

long shared_value;
int rounds = 50;

static void Sleep(long milliseconds) {
  timespec wait = {milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&wait, nullptr);
}

static void* Write(void*) {
  for (int i = 0; i < rounds; ++i) {
    shared_value = i;  // RACE
    Sleep(100);
  }
  return nullptr;
}

static void* Read(void*) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    sum += shared_value;  // RACE
    Sleep(97);
  }
  std::printf("%s\n", sum >= 0 ? "read" : "odd");
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc > 1) rounds = static_cast<int>(std::atof(argv[1]) * 10);
  pthread_t a, b;
  pthread_create(&a, nullptr, Write, nullptr);
  pthread_create(&b, nullptr, Read, nullptr);
  pthread_join(a, nullptr);
  pthread_join(b, nullptr);
  return 0;
}
