#include "trace/event_stream.h"

#include <utility>

namespace redflag {
namespace {

class WholeTrace : public EventStream {
 public:
  explicit WholeTrace(const Trace& trace) : events_(trace.events) {}
  std::span<const Event> Next() override { return std::exchange(events_, {}); }
  const std::string& error() const override { return error_; }
  const std::vector<RecordedContext>& contexts() const override { return contexts_; }

 private:
  std::span<const Event> events_;
  std::string error_;
  std::vector<RecordedContext> contexts_;
};

}  // namespace

std::unique_ptr<EventStream> TraceSource::Open() const { return std::make_unique<WholeTrace>(trace_); }

}  // namespace redflag
