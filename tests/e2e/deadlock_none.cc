// Orders of locks that look as if threads could wait for one another, and cannot: under a gate, by one thread, by attempts that may fail, by
// readers alone, by threads that are never there at the same time, and by locks that are gone when others have their addresses.
// NORACE
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "invisible.h"

std::mutex gate, a, b;
std::mutex c, d;
std::mutex e, f;
std::timed_mutex g, h;
std::shared_mutex p, q;
std::mutex k, l;

template <class First, class Second>
NOINLINE void TakeBoth(First& first, Second& second) {
  std::lock_guard x(first);
  std::lock_guard y(second);
}

int main() {
  // In each part the other thread is there until this one has done its part.
  std::thread gated([] {
    std::lock_guard guard(gate);
    TakeBoth(a, b);
    Arrive();
  });
  Await(1);
  {
    std::lock_guard guard(gate);
    TakeBoth(b, a);
  }

  TakeBoth(c, d);
  TakeBoth(d, c);

  std::thread trying([] {
    std::lock_guard first(e);
    if (f.try_lock()) f.unlock();
    std::lock_guard second(g);
    if (h.try_lock_for(std::chrono::milliseconds(1))) h.unlock();
    Arrive();
  });
  Await(2);
  TakeBoth(f, e);
  TakeBoth(h, g);

  std::thread reading([] {
    std::shared_lock first(p);
    std::shared_lock second(q);
    Arrive();
  });
  Await(3);
  {
    std::shared_lock first(q);
    std::shared_lock second(p);
  }

  // All of std::lock's own making: whoever cannot have them all holds none.
  std::thread both([] {
    std::scoped_lock together(k, l);
    Arrive();
  });
  Await(4);
  {
    std::scoped_lock together(l, k);
  }

  gated.join();
  trying.join();
  reading.join();
  both.join();

  // One after the other: what the creator did before, and does after.
  static std::mutex before[3], after[3];
  TakeBoth(before[0], before[1]);
  std::thread child([] {
    TakeBoth(before[1], before[0]);
    TakeBoth(after[0], after[1]);
  });
  child.join();
  TakeBoth(after[1], after[0]);
  std::thread next([] { TakeBoth(after[1], after[0]); });
  next.join();

  // Others at the same address.
  static std::atomic<int> done{0};
  pthread_mutex_t* locks = new pthread_mutex_t[2];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2; ++i) pthread_mutex_init(&locks[i], nullptr);
    std::thread user([locks, round] {
      pthread_mutex_lock(&locks[round]);
      pthread_mutex_lock(&locks[1 - round]);
      pthread_mutex_unlock(&locks[1 - round]);
      pthread_mutex_unlock(&locks[round]);
      done.fetch_add(1);
      Await(5);  // it is there until the other one has been there, too
    });
    user.detach();
    while (done.load() <= round) usleep(1000);
    for (int i = 0; i < 2; ++i) pthread_mutex_destroy(&locks[i]);
  }
  Arrive();
}
