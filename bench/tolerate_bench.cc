// What tolerant sections cost, against std::mutex and plain variables (docs/tolerate.md): a program that spends all its time in sections of 200 ns and more, a
// parallel hash table, tiny sections, sections that are not chosen, and memory.
//
//   tolerate_bench [--check] [ROUNDS]     300 rounds if not given. --check: exit status 1 if one of the first two costs more than 10 %
//
// Processor time, of both kinds by turns, a few milliseconds each. A tenth of the rounds are faster than what counts: other programs on the machine make
// most of them slower, and now and then the clock makes one faster.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "redflag/tolerate.hpp"

namespace {

double ProcessorSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double Measured(const std::function<void()>& work) {
  const double begin = ProcessorSeconds();
  work();
  return ProcessorSeconds() - begin;
}

struct Costs {
  double native, tolerant;  // seconds
  double percent() const { return (tolerant / native - 1) * 100; }
};

double Tenth(std::vector<double> rounds) {
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 10];
}

Costs Compare(int rounds, const std::function<void()>& native, const std::function<void()>& tolerant) {
  std::vector<double> natively, tolerantly;
  for (int i = 0; i < rounds; ++i) {
    natively.push_back(Measured(native));
    tolerantly.push_back(Measured(tolerant));
  }
  return {Tenth(natively), Tenth(tolerantly)};
}

void InThreads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

// ---- All time in sections ----

template <size_t kWords>
struct State {
  uint64_t words[kWords];
};

// Some work, which leaves the first words changed.
template <size_t kWritten, size_t kWords>
inline void Work(State<kWords>& state, int steps) {
  uint64_t sum = state.words[kWords - 1];
  for (int i = 0; i < steps; ++i) sum = (sum ^ (sum >> 29)) * 0xbf58476d1ce4e5b9u + static_cast<uint64_t>(i);
  asm volatile("" : "+r"(sum));  // it is of use
  for (size_t i = 0; i < kWritten; ++i) state.words[i] += sum | 1;
}

template <size_t kWords, size_t kWritten>
class Sections {
 public:
  // Steps of work that take `nanoseconds` with a std::mutex around them.
  explicit Sections(double nanoseconds) {
    constexpr int kTimes = 20'000;
    for (steps_ = 8;; steps_ += std::max(1, static_cast<int>(steps_ * (nanoseconds / took_ - 1)))) {
      double least = 1e9;
      for (int i = 0; i < 5; ++i) least = std::min(least, Measured([&] { Native(kTimes); }));
      took_ = least / kTimes * 1e9;
      if (took_ >= nanoseconds) return;
    }
  }
  double took() const { return took_; }
  void Native(int times) {
    for (int i = 0; i < times; ++i) {
      const std::lock_guard lock(mutex_);
      Work<kWritten>(state_, steps_);
    }
  }
  void Tolerant(int times) {
    for (int i = 0; i < times; ++i) {
      auto state = tolerated_.lock();
      Work<kWritten>(*state, steps_);
    }
  }

 private:
  std::mutex mutex_;
  State<kWords> state_{};
  redflag::tolerant_mutex tolerant_mutex_{"sections"};
  redflag::tolerated<State<kWords>> tolerated_{tolerant_mutex_};
  int steps_ = 0;
  double took_ = 0;
};

// ---- A parallel hash table ----

// What differs between the two.
struct NativeKind {
  using Mutex = std::mutex;
  template <class T>
  static T Read(const T& from) {
    return from;
  }
  template <class T>
  struct Target {
    Target(Mutex&, T& at) : target(at) {}
    T read() const { return target; }
    void write(const T& value) { target = value; }
    T& target;
  };
};
struct TolerantKind {
  using Mutex = redflag::tolerant_mutex;
  template <class T>
  static T Read(const T& from) {
    return redflag::read_once(from);
  }
  template <class T>
  using Target = redflag::tolerated_target<T>;
};

// Chains, and a mutex for every so many buckets. Sections that change the head of a chain, the value of a node or the
// number of nodes work on copies of them; those that read them do so once.
// Value is a number, or a pointer to what is stored.
template <class Kind, class Key, class Value>
class HashTable {
 public:
  explicit HashTable(size_t buckets) : buckets_(buckets) {}
  ~HashTable() {
    for (Node* node : buckets_) {
      while (node != nullptr) {
        Free(node->value);
        delete std::exchange(node, node->next);
      }
    }
  }
  HashTable(const HashTable&) = delete;
  HashTable& operator=(const HashTable&) = delete;

