// Locks that threads take in opposite orders: mutexes of two and of three threads, a reader-writer lock with a writer, a condition variable whose
// wait takes its mutex while another one is held. Nobody really waits for ever.
// NORACE
// STATUS: 66
// MISUSE: lock-order-inversion (potential deadlock) at deadlock_orders.cc:31
// MISUSE: lock-order-inversion (potential deadlock) at deadlock_orders.cc:45
// MISUSE: lock-order-inversion (potential deadlock) at deadlock_orders.cc:59
// MISUSE: lock-order-inversion (potential deadlock) at deadlock_orders.cc:75
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "invisible.h"

std::mutex a, b;
std::mutex ring[3];
std::shared_mutex s, r;
std::mutex waited, other;
std::condition_variable condition;

void TwoThreads() {
  std::thread one([] {
    std::lock_guard first(a);
    std::lock_guard second(b);
    Arrive();
  });
  Await(1);
  {
    std::lock_guard first(b);
    std::lock_guard second(a);
  }
  one.join();
}

NOINLINE void TakeBoth(std::mutex& first, std::mutex& second) {
  std::lock_guard x(first);
  std::lock_guard y(second);
}

void ThreeThreads() {
  std::thread one([] { TakeBoth(ring[0], ring[1]), Arrive(), Await(4); });
  std::thread two([] { Await(2), TakeBoth(ring[1], ring[2]), Arrive(); });
  Await(3);
  std::scoped_lock first(ring[2]), second(ring[0]);
  Arrive();
  one.join();
  two.join();
}

void ReadersAndAWriter() {
  std::thread one([] {
    std::shared_lock first(s);
    std::unique_lock second(r);
    Arrive();
  });
  Await(5);
  std::shared_lock first(r);
  std::unique_lock second(s);
  one.join();
}

void WaitingTakesItAgain() {
  std::thread one([] {
    std::unique_lock first(waited);
    std::unique_lock second(other);
    second.unlock();
    first.unlock();
    Arrive();
  });
  Await(6);
  std::unique_lock second(waited);
  std::unique_lock first(other);
  // Gives up the one that was taken first, and wants it back while it holds the other.
  condition.wait_for(second, std::chrono::milliseconds(1));
  one.join();
}

int main() {
  TwoThreads();
  ThreeThreads();
  ReadersAndAWriter();
  WaitingTakesItAgain();
}
