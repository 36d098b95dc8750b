// Explorer: runs a few threads under every schedule there is, up to a number of preemptions, and asks after each whether all is well.
//
// The code under test is compiled with -fsanitize=thread and linked with explorer.cc, which defines the calls that the compiler puts before
// each access to memory: there, if the access is to memory that the threads share, another thread may go on. So it is the code itself
// that is tested, as it is, not a model of it. Threads are coroutines; memory is sequentially consistent.
//
// A schedule is a list of choices. The first takes the first choice everywhere; the next one changes the last choice that can be changed, and so on
// until there is none left. A thread that makes very many steps while others wait, as one in a spin lock does, makes room for them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace interleave {

struct Shared {
  uint64_t begin, end;
  bool only_atomics = false;  // the rest of it nobody changes meanwhile, or a lock protects
};

struct Plan {
  std::vector<Shared> shared;  // accesses to it are steps
  int preemptions = 3;         // most in one schedule
  std::function<void()> begin;
  std::vector<std::function<void()>> threads;
  std::function<bool()> is_right;  // after all have ended
  std::function<void(int, int)>
      switches;  // from a thread to another: what is thread-local has to be exchanged; may be empty
};

struct Outcome {
  uint64_t schedules = 0;
  uint64_t steps = 0;  // of the longest
  std::vector<int>
      wrong;  // the thread that made each step, of the first schedule after which something was wrong; empty: none
};

Outcome Explore(const Plan& plan);

// What a thread that sleeps calls: the others go on.
void Yield();

// Says how it went; false if something was wrong.
bool Tell(const char* name, const Outcome& outcome);

}  // namespace interleave
