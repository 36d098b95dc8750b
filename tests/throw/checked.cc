// redflag::checked<T> throws before a racy access, again and again, with every compiler; what is ordered does not throw. Policies of scopes,
// threads, variables and the process.
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <redflag/checked.hpp>
#include <thread>

#include "check.h"

struct Point {
  int x, y;
  double weight;
};

redflag::checked<int> number;
redflag::checked<int*> pointer;
redflag::checked<long[8]> numbers;
redflag::checked<Point> point;
Point plain;
redflag::checked_pointer<Point> to_plain(&plain);
redflag::checked<int, redflag::on_race::inherit> inheriting;
redflag::checked<int, redflag::on_race::callback> with_callback;
int of_policy;
std::mutex mutex;
int steps = 0;

void Next() { Await(++steps); }

// What the other thread does to all of them, before anything here, with nothing in between that orders it.
void* Other(void*) {
  number = 1;
  pointer = &of_policy;
  numbers[3] = 1;
  point = Point{1, 2, 3};
  to_plain.field(&Point::weight) = 1;
  inheriting = 1;
  with_callback = 1;
  redflag::check_access(&of_policy, sizeof of_policy, true);
  of_policy = 1;
  Arrive();
  Await(2);
  mutex.lock();
  mutex.unlock();
  Arrive();
  Await(4);
  return nullptr;
}

struct Guard {
  explicit Guard(int& ended) : ended(ended) {}
  ~Guard() { ++ended; }
  int& ended;
};

void CheckError() {
  try {
    number = 2;
    CHECK(!"thrown");
  } catch (const redflag::data_race_error& error) {
    CHECK(error.address() == static_cast<void*>(&number));
    CHECK(error.accesses().size() == 2);
    const redflag::race_access& mine = error.accesses()[0];
    const redflag::race_access& earlier = error.accesses()[1];
    CHECK(mine.is_write && earlier.is_write && !mine.is_atomic);
    CHECK(mine.bytes == sizeof(int) && mine.address == error.address());
    CHECK(mine.thread != earlier.thread && mine.os_thread != earlier.os_thread);
    CHECK(!mine.frames.empty() && !earlier.frames.empty());
    CHECK(strstr(error.what(), "data race: write of 4 bytes") == error.what());
    const redflag::data_race_error copy = error;  // NOLINT: that it can be is what is checked
    CHECK(copy.accesses().size() == 2);
  }
  const redflag::data_race_error of_text(std::string("a race"));
  CHECK(strcmp(of_text.what(), "a race") == 0 && of_text.accesses().empty() && of_text.address() == nullptr);
}

void CheckAccesses() {
  CHECK_THROWS(number = 2);
  CHECK_THROWS(USE(static_cast<int>(number)));  // nothing has happened: it is still the other's
  CHECK_THROWS(++number);
  CHECK_THROWS(number += 2);
  CHECK_THROWS(pointer = nullptr);
  CHECK_THROWS(USE(pointer.load()));
  CHECK_THROWS(numbers[3] = 2);
  CHECK_THROWS(numbers[3]++);
  numbers[4] = 2;
  CHECK(numbers[4] == 2);
  CHECK_THROWS((point = Point{4, 5, 6}));  // of two granules
  CHECK_THROWS(point.field(&Point::y) = 1);
  CHECK_THROWS(USE((*to_plain).field(&Point::weight).load()));
  to_plain.field(&Point::x) = 7;
  CHECK(plain.x == 7);
  CHECK_THROWS(redflag::check_access(&of_policy, sizeof of_policy, false));
}

bool is_called;
struct Special {};
void Call(const redflag_race_info* race, void* data) {
  CHECK(race->access_count == 2 && data == &is_called);
  is_called = true;
}
void CallAndThrow(const redflag_race_info*, void*) { throw Special(); }

void CheckPolicies() {
  using redflag::on_race;
  {
    const redflag::race_scope outer(on_race::throw_error);
    CHECK_THROWS(inheriting = 2);
    {
      const redflag::race_scope inner(on_race::callback, Call, &is_called);
      inheriting = 2;  // the callback is called, and it happens
      CHECK(is_called);
    }
  }
  CHECK(static_cast<int>(inheriting) == 2);
  bool is_special = false;
  redflag::set_process_policy(on_race::report, CallAndThrow);
  try {
    with_callback = 2;
  } catch (const Special&) {
    is_special = true;
  }
  CHECK(is_special);
  redflag::set_process_policy(on_race::throw_error);
  std::thread([] {
    bool is_thrown = false;
    try {
      USE(static_cast<int>(inheriting));  // written by its creator, before: no race
    } catch (const redflag::data_race_error&) {
      is_thrown = true;
    }
    CHECK(!is_thrown);
  }).join();
  redflag::set_process_policy(on_race::report);
}

int ended;
__attribute__((noinline)) void DoesNotThrow() noexcept {
  const Guard guard(ended);
  number = 5;
}
struct InDestructor {
  ~InDestructor() { USE(static_cast<int>(number)); }
};

// Nothing is thrown where that would end the program.
void CheckProof() {
  const int before = ended;
  DoesNotThrow();
  CHECK(ended == before + 1);
  CHECK(static_cast<int>(number) == 5);  // it has happened, and is this thread's now
}

void* EndsInTheMiddle(void*) {
  const Guard guard(ended);
  const redflag::race_scope scope(redflag::on_race::stop_thread);
  redflag::checked_reference<int, redflag::on_race::inherit>(plain.y) = 1;
  ended = 1000;
  return nullptr;
}

void* NobodyCatches(void*) {
  redflag::checked_reference<int>(plain.y) = 1;
  ++ended;
  return nullptr;
}

void Run(void* (*body)(void*)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, body, nullptr) == 0);
  pthread_join(thread, nullptr);
}

void* WritesY(void*) {
  redflag::checked_reference<int>(plain.y) = 3;
  Arrive();
  Await(6);
  return nullptr;
}

int main() {
  mutex.lock();
  pthread_t other;
  CHECK(pthread_create(&other, nullptr, Other, nullptr) == 0);
  Await(1);
  CheckError();
  CheckAccesses();
  CheckPolicies();
  {
    const InDestructor racy;
  }
  CHECK_THROWS(number = 1);
  CheckProof();
  // Once it is ordered, it is no race, and is not thrown.
  Arrive();
  mutex.unlock();
  Await(3);
  mutex.lock();
  pointer = nullptr;
  point = Point{4, 5, 6};
  numbers[3] = 4;
  CHECK(point.load().y == 5);
  mutex.unlock();
  Arrive();
  pthread_join(other, nullptr);
  // A thread that ends in place of the access.
  pthread_t writer;
  CHECK(pthread_create(&writer, nullptr, WritesY, nullptr) == 0);
  Await(5);
  ended = 0;
  Run(EndsInTheMiddle);
  CHECK(ended == 1 && plain.y == 3);
  Run(NobodyCatches);
  CHECK(ended == 2);
  Arrive();
  pthread_join(writer, nullptr);
  puts("all is well");
}
