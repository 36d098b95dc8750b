// A recorded run as a text trace can have it. Programs do what a text trace may not: they free what nobody saw them allocate, unlock what
// another thread locked, act when they have ended. RecordedText takes events one by one and passes on what TraceChecker accepts: most as
// they are, some as others that mean the same, and of the rest it keeps count.
//
// What stands for what:
//   an allocation over live memory              new-memory, in pieces that lie inside or outside of live blocks
//   a free of what is not a live block          a write; of a block with another size: a free of that block
//   destroying or creating a lock that is held  unlocks before it, if the thread itself holds it
//   an access of more than 1 MiB                several
//   an order that an atomic cannot have         the nearest that it can
//
// Threads are main, T1, T2 ... as they were recorded; one that acts and that nobody forked exists from the start. Objects have the
// number of the recording; positions are @ctx:N, the number of a context.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "trace/checker.h"
#include "trace/trace.h"

namespace redflag {

class RecordedText {
 public:
  explicit RecordedText(std::string_view name) { trace_.name = name; }
  RecordedText(const RecordedText&) = delete;
  RecordedText& operator=(const RecordedText&) = delete;

  void Add(Event event);

  const Trace& trace() const { return trace_; }

  // What was replaced and left out, in words, a line each; empty: nothing.
  std::vector<std::string> Notes() const;

 private:
  Tid ThreadFor(uint32_t recorded);
  bool Translate(Event& event);
  SyncId SyncFor(const Event& event);
  PositionId PositionFor(PositionId context);

  bool Emit(const Event& event);
  bool Replace(const Event& event);
  bool EmitMemory(const Event& event, EventKind kind);
  void ReleaseAll(const Event& event);

  Trace trace_;
  TraceChecker checker_;
  std::unordered_map<uint32_t, Tid> threads_;  // by recorded number
  std::vector<bool> exists_;                   // by Tid: initial or forked
  std::map<std::tuple<SyncKind, uint32_t, Addr>, SyncId> syncs_;
  std::unordered_map<uint32_t, PositionId> positions_;
  std::map<Addr, uint64_t> blocks_;                // live ones -> size
  std::map<std::string_view, uint64_t> replaced_;  // by verb
  std::map<std::string_view, uint64_t> left_out_;
};

}  // namespace redflag
