// The program is told of a race in it, and asks for everything there is to know. It ends as if nothing had been found.
// STATUS: 0
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "invisible.h"

#define CHECK(condition) \
  if (!(condition)) abort()

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int* value;
int reports;
int finalized;

// Not every compiler's header has them.
extern "C" {
void* __tsan_get_current_report();
int __tsan_get_report_data(void*, const char**, int*, int*, int*, int*, int*, int*, int*, void**, unsigned long);
int __tsan_get_report_mop(void*, unsigned long, int*, void**, int*, int*, int*, void**, unsigned long);
int __tsan_get_report_loc(void*, unsigned long, const char**, void**, void**, unsigned long*, int*, int*, int*, void**,
                          unsigned long);
int __tsan_get_report_mutex(void*, unsigned long, uint64_t*, void**, int*, void**, unsigned long);
int __tsan_get_report_thread(void*, unsigned long, int*, uint64_t*, int*, const char**, int*, void**, unsigned long);
int __tsan_get_report_unique_tid(void*, unsigned long, int*);
int __tsan_get_alloc_stack(void*, void**, size_t, int*, uint64_t*);
const char* __tsan_locate_address(void*, char*, size_t, void**, size_t*);
}

extern "C" void __tsan_on_report(void* report) {
  ++reports;
  CHECK(report == __tsan_get_current_report());
  const char* description = nullptr;
  int count, stacks, accesses, locations, mutexes, threads, unique;
  void* sleep[1];
  CHECK(__tsan_get_report_data(report, &description, &count, &stacks, &accesses, &locations, &mutexes, &threads,
                               &unique, sleep, 1) == 1);
  CHECK(strcmp(description, "data-race") == 0 && accesses == 2 && locations == 1 && mutexes == 1 && threads == 2);
  int tid[2], size, write[2], atomic;
  void* address[2];
  void* trace[16];
  for (int i = 0; i < 2; ++i) {
    CHECK(__tsan_get_report_mop(report, i, &tid[i], &address[i], &size, &write[i], &atomic, trace, 16) == 1);
    CHECK(address[i] == value && size == 4 && atomic == 0 && trace[0] != nullptr);
    CHECK(trace[1] == nullptr);  // who calls main, or a thread's function, is libc's business
  }
  CHECK(write[0] == 0 && write[1] == 1 && tid[0] == 0 && tid[1] == 1);
  CHECK(__tsan_get_report_mop(report, 2, tid, address, &size, write, &atomic, trace, 16) == 0);
  const char* type = nullptr;
  void* start = nullptr;
  size_t bytes = 0;
  int fd, suppressable;
  CHECK(__tsan_get_report_loc(report, 0, &type, address, &start, &bytes, tid, &fd, &suppressable, trace, 16) == 1);
  CHECK(strcmp(type, "heap") == 0 && start == value && bytes >= sizeof(int) && tid[0] == 0);
  uint64_t id;
  int destroyed;
  CHECK(__tsan_get_report_mutex(report, 0, &id, address, &destroyed, trace, 16) == 1 && address[0] == &mutex);
  uint64_t os_id;
  int running, parent;
  const char* name = nullptr;
  CHECK(__tsan_get_report_thread(report, 1, tid, &os_id, &running, &name, &parent, trace, 16) == 1);
  CHECK(tid[0] == 1 && parent == 0 && strcmp(name, "worker") == 0 && os_id != 0 && running == 1);
  CHECK(__tsan_get_report_unique_tid(report, 1, tid) == 1 && tid[0] == 1);
}

extern "C" int __tsan_on_finalize(int failed) {
  CHECK(failed == 1 && reports == 1);
  return 0;
}

void* Worker(void*) {
  pthread_setname_np(pthread_self(), "worker");
  pthread_mutex_lock(&mutex);
  *value = 1;  // RACE(value) CHAIN(value): Worker
  pthread_mutex_unlock(&mutex);
  Arrive();
  Await(2);
  return nullptr;
}

int main() {
  CHECK(__tsan_get_current_report() == nullptr);
  value = new int;
  void* region = nullptr;
  size_t bytes = 0;
  CHECK(strcmp(__tsan_locate_address(value, nullptr, 0, &region, &bytes), "heap") == 0 && region == value);
  CHECK(strcmp(__tsan_locate_address(&mutex, nullptr, 0, &region, &bytes), "heap") != 0);
  void* trace[16];
  int tid = -1;
  uint64_t os_id = 0;
  CHECK(__tsan_get_alloc_stack(value, trace, 16, &tid, &os_id) > 0 && tid == 0 && os_id != 0);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(*value);  // RACE(value) CHAIN(value): main
  Arrive();
  pthread_join(thread, nullptr);
  CHECK(reports == 1);
}
