// A coroutine is resumed elsewhere and writes; nothing orders that before main's read.
// STD: c++20
// SKIP: clang++-14 (knows the coroutines of the technical specification only)
#include <pthread.h>

#include <coroutine>

#include "invisible.h"

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};

int value;

NOINLINE Task Run() {
  co_await std::suspend_always();
  value = 1;  // RACE(value) CHAIN(value): Run < Worker
}

void* Worker(void* address) {
  std::coroutine_handle<>::from_address(address).resume();
  Arrive();
  return nullptr;
}

int main() {
  Task task = Run();
  task.handle.resume();
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, task.handle.address());
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
  task.handle.destroy();
}
