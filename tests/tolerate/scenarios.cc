// Races as they are in real programs, natively and tolerated, under forced interleavings: Figure 1 of the ToleRace paper, lazy initialization, a configuration that
// is reloaded, a cache that is invalidated, a pointer that is swapped, statistics, a state machine; and ABA, of which nothing is promised.
//
//   tolerate_scenarios [INTERLEAVINGS]       of each scenario, natively and tolerated; 200000 if not given
//
// Each scenario is written once: a critical section and the accesses of somebody who takes no lock, on words. Natively the section works on the words
// themselves; tolerated it works through tolerate.hpp. Where the accesses from outside come is drawn at random among all gaps, before and
// behind the section too; a tolerant section has more of them. A failure is a run that is wrong for its users and that nothing has pointed out; what is
// detected is counted among runs in which somebody's change would have been lost or mixed with the section's.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "tests/tolerate/steps.h"

namespace tolerate_tests {
namespace {

using Hardware = redflag::tolerate::hardware;
using Word = redflag::tolerate::unit8;

struct Memory {
  uint64_t a, b, c, d;
};
using Member = uint64_t Memory::*;

// A section's way to the words, natively: each access is a step, and goes to the words themselves.
class Native {
 public:
  explicit Native(Memory& memory) : memory_(memory) {}
  uint64_t Read(Member word) {
    Steps::Here();
    return memory_.*word;
  }
  void Write(Member word, uint64_t value) {
    Steps::Here();
    memory_.*word = value;
  }

 private:
  Memory& memory_;
};

// The same in a tolerant section.
class Inside {
 public:
  explicit Inside(const Tolerated<Memory&>& variable) : variable_(variable) {}
  uint64_t Read(Member word) {
    Steps::Here();
    return variable_.at(word);
  }
  void Write(Member word, uint64_t value) {
    Steps::Here();
    variable_.at(word) = value;
  }

