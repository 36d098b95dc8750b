#include "runtime/fork_gate.h"

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

// Asks again and again whether it is time to go on, for two seconds at most.
template <class Condition>
void WaitUntil(Condition condition) {
  constexpr int kTries = 20'000;
  for (int i = 0; i < kTries && !condition(); ++i) {
    timespec wait = {.tv_sec = 0, .tv_nsec = 100'000};
    arch::Syscall(SYS_nanosleep, reinterpret_cast<int64_t>(&wait), 0);
  }
}

}  // namespace

constinit Thread* ForkGate::owner_ = nullptr;
constinit Thread* ForkGate::first_ = nullptr;

void ForkGate::Wait(Thread& t) {
  if (__atomic_load_n(&owner_, __ATOMIC_ACQUIRE) == &t) return;
  __atomic_store_n(&t.mode.inside, 0, __ATOMIC_RELEASE);
  WaitUntil([] { return !closed(); });
  __atomic_store_n(&t.mode.inside, 1, __ATOMIC_RELAXED);
}

Thread* ForkGate::NextOf(const Thread& t) { return t.next_registered; }

void ForkGate::Register(Thread& t) {
  ScopedLock guard(threads_lock);
  if (t.registered) return;
  t.registered = true;
  t.next_registered = first_;
  first_ = &t;
}

void ForkGate::Unregister(Thread& t) {
  ScopedLock guard(threads_lock);
  if (!t.registered) return;
  t.registered = false;
  for (Thread** link = &first_; *link != nullptr; link = &(*link)->next_registered) {
    if (*link != &t) continue;
    *link = t.next_registered;
    return;
  }
}

void ForkGate::Close(Thread& t) {
  WaitUntil([&] {
    Thread* nobody = nullptr;
    return __atomic_compare_exchange_n(&owner_, &nobody, &t, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  });
  PrepareFences();
  FenceEverybody();
  WaitUntil([&] {
    if (__atomic_load_n(&passages, __ATOMIC_SEQ_CST) != 0) return false;
    ScopedLock guard(threads_lock);
    for (const Thread* other = first_; other != nullptr; other = other->next_registered) {
      if (other != &t && __atomic_load_n(&other->mode.inside, __ATOMIC_ACQUIRE) != 0) return false;
    }
    return true;
  });
}

void ForkGate::Open() { __atomic_store_n(&owner_, nullptr, __ATOMIC_RELEASE); }

ForkGate::Passage::Passage() {
  __atomic_fetch_add(&passages, 1, __ATOMIC_SEQ_CST);
  const Thread* self = local.thread;
  if (!closed() || (self != nullptr && __atomic_load_n(&owner_, __ATOMIC_ACQUIRE) == self)) return;
  __atomic_fetch_sub(&passages, 1, __ATOMIC_SEQ_CST);
  WaitUntil([] { return !closed(); });
  __atomic_fetch_add(&passages, 1, __ATOMIC_SEQ_CST);
}

ForkGate::Passage::~Passage() { __atomic_fetch_sub(&passages, 1, __ATOMIC_SEQ_CST); }

}  // namespace redflag::rt
