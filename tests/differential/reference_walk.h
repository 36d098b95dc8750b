// What the transcriptions of the papers' algorithms (reference_lockset.h, reference_racetrack.h) have in common, and no
// detector uses: who holds which locks, what the program asks to ignore, when a transaction takes place, where a lifetime
// begins. The rules are the comments of events/event.h. Slow and obvious: a set entry for every byte; tests only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "events/event.h"
#include "trace/trace.h"

namespace redflag {

class ReferenceWalk {
 public:
  using Locks = std::set<uint64_t>;
  using Bytes = std::vector<uint64_t>;

  // An access to bytes of one aligned word of 8 bytes.
  struct WordAccess {
    uint64_t event = 0;
    uint32_t thread = 0;
    Bytes bytes;
    bool writes = false;
    bool frees = false;
    Locks locks;  // for a write those held for writing, for a read all; TL in a transaction
  };

  static constexpr uint64_t kTl = UINT64_MAX;

  explicit ReferenceWalk(const Trace& trace) : trace_(trace) {}
  virtual ~ReferenceWalk() = default;

 protected:
  void Walk() {
    for (uint64_t index = 0; index < trace_.events.size(); ++index) Handle(trace_.events[index], index);
  }

  // Called for every event, in this order: what it learns, its accesses, what it hands on, the lifetime it begins.
  virtual void OnLearn(const Event&) {}
  virtual void OnTouch(const WordAccess& access) = 0;
  virtual void OnHandOn(const Event&) {}
  virtual void OnNewLife(uint64_t begin, uint64_t end) = 0;
  // As if never touched.
  virtual void OnForget(uint64_t begin, uint64_t end) { OnNewLife(begin, end); }

  bool IsIgnored(uint32_t thread, bool writes) const {
    const auto& open = writes ? ignored_writes_ : ignored_reads_;
    return open.contains(thread) && open.at(thread) > 0;
  }
  // The transaction that this thread is about to commit.
  const std::vector<Event>& Footprint(uint32_t thread) { return footprints_[thread]; }
  // Does this lock or unlock change whether the thread holds the lock? Before the one, after the other.
  bool IsOutermost(const Event& event) { return held_[Raw(event.thread)][event.mode][LockOf(event)] == 0; }

  const Trace& trace_;

 private:
  // A lock that was created or destroyed in between is another lock.
  uint64_t LockOf(const Event& event) { return (renewed_[event.object] << 32) | event.object; }

  void Handle(const Event& event, uint64_t index) {
    const uint32_t thread = Raw(event.thread);
    auto& held = held_[thread][event.mode];
    if (event.kind == EventKind::kUnlock) --held[LockOf(event)];
    OnLearn(event);
    if (event.kind == EventKind::kRead) Access(event, index, false, false, false);
    if (event.kind == EventKind::kWrite) Access(event, index, true, false, false);
    if (event.kind == EventKind::kFree) Access(event, index, true, false, true);
    if (event.kind == EventKind::kTxRead || event.kind == EventKind::kTxWrite) footprints_[thread].push_back(event);
    if (event.kind == EventKind::kTxCommit) {
      for (const EventKind kind : {EventKind::kTxWrite, EventKind::kTxRead}) {
        for (const Event& part : footprints_[thread]) {
          if (part.kind == kind) Access(part, index, kind == EventKind::kTxWrite, true, false);
        }
      }
    }
    OnHandOn(event);
    if (event.kind == EventKind::kLock) ++held[LockOf(event)];
    if (event.kind == EventKind::kTxCommit) footprints_[thread].clear();
    if (event.kind == EventKind::kIgnoreReadsBegin) ++ignored_reads_[thread];
    if (event.kind == EventKind::kIgnoreReadsEnd) --ignored_reads_[thread];
    if (event.kind == EventKind::kIgnoreWritesBegin) ++ignored_writes_[thread];
    if (event.kind == EventKind::kIgnoreWritesEnd) --ignored_writes_[thread];
    if (event.kind == EventKind::kLockCreate || event.kind == EventKind::kLockDestroy) ++renewed_[event.object];
    if (event.kind == EventKind::kBenignRace) {
      for (uint64_t byte = Raw(event.addr); byte < Raw(event.addr) + event.size; ++byte) benign_.insert(byte);
    }
    if (event.kind == EventKind::kAlloc || event.kind == EventKind::kNewMemory || event.kind == EventKind::kUnpublish ||
        event.kind == EventKind::kFree || event.kind == EventKind::kForget) {
      for (uint64_t byte = Raw(event.addr); byte < Raw(event.addr) + event.size; ++byte) benign_.erase(byte);
      const uint64_t begin = Raw(event.addr);
      event.kind == EventKind::kForget ? OnForget(begin, begin + event.size) : OnNewLife(begin, begin + event.size);
    }
  }

  void Access(const Event& range, uint64_t index, bool writes, bool in_transaction, bool frees) {
    const uint32_t thread = Raw(range.thread);
    if (!frees && IsIgnored(thread, writes)) return;
    WordAccess access{.event = index, .thread = thread, .bytes = {}, .writes = writes, .frees = frees, .locks = {}};
    for (const auto& [lock, times] : held_[thread][LockMode::kExclusive]) {
      if (times > 0) access.locks.insert(lock);
    }
    for (const auto& [lock, times] : held_[thread][LockMode::kShared]) {
      if (times > 0 && !writes) access.locks.insert(lock);
    }
    if (in_transaction) access.locks.insert(kTl);
    const uint64_t end = Raw(range.addr) + range.size;
    for (uint64_t byte = Raw(range.addr); byte < end; ++byte) {
      if (!benign_.contains(byte)) access.bytes.push_back(byte);
      if ((byte + 1) % 8 != 0 && byte + 1 != end) continue;
      if (!access.bytes.empty()) OnTouch(access);
      access.bytes.clear();
    }
  }

  std::map<uint32_t, std::map<LockMode, std::map<uint64_t, int>>> held_;
  std::map<uint32_t, uint64_t> renewed_;  // by lock: how often
  std::map<uint32_t, std::vector<Event>> footprints_;
  std::map<uint32_t, int> ignored_reads_;
  std::map<uint32_t, int> ignored_writes_;
  std::set<uint64_t> benign_;
};

}  // namespace redflag
