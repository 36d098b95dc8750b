// Gate: in front of the runtime, for moments at which nobody else may be in it.
//
// fork() copies the memory of all threads and the execution of one. What the runtime keeps must be whole at that moment: a lock
// that another thread held would be held for ever in the child. So the thread that forks closes the gate, waits until nobody else is
// inside, and opens it again on both sides. The other such moment is the beginning of an era (era.cc): somebody asks for it, and
// whoever comes to the gate next sees to it.
//
// Who enters the runtime (Runtime::Enter) says so with a plain store and then looks at the gate with a plain load; the one that closes it
// makes up for the missing fence (membarrier). Those who have no Thread to say it with take a Passage.
//
// Waits end after two seconds in which nobody has opened the gate: libc's own locks, taken by fork() and held by a thread that waits here, must not become a
// deadlock. The child then may find something half done; the parent never does. An era does not begin then; one that has begun is
// waited for.
#pragma once

#include <cstdint>

namespace redflag::rt {

class Thread;

class Gate {
 public:
  // Is there anything here to stop for?
  static bool calls() { return __atomic_load_n(&state_, __ATOMIC_RELAXED) != kOpen; }

  // Asks for a new era.
  static void Ask();
  // Is this thread the one to begin it? Then it has closed the gate: Close() is to follow, and Open().
  static bool Answers(Thread& t);

  // The thread has entered while the gate was closed: leaves, waits, enters again.
  [[gnu::cold, gnu::noinline]] static void Wait(Thread& t);

  // Threads that may be in the runtime.
  static void Register(Thread& t);
  static void Unregister(Thread& t);

  // Is no other one registered?
  static bool IsAlone(const Thread& t);

  // False: others are still inside, after two seconds.
  static bool Close(Thread& t);
  // Unless it was somebody else who closed it.
  static void Open(const Thread& t);
  // In the child of a fork: whoever closed it, nobody else is here.
  static void Reset();
  // The same of a gate that is closed.
  static bool AwaitOthers(const Thread& t);

  // While nobody else is inside: calls visit(thread) for all that are registered but this one. It may unregister them.
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
  static bool AwaitOpen();  // "no": patience is at its end

  // Who closed it, as an address; or:
  static constexpr uint64_t kOpen = 0, kAsked = 1;
  static bool closed() { return __atomic_load_n(&state_, __ATOMIC_ACQUIRE) > kAsked; }

  static uint64_t state_;
  static bool is_era_;  // closed for an era: it will be open again
  static Thread* first_;
};

template <class Visit>
void Gate::ForEachOther(const Thread& self, Visit visit) {
  for (Thread* t = first_; t != nullptr;) {
    Thread* next = NextOf(*t);
    if (t != &self) visit(*t);
    t = next;
  }
}

}  // namespace redflag::rt
