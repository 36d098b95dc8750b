// Children: threads that may still be joined, or still run.
//
// Who somebody means is known by a handle (pthread_t), and that may be another thread's as soon as the one was joined: before the joiner has come back
// to say so. So whoever is about to join says it first (hooks::ThreadJoining), while the handle can mean one thread only: the last that got it.
// In which order threads were created says nothing of that: one that was to be created first may come to its handle last.
#pragma once

#include <cstdint>

#include "base/mem.h"
#include "intercept/hooks.h"

namespace redflag::rt {
class Thread;
}

namespace redflag::hooks {

// Between the creator's call and the joiner's.
struct Child {
  rt::Thread* thread;
  Child* next = nullptr;
  uintptr_t handle = 0;  // once it has one
  bool detached = false;
  bool ended = false;
};

// But for Add and Name, under its lock.
class Children {
 public:
  void Add(Child* child) {
    ScopedLock guard(lock_);
    PutFirst(child);
  }
  // It has its handle now; from here on it is who is meant by that.
  void Name(Child* child, uintptr_t handle) {
    ScopedLock guard(lock_);
    Remove(child);
    child->handle = handle;
    PutFirst(child);
  }
  Child* Find(uintptr_t handle) {
    for (Child* at = first_; at != nullptr; at = at->next) {
      if (at->handle == handle) return at;
    }
    return nullptr;
  }
  Child* FindThread(const rt::Thread* thread) {
    for (Child* at = first_; at != nullptr; at = at->next) {
      if (at->thread == thread) return at;
    }
    return nullptr;
  }
  void Remove(Child* child) {
    for (Child** link = &first_; *link != nullptr; link = &(*link)->next) {
      if (*link != child) continue;
      *link = child->next;
      return;
    }
  }
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const Child* at = first_; at != nullptr; at = at->next) visit(*at);
  }
  // Nobody is left; `visit` may free it.
  template <class Visit>
  void Clear(Visit visit) {
    while (first_ != nullptr) {
      Child* child = first_;
      first_ = child->next;
      visit(child);
    }
  }
  AtomicMem::Lock& lock() { return lock_; }

 private:
  void PutFirst(Child* child) {
    child->next = first_;
    first_ = child;
  }

  AtomicMem::Lock lock_;
  Child* first_ = nullptr;
};

}  // namespace redflag::hooks
