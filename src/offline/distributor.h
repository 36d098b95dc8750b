// Distributor: a trace that is read once for several engines, each of which looks at a shard of memory (offline/shard.h).
//
// A thread of its own reads, and deals out the events in batches: a plain access to whoever owns its memory, everything else to all, in the
// order of the trace. An engine has a few batches waiting; whoever has enough makes the reader wait, so that memory is bounded.
//
// Host side. Next(shard) and Leave(shard) are for one thread a shard.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "events/event.h"
#include "offline/shard.h"
#include "trace/event_stream.h"

namespace redflag {

// Events that one shard is to look at.
struct ShardBatch {
  std::vector<Event> events;
  std::vector<uint64_t> indices;  // of each, in the trace
};

class Distributor {
 public:
  // kToAll: engines need accesses to memory of others too.
  enum class Dealing : uint8_t { kToOwners, kToAll };

  // `progress` is called with the number of events dealt out since the last call.
  Distributor(const EventSource& source, uint32_t shards, Dealing dealing, std::function<void(uint64_t)> progress);
  ~Distributor();
  Distributor(const Distributor&) = delete;
  Distributor& operator=(const Distributor&) = delete;

  // Null: there are no more. Valid until the next call. Throws what reading threw.
  const ShardBatch* Next(uint32_t shard);
  // The shard wants no more.
  void Leave(uint32_t shard);

  // Of all shards that have come to their end: what was read, and how much it was.
  EventStream& stream() { return *stream_; }
  uint64_t event_count() const { return count_; }

 private:
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::unique_ptr<ShardBatch>> waiting;
    std::vector<std::unique_ptr<ShardBatch>> spare;
    bool is_over = false;                   // there will be no more
    bool has_left = false;                  // or nobody wants them
    std::unique_ptr<ShardBatch> filling;    // the reader's
    std::unique_ptr<ShardBatch> looked_at;  // the engine's
  };
  void Read();
  void Deal(const Event& event, uint64_t index);
  void Add(Queue& queue, const Event& event, uint64_t index);
  void Hand(Queue& queue);

  const std::unique_ptr<EventStream> stream_;
  const std::function<void(uint64_t)> progress_;
  std::vector<Queue> queues_;
  bool to_all_;
  uint64_t count_ = 0;
  std::atomic<uint32_t> readers_;  // engines that have not left
  std::exception_ptr failure_;     // of reading; set before a queue is over
  std::thread thread_;
};

}  // namespace redflag