  void Put(const Key& key, Value value) {
    const size_t bucket = Hash(key) % buckets_.size();
    Stripe& stripe = stripes_[bucket % kStripes];
    const std::lock_guard lock(stripe.mutex);
    Target<Node*> head(stripe.mutex, buckets_[bucket]);
    if (Node* const node = Find(head.read(), key)) {
      Target<Value> target(stripe.mutex, node->value);
      Free(target.read());
      target.write(value);
      return;
    }
    head.write(new Node{key, value, head.read()});
    Count(stripe, 1);
  }
  // Calls visit(value) in the section.
  template <class Visitor>
  bool Get(const Key& key, const Visitor& visit) {
    const size_t bucket = Hash(key) % buckets_.size();
    Stripe& stripe = stripes_[bucket % kStripes];
    const std::lock_guard lock(stripe.mutex);
    const Node* const node = Find(Kind::Read(buckets_[bucket]), key);
    if (node == nullptr) return false;
    visit(Kind::Read(node->value));
    return true;
  }
  void Remove(const Key& key) {
    const size_t bucket = Hash(key) % buckets_.size();
    Stripe& stripe = stripes_[bucket % kStripes];
    const std::lock_guard lock(stripe.mutex);
    Target<Node*> head(stripe.mutex, buckets_[bucket]);
    Node* const first = head.read();
    if (first == nullptr || first->key != key) return;
    head.write(first->next);
    Count(stripe, -1);
    Free(first->value);
    delete first;
  }

 private:
  template <class T>
  using Target = typename Kind::template Target<T>;
  struct Node {
    Key key;
    Value value;
    Node* next;
  };
  static constexpr size_t kStripes = 256;
  struct Stripe {
    typename Kind::Mutex mutex;
    uint64_t nodes = 0;
  };

  static void Count(Stripe& stripe, int nodes) {
    Target<uint64_t> counted(stripe.mutex, stripe.nodes);
    counted.write(counted.read() + static_cast<uint64_t>(static_cast<int64_t>(nodes)));
  }
  static void Free(uint64_t) {}
  static void Free(const std::string* value) { delete value; }
  static uint64_t Hash(uint64_t key) { return (key ^ (key >> 31)) * 0x9e3779b97f4a7c15u; }
  static uint64_t Hash(const std::string& key) { return Hash(std::hash<std::string>()(key)); }
  static Node* Find(Node* node, const Key& key) {
    while (node != nullptr && node->key != key) node = node->next;
    return node;
  }

  std::vector<Node*> buckets_;
  std::array<Stripe, kStripes> stripes_;
};

// Which keys and values there are, and what is done with a value that was found.
struct Numbers {
  static constexpr const char* kTitle = "numbers";
  using Key = uint64_t;
  using Value = uint64_t;
  static Key KeyOf(uint64_t number) { return number; }
  static Value ValueOf(uint64_t number) { return number; }
  struct Found {
    uint64_t sum = 0;
    void operator()(Value value) { sum += value; }
  };
};
struct Texts {
  static constexpr const char* kTitle = "texts";
  using Key = std::string;
  using Value = const std::string*;
  static Key KeyOf(uint64_t number) { return "/accounts/" + std::to_string(number * 7919) + "/profile"; }
  static Value ValueOf(uint64_t number) { return new std::string("value " + std::to_string(number) + " of this key"); }
  struct Found {
    std::string copy;
    void operator()(Value value) { copy = *value; }
  };
};

// Seven reads of eight, as many insertions as removals, over many keys.
template <class Content, class Table>
void UseTable(Table& table, uint64_t seed, int times, const std::vector<typename Content::Key>& keys) {
  uint64_t state = 0x2545f4914f6cdd1du * (seed + 1);
  typename Content::Found found;
  for (int i = 0; i < times; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const auto& key = keys[state % keys.size()];
    switch (state >> 60) {
      case 0:
        table.Put(key, Content::ValueOf(state));
        break;
      case 1:
        table.Remove(key);
        break;
      default:
        table.Get(key, [&](auto value) { found(value); });
    }
  }
  asm volatile("" : : "r"(&found) : "memory");  // it is of use
}

template <class Content>
Costs MeasureTable(int rounds, int threads, uint64_t keys) {
  std::vector<typename Content::Key> all;
  for (uint64_t i = 0; i < keys; ++i) all.push_back(Content::KeyOf(i));
  HashTable<NativeKind, typename Content::Key, typename Content::Value> native(keys);
  HashTable<TolerantKind, typename Content::Key, typename Content::Value> tolerant(keys);
  for (uint64_t i = 0; i < keys; i += 2) native.Put(all[i], Content::ValueOf(i));
  for (uint64_t i = 0; i < keys; i += 2) tolerant.Put(all[i], Content::ValueOf(i));
  constexpr int kTimes = 20'000;
  // Other keys in each round: the same ones for both kinds.
  const auto use = [&](auto& table, uint64_t& round) {
    ++round;
    InThreads(threads,
              [&](int i) { UseTable<Content>(table, round * 64 + static_cast<uint64_t>(i), kTimes / threads, all); });
  };
  uint64_t native_round = 0;
  uint64_t tolerant_round = 0;
  return Compare(rounds, [&] { use(native, native_round); }, [&] { use(tolerant, tolerant_round); });
}

// ---- Tiny sections ----

struct Tiny {
  std::mutex mutex;
  volatile uint64_t plain = 0;
  redflag::tolerant_mutex tolerant_mutex{"tiny"};
  redflag::tolerated<uint64_t> word{tolerant_mutex, 0};
};

