// A coroutine that is resumed in another thread, and again in the first: creation and join order its frame.
// NORACE
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

int steps;

Task Run() {
  int local = 1;
  steps += local;
  co_await std::suspend_always();
  local = 2;
  steps += local;
  co_await std::suspend_always();
  steps += local;
}

void* Worker(void* address) {
  std::coroutine_handle<>::from_address(address).resume();
  return nullptr;
}

int main() {
  Task task = Run();
  task.handle.resume();
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, task.handle.address());
  pthread_join(thread, nullptr);
  task.handle.resume();
  task.handle.destroy();
  return steps == 5 ? 0 : 1;
}
