// What GLib hands from thread to thread: queues, pools of threads, callbacks of main loops, results of tasks. Its own calls inside do not come here, so
// each function that a program calls says what it means.
#include <cstdint>

#include "base/mem.h"
#include "intercept/hooks.h"
#include "intercept/real.h"
#include "intercept/thunks.h"

namespace redflag {
namespace {

// Whatever is done to a queue is done under its mutex: it comes after what was done to it before.
template <class Real, class... Arguments>
auto InOrder(hooks::Pc pc, const Real& real, void* object, Arguments... arguments) {
  const bool active = hooks::Active();
  if (active) hooks::Release(pc, object);
  if constexpr (__is_same(decltype(real(object, arguments...)), void)) {
    real(object, arguments...);
    if (active) hooks::Acquire(pc, object);
  } else {
    const auto result = real(object, arguments...);
    if (active) hooks::Acquire(pc, object);
    return result;
  }
}

}  // namespace

// ---- GAsyncQueue ----

REDFLAG_INTERCEPT(void, g_async_queue_push, void* queue, void* data) {
  InOrder(REDFLAG_CALLER, real::g_async_queue_push, queue, data);
}
REDFLAG_INTERCEPT(void, g_async_queue_push_front, void* queue, void* data) {
  InOrder(REDFLAG_CALLER, real::g_async_queue_push_front, queue, data);
}
REDFLAG_INTERCEPT(void, g_async_queue_push_sorted, void* queue, void* data, void* function, void* user) {
  InOrder(REDFLAG_CALLER, real::g_async_queue_push_sorted, queue, data, function, user);
}
REDFLAG_INTERCEPT(void*, g_async_queue_pop, void* queue) {
  return InOrder(REDFLAG_CALLER, real::g_async_queue_pop, queue);
}
REDFLAG_INTERCEPT(void*, g_async_queue_try_pop, void* queue) {
  return InOrder(REDFLAG_CALLER, real::g_async_queue_try_pop, queue);
}
REDFLAG_INTERCEPT(void*, g_async_queue_timeout_pop, void* queue, uint64_t microseconds) {
  return InOrder(REDFLAG_CALLER, real::g_async_queue_timeout_pop, queue, microseconds);
}
REDFLAG_INTERCEPT(void*, g_async_queue_timed_pop, void* queue, void* until) {
  return InOrder(REDFLAG_CALLER, real::g_async_queue_timed_pop, queue, until);
}
REDFLAG_INTERCEPT(int, g_async_queue_length, void* queue) {
  return InOrder(REDFLAG_CALLER, real::g_async_queue_length, queue);
}
REDFLAG_INTERCEPT(int, g_async_queue_remove, void* queue, void* data) {
  return InOrder(REDFLAG_CALLER, real::g_async_queue_remove, queue, data);
}
REDFLAG_INTERCEPT(void, g_async_queue_lock, void* queue) {
  real::g_async_queue_lock(queue);
  if (hooks::Active()) hooks::Acquire(REDFLAG_CALLER, queue);
}
REDFLAG_INTERCEPT(void, g_async_queue_unlock, void* queue) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, queue);
  real::g_async_queue_unlock(queue);
}
// What is popped while the queue is locked may have been pushed while this thread waited.
REDFLAG_INTERCEPT(void*, g_async_queue_pop_unlocked, void* queue) {
  return InOrder(REDFLAG_CALLER, real::g_async_queue_pop_unlocked, queue);
}
REDFLAG_INTERCEPT(void*, g_async_queue_timeout_pop_unlocked, void* queue, uint64_t microseconds) {
  return InOrder(REDFLAG_CALLER, real::g_async_queue_timeout_pop_unlocked, queue, microseconds);
}
REDFLAG_INTERCEPT(void, g_async_queue_unref, void* queue) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, queue);
  real::g_async_queue_unref(queue);
}

// ---- GThreadPool ----