 private:
  const Tolerated<Memory&>& variable_;
};

struct Outside {
  Memory& memory;
  uint64_t Read(Member word) const { return Hardware::outside_load<Word>(&(memory.*word)); }
  void Write(Member word, uint64_t value) const { Hardware::outside_store<Word>(&(memory.*word), value); }
};

// What a run left for the judge.
struct Notes {
  std::array<uint64_t, 8> section{}, outside{};
};

enum class Promise { kTolerated, kDetected, kNothing };

// ---- The scenarios ----
// kAccesses from outside; Section and Outside do their work, IsRight says whether all is as it would be if the section had happened at once.

// Figure 1: a script is looked at, and used. [RwR]
struct Figure1 {
  static constexpr const char* kName = "Figure 1: test, then use";
  static constexpr const char* kClass = "RwR";
  static constexpr Promise kPromise = Promise::kTolerated;
  static constexpr size_t kAccesses = 1;
  static constexpr Memory kInitial = {77, 0, 0, 0};
  template <class Access>
  static void Section(Access& words, Notes& notes) {
    constexpr uint64_t kDefault = 1;
    notes.section[0] = words.Read(&Memory::a) == 0 ? kDefault : words.Read(&Memory::a);
  }
  static void Act(size_t, const Outside& words, Notes&) { words.Write(&Memory::a, 0); }
  static bool IsRight(const Memory&, const Notes& notes) { return notes.section[0] != 0; }  // else: Compile() of null
};

// Somebody resets what a section has just found to be there: it is read three times. [RwR]
struct LazyInit {
  static constexpr const char* kName = "lazy initialization";
  static constexpr const char* kClass = "RwR";
  static constexpr Promise kPromise = Promise::kTolerated;
  static constexpr size_t kAccesses = 2;
  static constexpr Memory kInitial = {5, 0, 0, 0};
  template <class Access>
  static void Section(Access& words, Notes& notes) {
    if (words.Read(&Memory::a) == 0) {
      notes.section[0] = notes.section[1] = 9;  // makes one of its own
      return;
    }
    notes.section[0] = words.Read(&Memory::a);
    notes.section[1] = words.Read(&Memory::a);
  }
  static void Act(size_t i, const Outside& words, Notes&) { words.Write(&Memory::a, i == 0 ? 0 : 6); }
  static bool IsRight(const Memory&, const Notes& notes) {
    return notes.section[0] != 0 && notes.section[0] == notes.section[1];
  }
};

// A limit is checked, used to make room, and used to fill it; reloading writes it without the lock. [RwR]
struct ConfigReload {
  static constexpr const char* kName = "configuration reloaded";
  static constexpr const char* kClass = "RwR";
  static constexpr Promise kPromise = Promise::kTolerated;
  static constexpr size_t kAccesses = 3;
  static constexpr Memory kInitial = {64, 1, 0, 0};
  template <class Access>
  static void Section(Access& words, Notes& notes) {
    notes.section[0] = words.Read(&Memory::a);  // room
    notes.section[1] = words.Read(&Memory::b);
    notes.section[2] = words.Read(&Memory::a);  // filled
  }
  static void Act(size_t i, const Outside& words, Notes&) { words.Write(&Memory::a, 64 << (i + 1)); }
  static bool IsRight(const Memory&, const Notes& notes) { return notes.section[0] == notes.section[2]; }
};

// An entry is valid, and its value is taken; invalidating clears the flag and then the value. [RwR, two words]
struct CacheInvalidation {
  static constexpr const char* kName = "cache invalidated";
  static constexpr const char* kClass = "RwR";
  static constexpr Promise kPromise = Promise::kTolerated;
  static constexpr size_t kAccesses = 2;
  static constexpr Memory kInitial = {1, 42, 0, 0};
  template <class Access>
  static void Section(Access& words, Notes& notes) {
    notes.section[0] = words.Read(&Memory::a);
    if (notes.section[0] != 0) notes.section[1] = words.Read(&Memory::b);
  }
  static void Act(size_t i, const Outside& words, Notes&) { words.Write(i == 0 ? &Memory::a : &Memory::b, 0); }
  static bool IsRight(const Memory&, const Notes& notes) { return notes.section[0] == 0 || notes.section[1] == 42; }
};

// A section takes a pointer away, works, and puts another one there; somebody looks at it. [WrW]
struct PointerSwap {
  static constexpr const char* kName = "pointer swapped";
  static constexpr const char* kClass = "WrW";
  static constexpr Promise kPromise = Promise::kTolerated;
  static constexpr size_t kAccesses = 3;
  static constexpr Memory kInitial = {100, 0, 0, 0};
  template <class Access>
  static void Section(Access& words, Notes&) {
    words.Write(&Memory::a, 0);  // nobody shall use it meanwhile
    words.Write(&Memory::a, 1);  // a mark
    words.Write(&Memory::a, 200);
  }
  static void Act(size_t i, const Outside& words, Notes& notes) { notes.outside[i] = words.Read(&Memory::a); }
  static bool IsRight(const Memory& memory, const Notes& notes) {
    bool is_right = memory.a == 200;
    for (size_t i = 0; i < kAccesses; ++i) is_right &= notes.outside[i] == 100 || notes.outside[i] == 200;
    return is_right;
  }
};

// A counter goes up under the lock; somebody sets it without. [RwW] The section's update may not be lost unnoticed, nor the other's.
struct Statistics {
  static constexpr const char* kName = "statistics, set from outside";
  static constexpr const char* kClass = "RwW";
  static constexpr Promise kPromise = Promise::kDetected;
  static constexpr size_t kAccesses = 1;
  static constexpr Memory kInitial = {10, 0, 0, 0};
  template <class Access>
  static void Section(Access& words, Notes&) {
    words.Write(&Memory::a, words.Read(&Memory::a) + 1);
  }
  static void Act(size_t, const Outside& words, Notes&) { words.Write(&Memory::a, 1000); }
  static bool IsRight(const Memory& memory, const Notes&) { return memory.a == 1000 || memory.a == 1001; }
};

// The same with a function that merges: the paper's custom resolution.
struct MergedStatistics : Statistics {
  static constexpr const char* kName = "statistics, merged";
  static constexpr Promise kPromise = Promise::kTolerated;
  static constexpr bool kMerges = true;
};

// A section steps through states and trusts what it has written; somebody cancels. [WwR, WwW, RwW]
struct StateMachine {
  static constexpr const char* kName = "state machine, cancelled";
  static constexpr const char* kClass = "WwR, WwW";
  static constexpr Promise kPromise = Promise::kDetected;
  static constexpr size_t kAccesses = 1;
  enum : uint64_t { kIdle = 1, kStarting, kRunning, kDone, kCancelled };
  static constexpr Memory kInitial = {kIdle, 0, 0, 0};
  template <class Access>
  static void Section(Access& words, Notes& notes) {
    notes.section[0] = words.Read(&Memory::a);
    if (notes.section[0] != kIdle) return;
    words.Write(&Memory::a, kStarting);
    notes.section[1] = words.Read(&Memory::a);  // its own
    words.Write(&Memory::a, kRunning);
    notes.section[2] = words.Read(&Memory::a);
    words.Write(&Memory::a, kDone);
  }
  static void Act(size_t, const Outside& words, Notes&) { words.Write(&Memory::a, kCancelled); }
  static bool IsRight(const Memory& memory, const Notes& notes) {
    if (memory.a != kCancelled) return false;  // somebody's wish was lost
    return notes.section[0] == kCancelled || (notes.section[1] == kStarting && notes.section[2] == kRunning);
  }
};

// Two totals that belong together are moved by a section; somebody corrects one. [Ww on a struct]
struct Transfer {
  static constexpr const char* kName = "two totals, one corrected";
  static constexpr const char* kClass = "RwW";
  static constexpr Promise kPromise = Promise::kDetected;
  static constexpr size_t kAccesses = 2;
  static constexpr Memory kInitial = {100, 100, 0, 0};
  template <class Access>
  static void Section(Access& words, Notes&) {
    words.Write(&Memory::a, words.Read(&Memory::a) - 30);
    words.Write(&Memory::b, words.Read(&Memory::b) + 30);
  }
  static void Act(size_t i, const Outside& words, Notes&) {
    words.Write(i == 0 ? &Memory::a : &Memory::b, i == 0 ? 500 : 700);
  }
  static bool IsRight(const Memory& memory, const Notes&) {
    return (memory.a == 500 || memory.a == 470) && (memory.b == 700 || memory.b == 730);
  }
};

// Somebody writes two words and puts the first one back: what the section read is of no moment that fits. Not promised.
struct Aba {
  static constexpr const char* kName = "ABA over two words";
  static constexpr const char* kClass = "RwwW";
  static constexpr Promise kPromise = Promise::kNothing;
  static constexpr size_t kAccesses = 3;
  static constexpr Memory kInitial = {10, 20, 0, 0};
  template <class Access>
  static void Section(Access& words, Notes& notes) {
    notes.section[0] = words.Read(&Memory::b);
    words.Write(&Memory::a, words.Read(&Memory::a) + 1);
  }
  static void Act(size_t i, const Outside& words, Notes&) {
    words.Write(i == 1 ? &Memory::b : &Memory::a, i == 0 ? 99 : i == 1 ? 21 : 10);
  }
  // Serial: before all three the section's update is overwritten (10), after them it has read 21 and left 11; in between it is overwritten as well.
  static bool IsRight(const Memory& memory, const Notes& notes) {
    return memory.a == 10 || (memory.a == 11 && notes.section[0] == 21);
  }
};

// ---- Running them ----

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Below(uint64_t end) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % end;
  }

