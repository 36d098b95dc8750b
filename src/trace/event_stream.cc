#include "trace/event_stream.h"

#include <utility>

namespace redflag {
namespace {

class WholeTrace : public EventStream {
 public:
  explicit WholeTrace(const Trace& trace) : events_(trace.events) {}
  std::span<const Event> Next() override {
    passed_ += events_.size();
    return std::exchange(events_, {});
  }
  uint64_t passed() const override { return passed_; }
  const std::string& error() const override { return error_; }
  const std::vector<RecordedContext>& contexts() const override { return contexts_; }

 private:
  std::span<const Event> events_;
  uint64_t passed_ = 0;
  std::string error_;
  std::vector<RecordedContext> contexts_;
};

// What of it concerns a shard, copied a batch at a time.
class PartOfTrace : public EventStream {
 public:
  PartOfTrace(const Trace& trace, Shard shard) : events_(trace.events), filter_(shard) {}
  std::span<const Event> Next() override {
    chosen_.clear();
    places_.clear();
    for (; passed_ < events_.size() && chosen_.size() < kBatch; ++passed_) {
      if (!filter_.Concerns(events_[passed_])) continue;
      chosen_.push_back(events_[passed_]);
      places_.push_back(passed_);
    }
    return chosen_;
  }
  std::span<const uint64_t> places() const override { return places_; }
  uint64_t passed() const override { return passed_; }
  const std::string& error() const override { return error_; }
  const std::vector<RecordedContext>& contexts() const override { return contexts_; }

 private:
  static constexpr size_t kBatch = 4096;

  std::span<const Event> events_;
  ShardFilter filter_;
  std::vector<Event> chosen_;
  std::vector<uint64_t> places_;
  uint64_t passed_ = 0;
  std::string error_;
  std::vector<RecordedContext> contexts_;
};

}  // namespace

std::unique_ptr<EventStream> TraceSource::OpenPart(Shard shard) const {
  if (shard.count == 1) return Open();
  return std::make_unique<PartOfTrace>(trace_, shard);
}
std::unique_ptr<EventStream> TraceSource::Open() const { return std::make_unique<WholeTrace>(trace_); }

}  // namespace redflag