namespace {

// The beginning of a GThreadPool, which is public.
struct ThreadPool {
  void (*function)(void* data, void* user);
  void* user;
};

// What stands behind a pool: the program's own function. Given back when the pool has been freed and no thread works for it any more.
struct PoolTarget {
  void (*function)(void* data, void* user);
  void* user;
  PoolTarget* next_free;
  char given;  // objects: what is pushed, and what has been done
  char done;
};

constexpr uint32_t kPools = 512;
constinit PoolTarget pools[kPools] = {};
constinit uint32_t pools_used = 0;
constinit PoolTarget* free_pools = nullptr;
constinit AtomicMem::Lock pools_lock;

PoolTarget* NewPool() {
  const ScopedLock guard(pools_lock);
  if (PoolTarget* pool = free_pools; pool != nullptr) {
    free_pools = pool->next_free;
    return pool;
  }
  return pools_used < kPools ? &pools[pools_used++] : nullptr;
}

void WorkForPool(void* data, void* user) {
  auto& target = *static_cast<PoolTarget*>(user);
  if (!hooks::Active()) return target.function(data, target.user);
  hooks::Acquire(0, &target.given);
  target.function(data, target.user);
  hooks::Release(0, &target.done);
}

PoolTarget* TargetOf(void* pool) {
  const auto& seen = *static_cast<ThreadPool*>(pool);
  return seen.function == WorkForPool ? static_cast<PoolTarget*>(seen.user) : nullptr;
}

using PoolFunction = void (*)(void*, void*);

// `create` makes the real call with the function and the data that it is given.
template <class Create>
void* NewThreadPool(PoolFunction function, void* user, Create create) {
  PoolTarget* target = function != nullptr && hooks::Active() ? NewPool() : nullptr;
  if (target == nullptr) return create(function, user);
  target->function = function;
  target->user = user;
  return create(WorkForPool, target);
}

}  // namespace

REDFLAG_INTERCEPT(void*, g_thread_pool_new, PoolFunction function, void* user, int most, int exclusive, void* error) {
  return NewThreadPool(function, user, [&](PoolFunction ours, void* its) {
    return real::g_thread_pool_new(ours, its, most, exclusive, error);
  });
}
REDFLAG_INTERCEPT(void*, g_thread_pool_new_full, PoolFunction function, void* user, void* free_item, int most,
                  int exclusive, void* error) {
  return NewThreadPool(function, user, [&](PoolFunction ours, void* its) {
    return real::g_thread_pool_new_full(ours, its, free_item, most, exclusive, error);
  });
}
REDFLAG_INTERCEPT(int, g_thread_pool_push, void* pool, void* data, void* error) {
  if (PoolTarget* target = TargetOf(pool); target != nullptr && hooks::Active()) {
    hooks::Release(REDFLAG_CALLER, &target->given);
  }
  return real::g_thread_pool_push(pool, data, error);
}
REDFLAG_INTERCEPT(unsigned, g_thread_pool_unprocessed, void* pool) {
  const unsigned left = real::g_thread_pool_unprocessed(pool);
  if (PoolTarget* target = TargetOf(pool); target != nullptr && hooks::Active()) {
    hooks::Acquire(REDFLAG_CALLER, &target->done);
  }
  return left;
}
REDFLAG_INTERCEPT(void, g_thread_pool_free, void* pool, int immediately, int wait) {
  PoolTarget* target = TargetOf(pool);
  real::g_thread_pool_free(pool, immediately, wait);
  if (target == nullptr || wait == 0) return;
  if (hooks::Active()) {
    hooks::Acquire(REDFLAG_CALLER, &target->done);
    hooks::Forget(REDFLAG_CALLER, &target->given);
    hooks::Forget(REDFLAG_CALLER, &target->done);
  }
  const ScopedLock guard(pools_lock);
  target->next_free = free_pools;
  free_pools = target;
}

// ---- Main loops ----

using Callback = int (*)(void* data);

