#include "runtime/gate.h"

#include <sys/syscall.h>
#include <time.h>

#include "base/arch.h"
#include "base/mem.h"
#include "runtime/fence.h"
#include "runtime/thread.h"

namespace redflag::rt {
namespace {

constinit AtomicMem::Lock threads_lock;
constinit uint32_t passages = 0;
constinit uint32_t openings = 0;  // how often the gate was opened

// Asks again and again whether it is time to go on, for two seconds at most.
template <class Condition>
bool WaitUntil(Condition condition) {
  constexpr int kTries = 20'000;
  for (int i = 0; i < kTries; ++i) {
    if (condition()) return true;
    timespec wait = {.tv_sec = 0, .tv_nsec = 100'000};
    arch::Syscall(SYS_nanosleep, reinterpret_cast<int64_t>(&wait), 0);
  }
  return false;
}

// The same, for two seconds in which nobody opens the gate: if many threads fork at once, it is closed most of the time, and yet all is well.
template <class Condition>
bool WaitPatiently(Condition condition) {
  bool is_met = false;
  uint32_t before;
  do {
    before = __atomic_load_n(&openings, __ATOMIC_ACQUIRE);
    WaitUntil([&] { return (is_met = condition()) || __atomic_load_n(&openings, __ATOMIC_ACQUIRE) != before; });
  } while (!is_met && __atomic_load_n(&openings, __ATOMIC_ACQUIRE) != before);
  return is_met;
}

uint64_t AddressOf(const Thread& t) { return reinterpret_cast<uint64_t>(&t); }

}  // namespace

constinit uint64_t Gate::state_ = kOpen;
constinit bool Gate::is_era_ = false;
constinit Thread* Gate::first_ = nullptr;

void Gate::Wait(Thread& t) {
  if (const uint64_t state = __atomic_load_n(&state_, __ATOMIC_ACQUIRE); state <= kAsked || state == AddressOf(t))
    return;
  bool is_open;
  do {  // somebody else may have closed it again before this one was inside
    __atomic_store_n(&t.mode.inside, 0, __ATOMIC_RELEASE);
    is_open = AwaitOpen();
    __atomic_store_n(&t.mode.inside, Thread::kInside, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  } while (is_open && closed());
}

Thread* Gate::NextOf(const Thread& t) { return t.next_registered; }

void Gate::Register(Thread& t) {
  ScopedLock guard(threads_lock);
  if (t.registered) return;
  t.registered = true;
  t.next_registered = first_;
  first_ = &t;
}

void Gate::Unregister(Thread& t) {
  ScopedLock guard(threads_lock);
  if (!t.registered) return;
  t.registered = false;
  for (Thread** link = &first_; *link != nullptr; link = &(*link)->next_registered) {
    if (*link != &t) continue;
    *link = t.next_registered;
    return;
  }
}

bool Gate::IsAlone(const Thread& t) {
  ScopedLock guard(threads_lock);
  return first_ == nullptr || (first_ == &t && t.next_registered == nullptr);
}

bool Gate::AwaitOpen() {
  bool is_open = false;
  do {
    is_open = WaitPatiently([] { return !closed(); });
  } while (!is_open && __atomic_load_n(&is_era_, __ATOMIC_RELAXED));
  return is_open;
}

void Gate::Ask() {
  uint64_t expected = kOpen;
  __atomic_compare_exchange_n(&state_, &expected, kAsked, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

bool Gate::Answers(Thread& t) {
  uint64_t expected = kAsked;
  if (!__atomic_compare_exchange_n(&state_, &expected, AddressOf(t), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    return false;
  }
  __atomic_store_n(&is_era_, true, __ATOMIC_RELAXED);
  return true;
}

bool Gate::Close(Thread& t) {
  const auto takes_it = [&] {
    uint64_t state = __atomic_load_n(&state_, __ATOMIC_RELAXED);
    if (state == AddressOf(t)) return true;
    return state <= kAsked &&
           __atomic_compare_exchange_n(&state_, &state, AddressOf(t), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  };
  if (!takes_it()) {  // who has closed it waits for this one to be outside
    __atomic_store_n(&t.mode.inside, 0, __ATOMIC_RELEASE);
    WaitPatiently(takes_it);
    __atomic_store_n(&t.mode.inside, Thread::kInside, __ATOMIC_RELAXED);
  }
  PrepareFences();
  FenceEverybody();
  return AwaitOthers(t);
}

bool Gate::AwaitOthers(const Thread& t) {
  const auto all_outside = [&] {
    if (__atomic_load_n(&passages, __ATOMIC_SEQ_CST) != 0) return false;
    ScopedLock guard(threads_lock);
    for (const Thread* other = first_; other != nullptr; other = other->next_registered) {
      if (other != &t && __atomic_load_n(&other->mode.inside, __ATOMIC_ACQUIRE) != 0) return false;
    }
    return true;
  };
  // Twice: who switches fibers is in one while it enters another.
  return WaitUntil([&] { return all_outside() && all_outside(); });
}

void Gate::Open(const Thread& t) {
  if (__atomic_load_n(&state_, __ATOMIC_RELAXED) == AddressOf(t)) Reset();
}

void Gate::Reset() {
  __atomic_store_n(&is_era_, false, __ATOMIC_RELAXED);
  __atomic_store_n(&state_, kOpen, __ATOMIC_RELEASE);
  __atomic_fetch_add(&openings, 1, __ATOMIC_RELEASE);
}

Gate::Passage::Passage() {
  __atomic_fetch_add(&passages, 1, __ATOMIC_SEQ_CST);
  const Thread* self = local.thread;
  if (self != nullptr && __atomic_load_n(&state_, __ATOMIC_ACQUIRE) == AddressOf(*self)) return;
  for (bool is_open = true; is_open && closed();) {
    __atomic_fetch_sub(&passages, 1, __ATOMIC_SEQ_CST);
    is_open = AwaitOpen();
    __atomic_fetch_add(&passages, 1, __ATOMIC_SEQ_CST);
  }
}

Gate::Passage::~Passage() { __atomic_fetch_sub(&passages, 1, __ATOMIC_SEQ_CST); }

}  // namespace redflag::rt
