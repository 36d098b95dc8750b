// EventSource: a trace that can be read from its beginning as often as somebody wants, without being in memory as a whole. Text traces are
// (trace/trace.h); binary ones (trace/binary_trace.h) are read block by block.
//
// Host side. Streams of one source are independent of each other: each may be read by another thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "events/event.h"
#include "trace/shard.h"
#include "trace/trace.h"

namespace redflag {

// A call stack of a recorded program: a place, and the stack of its caller.
struct RecordedContext {
  uint64_t place = 0;
  uint32_t caller = 0;  // 0: none
};

// Of an event of a recording; kNoContext: it has none.
inline ContextId RecordedContextOf(const Event& event) {
  return event.position == kNoPosition ? kNoContext : ContextId{Raw(event.position)};
}

class EventStream {
 public:
  virtual ~EventStream() = default;

  // The next events, in order; empty: there are no more, or `error` says why not. Valid until the next call.
  virtual std::span<const Event> Next() = 0;

  // Where in the trace each of them is; empty: one after the other, nothing was left out.
  virtual std::span<const uint64_t> places() const { return {}; }
  // How many have come so far, with those that were left out.
  virtual uint64_t passed() const = 0;

  virtual const std::string& error() const = 0;

  // By number, of what was read so far; empty for text traces. Entry 0 is nobody.
  virtual const std::vector<RecordedContext>& contexts() const = 0;
};

class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual std::unique_ptr<EventStream> Open() const = 0;
  // For whoever looks at a part of memory only: plain accesses to the rest may be left out.
  virtual std::unique_ptr<EventStream> OpenPart(Shard /*shard*/) const { return Open(); }
  virtual const std::string& name() const = 0;
  virtual uint64_t event_count() const = 0;
  // Threads that exist from the start. A recorded one may have others that nobody was seen to fork: they exist when they first act.
  virtual std::span<const Tid> initial_threads() const = 0;
};

// Over a trace in memory, which must outlive it.
class TraceSource : public EventSource {
 public:
  explicit TraceSource(const Trace& trace) : trace_(trace) {}
  std::unique_ptr<EventStream> Open() const override;
  std::unique_ptr<EventStream> OpenPart(Shard shard) const override;
  const std::string& name() const override { return trace_.name; }
  uint64_t event_count() const override { return trace_.events.size(); }
  std::span<const Tid> initial_threads() const override { return trace_.initial_threads; }
  const Trace& trace() const { return trace_; }

 private:
  const Trace& trace_;
};

}  // namespace redflag
