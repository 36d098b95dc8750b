#include "offline/distributor.h"

#include <span>
#include <utility>

namespace redflag {
namespace {

constexpr size_t kBatch = 8192;  // events
constexpr size_t kWaiting = 4;   // batches of a shard

}  // namespace

Distributor::Distributor(const EventSource& source, uint32_t shards, Dealing dealing,
                         std::function<void(uint64_t)> progress)
    : stream_(source.Open()),
      progress_(std::move(progress)),
      queues_(shards),
      to_all_(dealing == Dealing::kToAll),
      readers_(shards),
      thread_([this] { Read(); }) {}

Distributor::~Distributor() {
  for (uint32_t i = 0; i < queues_.size(); ++i) Leave(i);
  thread_.join();
}

const ShardBatch* Distributor::Next(uint32_t shard) {
  Queue& queue = queues_[shard];
  std::unique_lock lock(queue.mutex);
  if (queue.looked_at != nullptr) queue.spare.push_back(std::move(queue.looked_at));
  queue.changed.wait(lock, [&] { return !queue.waiting.empty() || queue.is_over; });
  if (queue.waiting.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return nullptr;
  }
  queue.looked_at = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  queue.changed.notify_all();
  return queue.looked_at.get();
}

void Distributor::Leave(uint32_t shard) {
  Queue& queue = queues_[shard];
  const std::lock_guard lock(queue.mutex);
  if (!std::exchange(queue.has_left, true)) --readers_;
  queue.changed.notify_all();
}

void Distributor::Read() {
  try {
    for (std::span<const Event> events = stream_->Next(); !events.empty() && readers_ != 0; events = stream_->Next()) {
      for (const Event& event : events) Deal(event, count_++);
      if (progress_) progress_(events.size());
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  for (Queue& queue : queues_) {
    if (queue.filling != nullptr) Hand(queue);
    const std::lock_guard lock(queue.mutex);
    queue.is_over = true;
    queue.changed.notify_all();
  }
}

void Distributor::Deal(const Event& event, uint64_t index) {
  if (event.kind <= EventKind::kWrite && !to_all_) {
    const uint64_t first = Raw(event.addr) / kShardBytes;
    const uint64_t last = (Raw(event.addr) + event.size - 1) / kShardBytes;
    if (first == last) return Add(queues_[Shard::OwnerOf(first, static_cast<uint32_t>(queues_.size()))], event, index);
  }
  if (event.kind == EventKind::kPublish) to_all_ = true;  // who accesses it synchronizes
  for (Queue& queue : queues_) Add(queue, event, index);
}

void Distributor::Add(Queue& queue, const Event& event, uint64_t index) {
  if (queue.filling == nullptr) {
    const std::lock_guard lock(queue.mutex);
    if (!queue.spare.empty()) {
      queue.filling = std::move(queue.spare.back());
      queue.spare.pop_back();
      queue.filling->events.clear();
      queue.filling->indices.clear();
    }
  }
  if (queue.filling == nullptr) {
    queue.filling = std::make_unique<ShardBatch>();
    queue.filling->events.reserve(kBatch);
    queue.filling->indices.reserve(kBatch);
  }
  queue.filling->events.push_back(event);
  queue.filling->indices.push_back(index);
  if (queue.filling->events.size() == kBatch) Hand(queue);
}

void Distributor::Hand(Queue& queue) {
  std::unique_lock lock(queue.mutex);
  queue.changed.wait(lock, [&] { return queue.waiting.size() < kWaiting || queue.has_left; });
  if (queue.has_left) {
    queue.spare.push_back(std::move(queue.filling));
  } else {
    queue.waiting.push_back(std::move(queue.filling));
  }
  queue.changed.notify_all();
}

}  // namespace redflag