REDFLAG_INTERCEPT(unsigned, g_idle_add, Callback function, void* data) {
  return real::g_idle_add(Thunk(REDFLAG_CALLER, function), data);
}
REDFLAG_INTERCEPT(unsigned, g_idle_add_once, Callback function, void* data) {
  return real::g_idle_add_once(Thunk(REDFLAG_CALLER, function), data);
}
REDFLAG_INTERCEPT(unsigned, g_idle_add_full, int priority, Callback function, void* data, void* notify) {
  return real::g_idle_add_full(priority, Thunk(REDFLAG_CALLER, function), data, notify);
}
REDFLAG_INTERCEPT(unsigned, g_timeout_add, unsigned interval, Callback function, void* data) {
  return real::g_timeout_add(interval, Thunk(REDFLAG_CALLER, function), data);
}
REDFLAG_INTERCEPT(unsigned, g_timeout_add_once, unsigned interval, Callback function, void* data) {
  return real::g_timeout_add_once(interval, Thunk(REDFLAG_CALLER, function), data);
}
REDFLAG_INTERCEPT(unsigned, g_timeout_add_full, int priority, unsigned interval, Callback function, void* data,
                  void* notify) {
  return real::g_timeout_add_full(priority, interval, Thunk(REDFLAG_CALLER, function), data, notify);
}
REDFLAG_INTERCEPT(unsigned, g_timeout_add_seconds, unsigned interval, Callback function, void* data) {
  return real::g_timeout_add_seconds(interval, Thunk(REDFLAG_CALLER, function), data);
}
REDFLAG_INTERCEPT(unsigned, g_timeout_add_seconds_full, int priority, unsigned interval, Callback function, void* data,
                  void* notify) {
  return real::g_timeout_add_seconds_full(priority, interval, Thunk(REDFLAG_CALLER, function), data, notify);
}
REDFLAG_INTERCEPT(void, g_source_set_callback, void* source, Callback function, void* data, void* notify) {
  real::g_source_set_callback(source, Thunk(REDFLAG_CALLER, function), data, notify);
}
REDFLAG_INTERCEPT(void, g_main_context_invoke, void* context, Callback function, void* data) {
  real::g_main_context_invoke(context, Thunk(REDFLAG_CALLER, function), data);
}
REDFLAG_INTERCEPT(void, g_main_context_invoke_full, void* context, int priority, Callback function, void* data,
                  void* notify) {
  real::g_main_context_invoke_full(context, priority, Thunk(REDFLAG_CALLER, function), data, notify);
}

// ---- GTask ----

REDFLAG_INTERCEPT(void, g_task_run_in_thread, void* task, void* function) {
  real::g_task_run_in_thread(task, ThunkOf(REDFLAG_CALLER, function));
}
REDFLAG_INTERCEPT(void, g_task_return_pointer, void* task, void* result, void* destroy) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, task);
  real::g_task_return_pointer(task, result, destroy);
}
REDFLAG_INTERCEPT(void, g_task_return_boolean, void* task, int result) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, task);
  real::g_task_return_boolean(task, result);
}
REDFLAG_INTERCEPT(void, g_task_return_int, void* task, intptr_t result) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, task);
  real::g_task_return_int(task, result);
}
REDFLAG_INTERCEPT(void*, g_task_propagate_pointer, void* task, void* error) {
  if (hooks::Active()) hooks::Acquire(REDFLAG_CALLER, task);
  return real::g_task_propagate_pointer(task, error);
}
REDFLAG_INTERCEPT(int, g_task_propagate_boolean, void* task, void* error) {
  if (hooks::Active()) hooks::Acquire(REDFLAG_CALLER, task);
  return real::g_task_propagate_boolean(task, error);
}
REDFLAG_INTERCEPT(intptr_t, g_task_propagate_int, void* task, void* error) {
  if (hooks::Active()) hooks::Acquire(REDFLAG_CALLER, task);
  return real::g_task_propagate_int(task, error);
}

}  // namespace redflag
