// The program is told of a misused lock and of a deadlock that can happen, and asks what they are. It ends as if nothing had been found.
// NORACE
// STATUS: 0
// OPTIONS: deadlocks_by_order=1
// MISUSE: unlock of an unlocked mutex (or by a wrong thread) at abi_on_report_misuse.cc:56
// MISUSE: lock-order-inversion (potential deadlock) at abi_on_report_misuse.cc:63
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "invisible.h"

#define CHECK(condition) \
  if (!(condition)) abort()

pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
int reports;

extern "C" {
void* __tsan_get_current_report();
int __tsan_get_report_data(void*, const char**, int*, int*, int*, int*, int*, int*, int*, void**, unsigned long);
int __tsan_get_report_stack(void*, unsigned long, void**, unsigned long);
int __tsan_get_report_mop(void*, unsigned long, int*, void**, int*, int*, int*, void**, unsigned long);
int __tsan_get_report_mutex(void*, unsigned long, uint64_t*, void**, int*, void**, unsigned long);
}

extern "C" void __tsan_on_report(void* report) {
  const char* description = nullptr;
  int count, stacks, accesses, locations, mutexes, threads, unique;
  void* trace[8] = {};
  CHECK(__tsan_get_report_data(report, &description, &count, &stacks, &accesses, &locations, &mutexes, &threads,
                               &unique, trace, 1) == 1);
  CHECK(accesses == 0 && locations == 0 && threads == 1);
  CHECK(__tsan_get_report_mop(report, 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0) == 0);
  uint64_t id;
  void* mutex;
  int destroyed;
  CHECK(__tsan_get_report_stack(report, 0, trace, 8) == 1 && trace[0] != nullptr);
  CHECK(__tsan_get_report_mutex(report, 0, &id, &mutex, &destroyed, trace, 8) == 1 && mutex == &one);
  if (++reports == 1) {
    CHECK(strcmp(description, "mutex-bad-unlock") == 0 && stacks == 1 && mutexes == 1);
  } else {
    CHECK(strcmp(description, "lock-order-inversion") == 0 && stacks == 2 && mutexes == 2);
    CHECK(__tsan_get_report_mutex(report, 1, &id, &mutex, &destroyed, trace, 8) == 1 && mutex == &two);
  }
}

extern "C" int __tsan_on_finalize(int) {
  CHECK(reports == 2);
  return 0;
}

int main() {
  pthread_mutex_lock(&one);
  pthread_mutex_unlock(&one);
  pthread_mutex_unlock(&one);

  pthread_mutex_lock(&one);
  pthread_mutex_lock(&two);
  pthread_mutex_unlock(&two);
  pthread_mutex_unlock(&one);
  pthread_mutex_lock(&two);
  pthread_mutex_lock(&one);
  pthread_mutex_unlock(&one);
  pthread_mutex_unlock(&two);
}
