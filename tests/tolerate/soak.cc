// 64 threads, most of which lock and some of which do not, for a while: nobody waits for ever, and no update of a thread that holds the lock is lost.
//
//   tolerate_soak [SECONDS]          10 if not given
//
// Everything that is counted under a lock is counted once more by the thread that does it, and compared at the end:
//   sums       a struct; words of their own for those who lock, and one that others scribble on from outside
//   account    a word to which those outside add atomically: merged, so that not even their updates are lost
//   queue      handed over with condition waits
//   tree       recursive sections;  table: shared ones, whose readers must find pairs that belong together
//   transfer   two mutexes at once, and nodes that are the targets of pointers
// A thread that makes no step in 60 seconds ends the test.
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "redflag/tolerate.hpp"

namespace {

using namespace redflag;  // NOLINT: a program that uses it

constexpr int kThreads = 64;
constexpr int kOutsiders = 8;
constexpr int kAccounts = 16;

struct Sums {
  uint64_t count, checksum, scribble, more;
};

struct Account {
  uint64_t balance;
  uint64_t moves;
};

// What a thread did, on a cache line of its own.
struct alignas(64) Tally {
  uint64_t count = 0, checksum = 0, added = 0, put = 0, taken = 0, nested = 0, moves = 0;
  std::atomic<uint64_t> steps{0};
};

class Soak {
 public:
  int Run(std::chrono::seconds time) {
    tolerate::set_handler([](const tolerate::detection&) {});
    for (Account& account : accounts_) account = {1000, 0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this, i] { i < kOutsiders ? Outside(i) : Locked(i); });
    }
    const bool is_alive = Watch(time);
    stops_ = true;
    {
      std::lock_guard lock(queue_mutex_);
      condition_.notify_all();
    }
    if (!is_alive) {
      std::printf("a thread has made no step in 60 seconds\n");
      std::fflush(stdout);
      std::_Exit(1);
    }
    for (std::thread& thread : threads) thread.join();
    return Check() ? 0 : 1;
  }

 private:
  bool Watch(std::chrono::seconds time) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + time;
    std::array<uint64_t, kThreads> steps{};
    std::array<Clock::time_point, kThreads> since{};
    since.fill(Clock::now());
    while (Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      for (int i = 0; i < kThreads; ++i) {
        const uint64_t now = tallies_[i].steps.load(std::memory_order_relaxed);
        if (now != steps[i]) since[i] = Clock::now();
        steps[i] = now;
        if (Clock::now() - since[i] > std::chrono::seconds(60)) return false;
      }
    }
    return true;
  }

  static uint64_t Next(uint64_t& state) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }

  void Locked(int number) {
    Tally& tally = tallies_[number];
    uint64_t random = 0x9e3779b97f4a7c15u * static_cast<uint64_t>(number + 1);
    while (!stops_.load(std::memory_order_relaxed)) {
      const uint64_t drawn = Next(random);
      switch (drawn % 8) {
        case 0:
        case 1: {
          std::lock_guard lock(sums_mutex_);
          sums_.at(&Sums::count) += 1;
          sums_.at(&Sums::checksum) += drawn;
          ++tally.count;
          tally.checksum += drawn;
          break;
        }
        case 2: {
          if (!account_mutex_.try_lock_for(std::chrono::seconds(5))) break;
          std::lock_guard lock(account_mutex_, std::adopt_lock);
          account_ += drawn % 100;
          tally.added += drawn % 100;
          break;
        }
        case 3: {  // puts one, or takes one that may have to be waited for
          std::unique_lock lock(queue_mutex_);
          if (queued_ < 8) {
            ++queued_;
            ++tally.put;
            condition_.notify_one();
          } else {
            while (queued_ == 0 && !stops_) queue_mutex_.wait(condition_);
            if (queued_ != 0) {
              --queued_;
              ++tally.taken;
            }
          }
          break;
        }
        case 4: {
          std::unique_lock lock(queue_mutex_);
          const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
          if (queued_ == 0) queue_mutex_.wait_until(condition_, until);
          if (queued_ == 0) break;
          --queued_;
          ++tally.taken;
          break;
        }
        case 5:
          Nest(tally, drawn % 5);
          break;
        case 6:
          if (drawn % 64 < 8) {
            auto s = table_.lock();
            s->count = drawn;
            s->checksum = ~drawn;
          } else {
            const auto s = table_.lock_shared();
            if (s->count != ~s->checksum && s->count != 0) ++torn_;
          }
          break;
        case 7:
          Move(tally, drawn);
          break;
      }
      tally.steps.fetch_add(1, std::memory_order_relaxed);
    }
  }

  void Nest(Tally& tally, uint64_t depth) {
    std::lock_guard lock(tree_mutex_);
    ++tree_;
    ++tally.nested;
    if (depth != 0) Nest(tally, depth - 1);
  }

  // From one account to another, each with its mutex; the accounts are plain memory.
  void Move(Tally& tally, uint64_t drawn) {
    const size_t from = drawn / 8 % kAccounts;
    const size_t to = (from + 1 + drawn / 128 % (kAccounts - 1)) % kAccounts;
    std::scoped_lock lock(account_mutexes_[from], account_mutexes_[to]);
    tolerated_target<Account> source(account_mutexes_[from], accounts_[from]);
    tolerated_target<Account> target(account_mutexes_[to], accounts_[to]);
    source.at(&Account::balance) -= 1;
    target.at(&Account::balance) += 1;
    source.at(&Account::moves) += 1;
    ++tally.moves;
  }

  // Forgets every lock there is.
  void Outside(int number) {
    Tally& tally = tallies_[number];
    uint64_t random = 0xdeadbeefcafef00du * static_cast<uint64_t>(number + 1);
    while (!stops_.load(std::memory_order_relaxed)) {
      const uint64_t drawn = Next(random);
      sums_.at(&Sums::scribble) = drawn;
      __atomic_fetch_add(&balance_, drawn % 10, __ATOMIC_RELAXED);
      tally.added += drawn % 10;
      seen_.fetch_xor(tree_ + queued_ + table_.at(&Sums::count) + sums_.read().more, std::memory_order_relaxed);
      tally.steps.fetch_add(1, std::memory_order_relaxed);
      if (drawn % 16 == 0) std::this_thread::yield();
    }
  }

  bool Check() {
    Tally total;
    uint64_t steps = 0;
    for (const Tally& tally : tallies_) {
      total.count += tally.count;
      total.checksum += tally.checksum;
      total.added += tally.added;
      total.put += tally.put;
      total.taken += tally.taken;
      total.nested += tally.nested;
      total.moves += tally.moves;
      steps += tally.steps;
    }
    uint64_t balances = 0;
    uint64_t moves = 0;
    for (const Account& account : accounts_) {
      balances += account.balance;
      moves += account.moves;
    }
    bool is_right = true;
    const auto expect = [&](const char* what, uint64_t is, uint64_t should_be) {
      std::printf("%-28s %20llu %s\n", what, static_cast<unsigned long long>(is), is == should_be ? "right" : "WRONG");
      is_right &= is == should_be;
    };
    expect("updates of sums", sums_.at(&Sums::count), total.count);
    expect("their checksum", sums_.at(&Sums::checksum), total.checksum);
    expect("added, merged", account_, total.added);
    expect("queued", queued_, total.put - total.taken);
    expect("nested", tree_, total.nested);
    expect("balances", balances, 1000 * kAccounts);
    expect("moves", moves, total.moves);
    expect("torn pairs", torn_, 0);
    std::printf("%llu steps of %d threads, %d of them without locks; conflicts settled: %llu\n",
                static_cast<unsigned long long>(steps), kThreads, kOutsiders,
                static_cast<unsigned long long>(account_mutex_.counted().conflicts));
    return is_right;
  }

  std::atomic<bool> stops_{false};
  std::atomic<uint64_t> torn_{0}, seen_{0};
  std::array<Tally, kThreads> tallies_;

  tolerant_mutex sums_mutex_{"sums"};
  tolerated<Sums> sums_{sums_mutex_};
  uint64_t balance_ = 0;
  tolerant_timed_mutex account_mutex_{"account"};
  tolerated<uint64_t&> account_{account_mutex_, balance_, merge([](uint64_t original, uint64_t mine, uint64_t theirs) {
                                  return theirs + (mine - original);
                                })};
  tolerant_mutex queue_mutex_{"queue"};
  std::condition_variable condition_;
  tolerated<uint64_t> queued_{queue_mutex_, 0};
  tolerant_recursive_mutex tree_mutex_{"tree"};
  tolerated<uint64_t> tree_{tree_mutex_, 0};
  tolerant_shared_mutex table_mutex_{"table"};
  tolerated<Sums> table_{table_mutex_};
  std::array<tolerant_mutex, kAccounts> account_mutexes_;
  std::array<Account, kAccounts> accounts_{};
};

}  // namespace

int main(int argc, char** argv) {
  static Soak soak;
  return soak.Run(std::chrono::seconds(argc > 1 ? std::strtol(argv[1], nullptr, 10) : 10));
}
