// The semantics of a section by exhaustion: every section of up to 6 accesses against every thread outside of it with up to 6 accesses, under every
// interleaving. After each, either a conflict was raised, or what was seen is what would be seen if the whole section had happened at once between two
// of the accesses from outside.
//
//   tolerate_exhaustive [--long]
//
// One word: no more to say. Two words: somebody outside reads them one after the other, and two words cannot be published at once. So the promise is
// that each word alone is as if the section had happened at once, and that what the section reads of both is of one moment; for somebody who only
// writes, that it has happened at once for both together. --long has longer programs of two words.
//
// ABA is excluded by giving every write from outside a value of its own; tests/tolerate/scenarios.cc shows what happens otherwise.
#include <array>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/tolerate/steps.h"

namespace tolerate_tests {
namespace {

// One access: a word, and whether it writes.
struct Op {
  int word;
  bool writes;
};
using Program = std::vector<Op>;

// All programs of 1 to `most` accesses to `words` words.
std::vector<Program> Programs(size_t most, int words) {
  std::vector<Program> all;
  std::vector<Program> longest = {{}};
  for (size_t length = 1; length <= most; ++length) {
    std::vector<Program> longer;
    for (const Program& program : longest) {
      for (int word = 0; word < words; ++word) {
        for (const bool writes : {false, true}) {
          longer.push_back(program);
          longer.back().push_back({word, writes});
        }
      }
    }
    all.insert(all.end(), longer.begin(), longer.end());
    longest = std::move(longer);
  }
  return all;
}

// What both see, and what is left.
struct Seen {
  std::array<uint64_t, 6> section{}, outside{};
  std::array<uint64_t, 2> memory{};
  bool operator==(const Seen&) const = default;
};

constexpr uint64_t kOutside = 1000;

// What a section writes is made of what it has seen, so that nothing that it sees goes unnoticed.
struct Body {
  uint64_t last = 1;
  uint64_t Next() { return last = last * 3 + 2; }
  void Saw(uint64_t value) { last = last * 5 + value; }
};

// The whole section at once, after `before` accesses from outside.
Seen Serial(const Program& section, const Program& outside, size_t before) {
  std::array<uint64_t, 2> memory = {1, 2};
  Seen seen;
  const auto act = [&](size_t i) {
    const Op op = outside[i];
    if (op.writes) {
      memory[op.word] = kOutside + i;
    } else {
      seen.outside[i] = memory[op.word];
    }
  };
  for (size_t i = 0; i < before; ++i) act(i);
  Body body;
  for (size_t i = 0; i < section.size(); ++i) {
    if (section[i].writes) {
      seen.section[i] = memory[section[i].word] = body.Next();
    } else {
      body.Saw(seen.section[i] = memory[section[i].word]);
    }
  }
  for (size_t i = before; i < outside.size(); ++i) act(i);
  seen.memory = memory;
  return seen;
}

// The same for one word alone: is it what this section, with what it wrote there, would have left and seen after `before` accesses?
bool IsSerialOn(int word, const Seen& seen, const Program& section, const Program& outside, size_t before) {
  uint64_t memory = static_cast<uint64_t>(word) + 1;
  bool is_same = true;
  const auto act = [&](size_t i) {
    if (outside[i].word != word) return;
    if (outside[i].writes) {
      memory = kOutside + i;
    } else {
      is_same &= seen.outside[i] == memory;
    }
  };
  for (size_t i = 0; i < before; ++i) act(i);
  for (size_t i = 0; i < section.size(); ++i) {
    if (section[i].word != word) continue;
    if (section[i].writes) {
      memory = seen.section[i];
    } else {
      is_same &= seen.section[i] == memory;
    }
  }
  for (size_t i = before; i < outside.size(); ++i) act(i);
  return is_same && memory == seen.memory[static_cast<size_t>(word)];
}

struct Totals {
  uint64_t interleavings = 0, conflicts = 0, violations = 0;
};

template <class IsRight>
bool IsRightSomewhere(const Program& outside, const IsRight& is_right) {
  for (size_t before = 0; before <= outside.size(); ++before) {
    if (is_right(before)) return true;
  }
  return false;
}

// Is it what a section between two accesses would have left? Of two words, if somebody reads them from outside: each word alone is, and what the section
// has read is of one moment.
bool IsExplained(const Seen& seen, const Program& section, const Program& outside, int words) {
  bool reads_outside = false;
  for (const Op& op : outside) reads_outside |= !op.writes;
  if (words == 1 || !reads_outside)
    return IsRightSomewhere(outside, [&](size_t before) { return Serial(section, outside, before) == seen; });
  for (int word = 0; word < words; ++word) {
    if (!IsRightSomewhere(outside, [&](size_t before) { return IsSerialOn(word, seen, section, outside, before); }))
      return false;
  }
  return IsRightSomewhere(outside,
                          [&](size_t before) { return Serial(section, outside, before).section == seen.section; });
}

// Words of the test, and the variable that a section knows them by.
struct One {
  uint64_t a;
};
struct Two {
  uint64_t a, b;
};
template <class Words>
uint64_t Words::* MemberOf(int word) {
  if constexpr (std::is_same_v<Words, Two>) {
    return word == 0 ? &Two::a : &Two::b;
  } else {
    return &One::a;
  }
}

// The epilog as the paper prints it: a test, and then a store. Between the two there is room for somebody else.
struct TestThenStore : Stepped {
  template <class Unit>
  static bool replace(void* at, uint64_t& expected, uint64_t desired) {
    const uint64_t seen = load<Unit>(at);
    if (seen == expected) {
      store<Unit>(at, desired);
      return true;
    }
    expected = seen;
    return false;
  }
};

template <class Words, class Memory = Stepped>
class Explorer {
 public:
  static constexpr int kWords = sizeof(Words) / sizeof(uint64_t);

