// The words of the text trace format: which verb stands for which event, and with which operands. One table
// for the reader and the writer, so that they cannot disagree. Everything here is constant; any thread may
// call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace redflag {

// What follows a verb.
enum class Shape : uint8_t {
  kBare,         // nothing
  kMemory,       // X
  kAtomic,       // X ORDER
  kCas,          // X ORDER ORDER ok|fail
  kFence,        // ORDER
  kSync,         // M
  kTold,         // 0xADDRESS MASK
  kBarrier,      // B
  kCondvarWait,  // CV M
  kFork,         // T
  kJoin,         // T
  kText,         // "text"
  kCommit,       // r X... w X...
  kAlloc,        // P SIZE [at PLACE], or 0xADDR:SIZE
  kFree,         // P, or 0xADDR:SIZE
  kFunction,     // F
  kRegion,       // begin|end
};

struct Verb {
  std::string_view word;
  Shape shape;
  EventKind kind;  // the one at the beginning, for kRegion
  LockMode mode = LockMode::kExclusive;
  SyncKind sync = SyncKind::kLock;
  EventFlag flag = EventFlag::kNone;
};

// The words that begin a declaration; no thread has such a name.
std::span<const std::string_view> DeclarationWords();

std::span<const std::string_view> VerbWords();
const Verb* FindVerb(std::string_view word);

// The verb that writes an event. `sync` is the kind of its object and counts for kSignal and kWait without a flag only.
const Verb& VerbFor(const Event& event, SyncKind sync);

// The kind that ends the region which `begin` begins.
EventKind RegionEnd(EventKind begin);

std::span<const std::string_view> OrderWords();
std::optional<MemoryOrder> FindOrder(std::string_view word);  // consume is acquire
std::string_view WordFor(MemoryOrder order);

// The candidate that a writer of `word` is most likely to have meant: at most two edits away, and not so far
// that nothing of the word is left. Empty if there is none.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates);

// "; did you mean 'lock'?", or nothing, for the end of a message about `word`.
std::string Suggestion(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace redflag
