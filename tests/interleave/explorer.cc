#include "explorer.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace interleave {
namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr uint64_t kPatience = 64;  // steps of one thread while others wait

class Explorer {
 public:
  explicit Explorer(const Plan& plan) : plan_(plan) {
    for (size_t i = 0; i < plan.threads.size(); ++i) stacks_.push_back(std::make_unique<char[]>(kStackBytes));
  }

  Outcome Run();
  void Step(uint64_t addr, bool is_atomic);
  void Yield() {
    if (const std::vector<int> others = Others(); !others.empty()) SwitchTo(others[0]);
  }
  void RunThread() {
    plan_.threads[static_cast<size_t>(current_)]();
    contexts_[static_cast<size_t>(current_)].done = true;
    swapcontext(&contexts_[static_cast<size_t>(current_)].context, &home_);
    std::abort();
  }

 private:
  struct Coroutine {
    ucontext_t context;
    bool done = false;
  };
  struct Choice {
    int taken;
    int options;
  };

  int Choose(int options) {
    if (options == 1) return 0;
    if (at_ == choices_.size()) choices_.push_back({.taken = 0, .options = options});
    if (choices_[at_].options != options) {
      std::puts(
          "The code under test does not do the same again: it depends on something that begin() does not set back.");
      std::exit(3);
    }
    return choices_[at_++].taken;
  }
  bool NextSchedule() {
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().options) choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }
  // The others that can go on, by their number from the current one.
  std::vector<int> Others() const {
    std::vector<int> others;
    const int count = static_cast<int>(contexts_.size());
    for (int i = 1; i < count; ++i) {
      const int other = (current_ + i) % count;
      if (!contexts_[static_cast<size_t>(other)].done) others.push_back(other);
    }
    return others;
  }
  void SwitchTo(int next) {
    const auto from = static_cast<size_t>(current_);
    if (plan_.switches) plan_.switches(current_, next);
    current_ = next;
    in_a_row_ = 0;
    swapcontext(&contexts_[from].context, &contexts_[static_cast<size_t>(next)].context);
  }
  void RunOnce();

  const Plan& plan_;
  std::vector<std::unique_ptr<char[]>> stacks_;
  std::vector<Coroutine> contexts_;
  std::vector<Choice> choices_;
  std::vector<int> made_;  // steps
  ucontext_t home_ = {};
  size_t at_ = 0;
  int current_ = 0;
  int preemptions_ = 0;
  uint64_t in_a_row_ = 0;
};

Explorer* running = nullptr;

void Explorer::Step(uint64_t addr, bool is_atomic) {
  bool is_shared = false;
  for (const Shared& part : plan_.shared) {
    is_shared |= addr - part.begin < part.end - part.begin && (is_atomic || !part.only_atomics);
  }
  if (!is_shared) return;
  made_.push_back(current_);
  const std::vector<int> others = Others();
  if (others.empty()) return;
  if (++in_a_row_ > kPatience) return SwitchTo(others[0]);
  if (preemptions_ == plan_.preemptions) return;
  const int choice = Choose(1 + static_cast<int>(others.size()));
  if (choice == 0) return;
  ++preemptions_;
  SwitchTo(others[static_cast<size_t>(choice - 1)]);
}

void Explorer::RunOnce() {
  at_ = 0;
  preemptions_ = 0;
  made_.clear();
  contexts_ = std::vector<Coroutine>(plan_.threads.size());
  plan_.begin();
  for (size_t i = 0; i < contexts_.size(); ++i) {
    getcontext(&contexts_[i].context);
    contexts_[i].context.uc_stack.ss_sp = stacks_[i].get();
    contexts_[i].context.uc_stack.ss_size = kStackBytes;
    makecontext(&contexts_[i].context, [] { running->RunThread(); }, 0);
  }
  current_ = Choose(static_cast<int>(contexts_.size()));
  if (plan_.switches) plan_.switches(-1, current_);
  running = this;
  for (;;) {
    in_a_row_ = 0;
    swapcontext(&home_, &contexts_[static_cast<size_t>(current_)].context);
    const std::vector<int> left = Others();  // one has ended
    if (left.empty()) break;
    const int ended = current_;
    current_ = left[static_cast<size_t>(Choose(static_cast<int>(left.size())))];
    if (plan_.switches) plan_.switches(ended, current_);
  }
  running = nullptr;
}

