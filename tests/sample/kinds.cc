// Races of many kinds in one program, each between the two lines that its mark names, over and over until the time is up. What each one is, is said in
// KINDS at its variable: what DataCollider's paper (4.4) calls benign and how, or harmful. Nothing here is meant to be right.
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#define APART __attribute__((noinline)) static

struct alignas(64) Long {
  long value;
};

static Long hits;           // KIND(hits): statistics counter
static Long misses;         // KIND(misses): statistics counter
static Long flags;          // KIND(flags): safe flag update
static Long options;        // KIND(options): safe flag update
static Long progress;       // KIND(progress): special variable
static Long generation;     // KIND(generation): atomic on one side
static Long is_ready;       // KIND(is_ready): double-checked locking
Long same;                  // KIND(same): write same value
static volatile long spun;  // KIND(spun): volatile
static Long balance;        // KIND(balance): harmful
static Long both_flags;     // KIND(both_flags): harmful
static Long low, high;      // KIND(low): harmful
                            // KIND(high): harmful
static Long* published;     // KIND(published): harmful
static Long stack_top;      // KIND(stack_top): harmful
static Long items[64];      // KIND(items): harmful
static std::atomic<bool> done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

APART void CountHit() { hits.value++; }        // RACE(hits)
APART void CountMiss() { misses.value += 2; }  // RACE(misses)

// One bit is another's: the reader looks at bits that nobody changes here.
APART void SetFlag() { flags.value ^= 4; }                   // RACE(flags)
APART bool IsFlagSet() { return (flags.value & 1) != 0; }    // RACE(flags)
APART void ToggleOption() { options.value ^= 0x10; }         // RACE(options)
APART bool HasOption() { return (options.value & 2) != 0; }  // RACE(options)

APART void Advance(long to) { progress.value = to; }  // RACE(progress)
APART long SeenProgress() { return progress.value; }  // RACE(progress)

APART void NextGeneration() { __atomic_fetch_add(&generation.value, 1, __ATOMIC_RELAXED); }  // RACE(generation)
APART long Generation() { return generation.value; }                                         // RACE(generation)

APART void Prepare() {
  if (is_ready.value != 0) return;  // RACE(is_ready)
  pthread_mutex_lock(&mutex);
  is_ready.value = 1;  // RACE(is_ready)
  pthread_mutex_unlock(&mutex);
}
APART void Forget() {
  pthread_mutex_lock(&mutex);
  is_ready.value = 0;  // RACE(is_ready)
  pthread_mutex_unlock(&mutex);
}

APART void SetSame() { same.value = 42; }  // RACE(same)
APART void Spin(long to) { spun = to; }    // RACE(spun)
APART long Spun() { return spun; }         // RACE(spun)

// Money is lost.
APART void Withdraw() {
  if (balance.value > 100) balance.value = balance.value - 100;  // RACE(balance)
}
APART void Deposit() { balance.value = balance.value + 100; }  // RACE(balance)

// Both sides write: a bit that was set is gone (the paper's Figure 4).
APART void SetOne() { both_flags.value |= 1; }      // RACE(both_flags)
APART void ClearTwo() { both_flags.value &= ~2L; }  // RACE(both_flags)

// Two variables that belong together.
APART void SetRange(long to) {
  low.value = to;        // RACE(low)
  high.value = to + 10;  // RACE(high)
}
APART long Range() {
  const long from = low.value;  // RACE(low)
  return high.value - from;     // RACE(high)
}

APART void Publish() { published = published == nullptr ? &items[3] : nullptr; }  // RACE(published)
APART long UsePublished() {
  Long* const it = published;
  return it == nullptr ? 0 : it->value;
}  // RACE(published)

APART void Push(long what) {
  const long at = stack_top.value;  // RACE(stack_top)
  items[at & 63].value = what;      // RACE(items)
  stack_top.value = at + 1;         // RACE(stack_top)
}
APART long Pop() {
  const long at = stack_top.value;  // RACE(stack_top)
  stack_top.value = at - 1;         // RACE(stack_top)
  return items[at & 63].value;      // RACE(items)
}

static void* Work(void* which) {
  long sum = 0;
  for (long i = 0; !done.load(std::memory_order_relaxed); ++i) {
    CountHit();
    CountMiss();
    SetSame();
    Prepare();
    if (which == nullptr) {
      SetFlag(), ToggleOption(), Advance(i), NextGeneration(), Spin(i), Withdraw(), SetOne(), SetRange(i), Publish(),
          Push(i);
      if (i % 16 == 0) Forget();
    } else {
      sum += IsFlagSet() + HasOption() + SeenProgress() + Generation() + Spun() + Range() + UsePublished() + Pop();
      Deposit(), ClearTwo();
    }
  }
  return sum == 12345 ? which : nullptr;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], nullptr, Work, reinterpret_cast<void*>(i));
  const timespec wait = {static_cast<time_t>(seconds), static_cast<long>((seconds - static_cast<long>(seconds)) * 1e9)};
  nanosleep(&wait, nullptr);
  done = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  std::puts("done");
  return 0;
}