 private:
  uint64_t state_;
};

struct Counts {
  uint64_t runs = 0, wrong = 0, detected = 0, failures = 0;  // failures: wrong and not detected
};

template <class Scenario>
concept Merges = Scenario::kMerges;

template <class Scenario>
class Trial {
 public:
  Counts Natively(uint64_t runs) { return Run(runs, false); }
  Counts Tolerantly(uint64_t runs) { return Run(runs, true); }

 private:
  Tolerated<Memory&> MakeVariable() {
    if constexpr (Merges<Scenario>) {
      return {mutex_, memory_, redflag::merge([](const Memory& original, const Memory& mine, const Memory& theirs) {
                return Memory{theirs.a + (mine.a - original.a), theirs.b + (mine.b - original.b), theirs.c, theirs.d};
              })};
    } else {
      return {mutex_, memory_};
    }
  }

  Counts Run(uint64_t runs, bool is_tolerated) {
    Tolerated<Memory&> variable = MakeVariable();
    Counts counts;
    Random random(42);
    const std::function<void(size_t)> act = [&](size_t i) { Scenario::Act(i, Outside{memory_}, notes_); };
    const auto section = [&] {
      if (is_tolerated) {
        const std::lock_guard lock(mutex_);
        Inside words(variable);
        Scenario::Section(words, notes_);
      } else {
        Native words(memory_);
        Scenario::Section(words, notes_);
      }
    };
    memory_ = Scenario::kInitial;
    const size_t steps = Steps::Run({}, act, section);
    std::vector<size_t> gaps(Scenario::kAccesses);
    for (; counts.runs < runs; ++counts.runs) {
      // Of the steps of the section as it is undisturbed, the time before it and the time behind it are one each.
      for (size_t& gap : gaps) gap = random.Below(steps + 1);
      std::sort(gaps.begin(), gaps.end());
      memory_ = Scenario::kInitial;
      notes_ = {};
      const uint64_t before = mutex_.counted().conflicts;
      Steps::Run(gaps, act, section);
      const bool is_detected = mutex_.counted().conflicts != before;
      const bool is_wrong = !Scenario::IsRight(memory_, notes_);
      counts.wrong += is_wrong;
      counts.detected += is_detected;
      counts.failures += is_wrong && !is_detected;
    }
    return counts;
  }