  explicit Explorer(bool shows = true) : shows_(shows) {}

  Totals Explore(size_t most_section, size_t most_outside) {
    totals_ = {};
    const std::vector<Program> outsides = Programs(most_outside, kWords);
    for (const Program& section : Programs(most_section, kWords)) {
      for (const Program& outside : outsides) Explore(section, outside);
    }
    return totals_;
  }

 private:
  using Hardware = redflag::tolerate::hardware;
  using Word = redflag::tolerate::unit8;

  void Explore(const Program& section, const Program& outside) {
    const std::function<void(size_t)> act = [&](size_t i) {
      uint64_t* const word = &(memory_.*MemberOf<Words>(outside[i].word));
      if (outside[i].writes) {
        Hardware::outside_store<Word>(word, kOutside + i);
      } else {
        seen_.outside[i] = Hardware::outside_load<Word>(word);
      }
    };
    // A conflict needs somebody else's write to a word that the section writes too.
    bool may_conflict = false;
    for (const Op& mine : section) {
      for (const Op& other : outside) may_conflict |= mine.writes && other.writes && mine.word == other.word;
    }
    ForEachInterleaving(outside.size(), [&](const std::vector<size_t>& gaps) {
      seen_ = {};
      for (int word = 0; word < kWords; ++word) memory_.*MemberOf<Words>(word) = static_cast<uint64_t>(word) + 1;
      const uint64_t before = mutex_.counted().conflicts;
      const size_t steps = Steps::Run(gaps, act, [&] { RunSection(section); });
      for (int word = 0; word < kWords; ++word) seen_.memory[word] = memory_.*MemberOf<Words>(word);
      if (kWords == 1) seen_.memory[1] = 2;
      ++totals_.interleavings;
      const bool is_raised = mutex_.counted().conflicts != before;
      totals_.conflicts += is_raised;
      const bool is_right = is_raised ? may_conflict : IsExplained(seen_, section, outside, kWords);
      if (!is_right && totals_.violations++ == 0 && shows_) Show(section, outside, gaps, is_raised);
      return steps;
    });
  }

  void RunSection(const Program& section) {
    const std::lock_guard lock(mutex_);
    Body body;
    for (size_t i = 0; i < section.size(); ++i) {
      Steps::Here();
      const auto word = variable_.at(MemberOf<Words>(section[i].word));
      if (section[i].writes) {
        word = seen_.section[i] = body.Next();
      } else {
        body.Saw(seen_.section[i] = word);
      }
    }
  }

  static void Show(const Program& section, const Program& outside, const std::vector<size_t>& gaps, bool is_raised) {
    const auto print = [](const char* who, const Program& program) {
      std::printf("  %s:", who);
      for (const Op& op : program) std::printf(" %s%c", op.writes ? "write " : "read ", 'a' + op.word);
      std::printf("\n");
    };
    std::printf("WRONG%s\n", is_raised ? ": a conflict without a cause" : "");
    print("section", section);
    print("outside", outside);
    std::printf("  the latter after steps:");
    for (const size_t gap : gaps) std::printf(" %zu", gap);
    std::printf("\n");
  }

  bool shows_;  // the first violation
  Words memory_{};
  redflag::basic_tolerant_mutex<NoLock, Memory> mutex_{"exhaustive"};
  redflag::tolerated<Words&, Memory> variable_{mutex_, memory_};
  Seen seen_;
  Totals totals_;
};

bool Tell(const char* what, const Totals& totals) {
  std::printf("%-60s %12llu interleavings, %11llu conflicts raised, %llu violations\n", what,
              static_cast<unsigned long long>(totals.interleavings), static_cast<unsigned long long>(totals.conflicts),
              static_cast<unsigned long long>(totals.violations));
  std::fflush(stdout);
  return totals.violations == 0 && totals.conflicts != 0;
}

int Main(bool is_long) {
  redflag::tolerate::set_handler([](const redflag::tolerate::detection&) {});
  // That this test can fail: the paper's own epilog loses updates.
  const Totals plain = Explorer<One, TestThenStore>(false).Explore(2, 2);
  Tell("one word, test and store in place of compare-exchange, 2 and 2", plain);
  if (plain.violations == 0) return 1;
  bool is_right = Tell("one word, section up to 6 accesses, outside up to 6", Explorer<One>().Explore(6, 6));
  is_right &= Tell("two words, section up to 3 accesses, outside up to 3", Explorer<Two>().Explore(3, 3));
  if (is_long) is_right &= Tell("two words, section up to 4 accesses, outside up to 4", Explorer<Two>().Explore(4, 4));
  if (is_long) is_right &= Tell("two words, section up to 2 accesses, outside up to 6", Explorer<Two>().Explore(2, 6));
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace tolerate_tests

int main(int argc, char** argv) { return tolerate_tests::Main(argc > 1 && std::string_view(argv[1]) == "--long"); }