Outcome Explorer::Run() {
  Outcome outcome;
  do {
    RunOnce();
    ++outcome.schedules;
    if (made_.size() > outcome.steps) outcome.steps = made_.size();
    if (!plan_.is_right()) {
      outcome.wrong = made_;
      return outcome;
    }
  } while (NextSchedule());
  return outcome;
}

void Step(const volatile void* addr, bool is_atomic) {
  if (running != nullptr) running->Step(reinterpret_cast<uint64_t>(addr), is_atomic);
}

}  // namespace

Outcome Explore(const Plan& plan) { return Explorer(plan).Run(); }

void Yield() {
  if (running != nullptr) running->Yield();
}

bool Tell(const char* name, const Outcome& outcome) {
  std::printf("%9llu schedules, up to %llu steps: %s\n", static_cast<unsigned long long>(outcome.schedules),
              static_cast<unsigned long long>(outcome.steps), name);
  if (!outcome.wrong.empty()) std::printf("WRONG after the steps of threads");
  for (const int thread : outcome.wrong) std::printf(" %d", thread);
  if (!outcome.wrong.empty()) std::printf("\n");
  std::fflush(stdout);
  return outcome.wrong.empty();
}

}  // namespace interleave

// ---- What the compiler calls ----

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}

#define ACCESS(name) \
  void __tsan_##name(void* p) { interleave::Step(p, false); }
#define ACCESSES(size) \
  ACCESS(read##size)   \
  ACCESS(write##size)  \
  ACCESS(unaligned_read##size) ACCESS(unaligned_write##size) ACCESS(read_write##size) ACCESS(unaligned_read_write##size)
ACCESSES(1) ACCESSES(2) ACCESSES(4) ACCESSES(8) ACCESSES(16) void __tsan_read_range(void* p, unsigned long) {
  interleave::Step(p, false);
}
void __tsan_write_range(void* p, unsigned long) { interleave::Step(p, false); }

#define ATOMICS(bits, type)                                                                                   \
  type __tsan_atomic##bits##_load(const volatile type* p, int) {                                              \
    interleave::Step(p, true);                                                                                \
    return *p;                                                                                                \
  }                                                                                                           \
  void __tsan_atomic##bits##_store(volatile type* p, type value, int) {                                       \
    interleave::Step(p, true);                                                                                \
    *p = value;                                                                                               \
  }                                                                                                           \
  type __tsan_atomic##bits##_exchange(volatile type* p, type value, int) {                                    \
    interleave::Step(p, true);                                                                                \
    const type old = *p;                                                                                      \
    *p = value;                                                                                               \
    return old;                                                                                               \
  }                                                                                                           \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* expected, type value, int, int) { \
    interleave::Step(p, true);                                                                                \
    const type old = *p;                                                                                      \
    if (old == *expected) {                                                                                   \
      *p = value;                                                                                             \
      return 1;                                                                                               \
    }                                                                                                         \
    *expected = old;                                                                                          \
    return 0;                                                                                                 \
  }                                                                                                           \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* expected, type value, int success,  \
                                                  int failure) {                                              \
    return __tsan_atomic##bits##_compare_exchange_strong(p, expected, value, success, failure);               \
  }                                                                                                           \
  FETCH(bits, type, add, +)                                                                                   \
  FETCH(bits, type, sub, -) FETCH(bits, type, and, &) FETCH(bits, type, or, |) FETCH(bits, type, xor, ^)
#define FETCH(bits, type, name, operation)                                     \
  type __tsan_atomic##bits##_fetch_##name(volatile type* p, type value, int) { \
    interleave::Step(p, true);                                                 \
    const type old = *p;                                                       \
    *p = static_cast<type>(old operation value);                               \
    return old;                                                                \
  }
ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned int)
ATOMICS(64, unsigned long)

}  // extern "C"
