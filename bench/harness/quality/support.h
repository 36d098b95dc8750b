// What the generated programs share. Nothing in here orders one thread of a program before another: a pattern shows all of
// its synchronization itself. Every wait is bounded, so that a program ends under any interleaving.
#pragma once

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <utility>

namespace support {

// Gives other threads time. Orders nothing.
inline void Pause(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

// The value counts as used: its load stays in the program, on the line of the call.
template <class T>
inline void Use(T value) {
  asm volatile("" : : "r"(value) : "memory");
}

// What the pointer leads to counts as used: stores before the call stay in the program.
inline void Keep(void* object) { asm volatile("" : : "r"(object) : "memory"); }

// Polls until `ready()` or a time that no healthy run needs; says whether it came.
template <class Ready>
inline bool Await(Ready ready) {
  for (int i = 0; i < 4000; ++i) {
    if (ready()) return true;
    Pause(50);
  }
  return false;
}

// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Below(std::uint64_t bound) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % bound;
  }

 private:
  std::uint64_t state_;
};

// Tells the harness that this run takes the rare path on which a planted race lies.
inline void Reached(const char* race) {
  std::printf("reached %s\n", race);
  std::fflush(stdout);
}

// A thread's own work under a lock of its own, which is properly created and destroyed: nobody else ever sees either.
inline void Churn(int rounds) {
  pthread_mutex_t own;
  pthread_mutex_init(&own, nullptr);
  int cells[16] = {};
  for (int i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&own);
    cells[i % 16] += i;
    Keep(cells);
    pthread_mutex_unlock(&own);
  }
  pthread_mutex_destroy(&own);
}

template <class Body>
inline std::thread Spawn(Body body) {
  return std::thread([body = std::move(body)]() mutable {
    Churn(8);
    body();
  });
}

}  // namespace support
