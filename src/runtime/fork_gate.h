// ForkGate: fork() copies the memory of all threads and the execution of one. What the runtime keeps must be whole at that moment: a lock
// that another thread held would be held for ever in the child. So the thread that forks closes a gate in front of the runtime, waits
// until nobody else is in it, and opens it again on both sides.
//
// Who enters the runtime (Runtime::Enter) says so with a plain store and then looks at the gate with a plain load; the one that closes it
// makes up for the missing fence (membarrier). Those who have no Thread to say it with take a Passage.
//
// Both waits end after two seconds: libc's own locks, taken by fork() and held by a thread that waits here, must not become a
// deadlock. The child then may find something half done; the parent never does.
#pragma once

#include <cstdint>

namespace redflag::rt {

class Thread;

class ForkGate {
 public:
  static bool closed() { return __atomic_load_n(&owner_, __ATOMIC_RELAXED) != nullptr; }

  // The thread has entered while the gate was closed: leaves, waits, enters again.
  [[gnu::cold, gnu::noinline]] static void Wait(Thread& t);

  // Threads that may be in the runtime.
  static void Register(Thread& t);
  static void Unregister(Thread& t);

  static void Close(Thread& t);
  static void Open();

  // In the child: calls visit(thread) for all that were registered but the one that forked. It may unregister them.
  template <class Visit>
  static void ForEachOther(const Thread& self, Visit visit);

  class Passage {
   public:
    Passage();
    ~Passage();
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;
  };

 private:
  static Thread* NextOf(const Thread& t);

  static Thread* owner_;  // who closed it; null: open
  static Thread* first_;
};

template <class Visit>
void ForkGate::ForEachOther(const Thread& self, Visit visit) {
  for (Thread* t = first_; t != nullptr;) {
    Thread* next = NextOf(*t);
    if (t != &self) visit(*t);
    t = next;
  }
}

}  // namespace redflag::rt