void TellTiny(const char* what, int rounds, const std::function<void()>& native, const std::function<void()>& tolerant,
              int times) {
  const Costs costs = Compare(rounds, native, tolerant);
  std::printf("  %-52s %6.1f ns natively, %6.1f ns\n", what, costs.native / times * 1e9, costs.tolerant / times * 1e9);
}

int Main(int rounds, bool is_checked) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  bool is_good = true;
  const auto tell = [&](const char* what, const Costs& costs, bool is_promised) {
    std::printf("  %-52s %+6.1f %%\n", what, costs.percent());
    is_good &= !is_promised || costs.percent() <= 10;
  };

  std::printf("All time in sections:\n");
  for (const double length : {200.0, 1000.0}) {
    const int times = static_cast<int>(2e6 / length);
    const auto measure = [&](auto sections, const char* what, int threads, bool is_promised) {
      char title[80];
      std::snprintf(title, sizeof title, "%4.0f ns, %s", sections->took(), what);
      tell(title,
           Compare(
               rounds, [&] { InThreads(threads, [&](int) { sections->Native(times / threads); }); },
               [&] { InThreads(threads, [&](int) { sections->Tolerant(times / threads); }); }),
           is_promised);
    };
    measure(std::make_unique<Sections<1, 1>>(length), "one word, written, 1 thread", 1, true);
    measure(std::make_unique<Sections<1, 1>>(length), "one word, written, 4 threads, one mutex", 4, true);
    measure(std::make_unique<Sections<8, 0>>(length), "eight words, none written", 1, true);
    measure(std::make_unique<Sections<8, 1>>(length), "eight words, one written", 1, true);
    measure(std::make_unique<Sections<8, 8>>(length), "eight words, all written", 1, false);
  }

  std::printf("A parallel hash table:\n");
  const auto measure_table = [&]<class Content>(Content, uint64_t keys, int threads, bool is_promised) {
    char title[80];
    std::snprintf(title, sizeof title, "%s, %llu keys, %d thread%s", Content::kTitle,
                  static_cast<unsigned long long>(keys), threads, threads == 1 ? "" : "s");
    tell(title, MeasureTable<Content>(rounds, threads, keys), is_promised);
  };
  for (const uint64_t keys : {10'000, 1'000'000}) {
    for (const int threads : {1, 4}) {
      measure_table(Texts{}, keys, threads, true);
      measure_table(Numbers{}, keys, threads, false);
    }
  }

  std::printf("Tiny sections:\n");
  constexpr int kTimes = 20'000;
  Tiny tiny;
  const auto native = [&] {
    for (int i = 0; i < kTimes; ++i) {
      const std::lock_guard lock(tiny.mutex);
      tiny.plain = tiny.plain + 1;
    }
  };
  const auto tolerant = [&] {
    for (int i = 0; i < kTimes; ++i) {
      const std::lock_guard lock(tiny.tolerant_mutex);
      tiny.word = tiny.word + 1;
    }
  };
  TellTiny("one word read and written", rounds, native, tolerant, kTimes);
  TellTiny(
      "one word read", rounds,
      [&] {
        for (int i = 0; i < kTimes; ++i) {
          const std::lock_guard lock(tiny.mutex);
          static_cast<void>(tiny.plain);
        }
      },
      [&] {
        for (int i = 0; i < kTimes; ++i) {
          const std::lock_guard lock(tiny.tolerant_mutex);
          volatile uint64_t value = tiny.word;
          static_cast<void>(value);
        }
      },
      kTimes);
  redflag::tolerate::configure("off");
  TellTiny("one word read and written, section not chosen", rounds, native, tolerant, kTimes);
  TellTiny(
      "the same by lock()->, section not chosen", rounds, native,
      [&] {
        for (int i = 0; i < kTimes; ++i) {
          auto word = tiny.word.lock();
          volatile uint64_t& plain = *word;
          plain = plain + 1;
        }
      },
      kTimes);
  redflag::tolerate::configure("deployment");

  std::printf("Memory, in bytes:\n");
  std::printf("  tolerant_mutex %zu (std::mutex %zu), tolerant_shared_mutex %zu (std::shared_mutex %zu)\n",
              sizeof(redflag::tolerant_mutex), sizeof(std::mutex), sizeof(redflag::tolerant_shared_mutex),
              sizeof(std::shared_mutex));
  std::printf("  tolerated<T>: %zu and three times T; of 4 bytes %zu, 8 bytes %zu, 64 bytes %zu\n",
              sizeof(redflag::tolerated<State<8>>) - 3 * sizeof(State<8>), sizeof(redflag::tolerated<int>),
              sizeof(redflag::tolerated<long>), sizeof(redflag::tolerated<State<8>>));
  return is_checked && !is_good ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_checked = false;
  int rounds = 300;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--check") {
      is_checked = true;
    } else {
      rounds = static_cast<int>(std::strtol(argv[i], nullptr, 10));
    }
  }
  return Main(rounds, is_checked);
}