  Memory memory_{};
  Notes notes_;
  Mutex mutex_{"scenario"};
};

uint64_t total = 0;
bool all_right = true;

template <class Scenario>
void Show(uint64_t runs) {
  const Counts native = Trial<Scenario>().Natively(runs);
  const Counts tolerated = Trial<Scenario>().Tolerantly(runs);
  total += runs;
  bool is_right = native.failures > runs / 100;  // else the scenario shows nothing
  const char* promise = "";
  switch (Scenario::kPromise) {
    case Promise::kTolerated:
      promise = "tolerated";
      is_right &= tolerated.wrong == 0;
      break;
    case Promise::kDetected:
      promise = "detected";
      is_right &= tolerated.failures * 100 <= tolerated.wrong && tolerated.failures * 100 <= native.failures;
      break;
    case Promise::kNothing:
      promise = "neither";
      break;
  }
  const double detected = tolerated.wrong == 0 ? 100.0
                                               : 100.0 * static_cast<double>(tolerated.wrong - tolerated.failures) /
                                                     static_cast<double>(tolerated.wrong);
  std::printf("%-32s %-10s %-10s %9llu %10llu %10llu %9.2f %% %10llu%s\n", Scenario::kName, Scenario::kClass, promise,
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(native.failures),
              static_cast<unsigned long long>(tolerated.failures), detected,
              static_cast<unsigned long long>(tolerated.detected), is_right ? "" : "   WRONG");
  all_right &= is_right;
}

int Main(uint64_t runs) {
  redflag::tolerate::set_handler([](const redflag::tolerate::detection&) {});
  std::printf("%-32s %-10s %-10s %9s %10s %10s %11s %10s\n", "scenario", "class", "promised", "runs", "native",
              "tolerated", "detected", "conflicts");
  std::printf("%-32s %-10s %-10s %9s %10s %10s %11s %10s\n", "", "", "", "", "failures", "failures", "of wrong",
              "raised");
  Show<Figure1>(runs);
  Show<LazyInit>(runs);
  Show<ConfigReload>(runs);
  Show<CacheInvalidation>(runs);
  Show<PointerSwap>(runs);
  Show<MergedStatistics>(runs);
  Show<Statistics>(runs);
  Show<StateMachine>(runs);
  Show<Transfer>(runs);
  Show<Aba>(runs);
  std::printf("%llu forced interleavings, each natively and tolerated\n", static_cast<unsigned long long>(total));
  return all_right ? 0 : 1;
}

}  // namespace
}  // namespace tolerate_tests

int main(int argc, char** argv) {
  return tolerate_tests::Main(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000);
}
