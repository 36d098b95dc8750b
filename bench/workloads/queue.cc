// Producers and consumers: one bounded queue between them, through which each message changes hands.
//
// A message is filled by one thread and read, changed and freed by another, without a lock of its own: what was
// thread-local becomes another thread's by way of the queue. Locksets alone can't follow that; happens-before gets it
// from the mutex. The memory of a message is soon a new one's, of another thread.
//
// Half of the threads produce, half consume, at least one each. Synchronization: one std::mutex, two condition
// variables. The size is the number of messages.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>

#include "workload.h"

namespace {

constexpr size_t kCapacity = 64;
constexpr size_t kWords = 128;

struct Message {
  uint64_t number;
  std::array<uint64_t, kWords> words;
};

class BoundedQueue {
 public:
  void Push(std::unique_ptr<Message> message) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return messages_.size() < kCapacity; });
    messages_.push_back(std::move(message));
    has_messages_.notify_one();
  }

  // Null once the queue is closed and empty.
  std::unique_ptr<Message> Pop() {
    std::unique_lock lock(mutex_);
    has_messages_.wait(lock, [this] { return !messages_.empty() || closed_; });
    if (messages_.empty()) return nullptr;
    std::unique_ptr<Message> message = std::move(messages_.front());
    messages_.pop_front();
    has_room_.notify_one();
    return message;
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_messages_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_messages_;
  std::deque<std::unique_ptr<Message>> messages_;
  bool closed_ = false;
};

std::unique_ptr<Message> Produce(uint64_t number) {
  auto message = std::make_unique<Message>();
  message->number = number;
  workload::Random random(number);
  for (uint64_t& word : message->words) word = random.Next();
  return message;
}

// Sums up the message in place, each word with the ones before it, and returns a digest of the result.
uint64_t Consume(Message* message) {
  std::partial_sum(message->words.begin(), message->words.end(), message->words.begin());
  workload::Checksum checksum;
  checksum.Add(message->number);
  for (const uint64_t word : message->words) checksum.Add(word);
  return checksum.Value();
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 500'000});
  const int producers = (options.threads + 1) / 2, consumers = std::max(1, options.threads / 2);
  BoundedQueue queue;
  std::vector<uint64_t> digests(consumers);

  std::thread production([&] {
    workload::InParallel(producers, [&](int producer) {
      const workload::Range own = workload::ShareOf(options.size, producer, producers);
      for (uint64_t number = own.begin; number < own.end; ++number) queue.Push(Produce(number));
    });
    queue.Close();
  });
  workload::InParallel(consumers, [&](int consumer) {
    uint64_t digest = 0;
    while (const std::unique_ptr<Message> message = queue.Pop()) digest += Consume(message.get());
    digests[consumer] = digest;
  });
  production.join();

  return workload::Finish("queue", std::accumulate(digests.begin(), digests.end(), uint64_t{0}));
}
