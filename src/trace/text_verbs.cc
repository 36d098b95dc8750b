#include "trace/text_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace redflag {
namespace {

// Where two verbs make the same event, the first is the one that is written.
constexpr Verb kVerbs[] = {
    {"read", Shape::kMemory, EventKind::kRead},
    {"write", Shape::kMemory, EventKind::kWrite},
    {"load", Shape::kAtomic, EventKind::kAtomicLoad},
    {"store", Shape::kAtomic, EventKind::kAtomicStore},
    {"rmw", Shape::kAtomic, EventKind::kAtomicRmw},
    {"cas", Shape::kCas, EventKind::kAtomicRmw},
    {"fence", Shape::kFence, EventKind::kFence},
    {"lock", Shape::kSync, EventKind::kLock},
    {"unlock", Shape::kSync, EventKind::kUnlock},
    {"rdlock", Shape::kSync, EventKind::kLock, LockMode::kShared},
    {"rdunlock", Shape::kSync, EventKind::kUnlock, LockMode::kShared},
    {"own-lock", Shape::kSync, EventKind::kLock, LockMode::kExclusive, SyncKind::kLock, EventFlag::kOwn},
    {"own-unlock", Shape::kSync, EventKind::kUnlock, LockMode::kExclusive, SyncKind::kLock, EventFlag::kOwn},
    {"own-rdlock", Shape::kSync, EventKind::kLock, LockMode::kShared, SyncKind::kLock, EventFlag::kOwn},
    {"own-rdunlock", Shape::kSync, EventKind::kUnlock, LockMode::kShared, SyncKind::kLock, EventFlag::kOwn},
    {"signal", Shape::kSync, EventKind::kSignal, LockMode::kExclusive, SyncKind::kSignal},
    {"wait", Shape::kSync, EventKind::kWait, LockMode::kExclusive, SyncKind::kSignal},
    {"signal-store", Shape::kSync, EventKind::kSignal, LockMode::kExclusive, SyncKind::kSignal, EventFlag::kReplaces},
    {"weak-signal", Shape::kSync, EventKind::kSignal, LockMode::kExclusive, SyncKind::kSignal, EventFlag::kNotify},
    {"weak-wait", Shape::kSync, EventKind::kWait, LockMode::kExclusive, SyncKind::kSignal, EventFlag::kNotify},
    {"notify", Shape::kSync, EventKind::kSignal, LockMode::kExclusive, SyncKind::kCondition},
    {"wake", Shape::kSync, EventKind::kWait, LockMode::kExclusive, SyncKind::kCondition},
    {"condvar-wait", Shape::kCondvarWait, EventKind::kWait, LockMode::kExclusive, SyncKind::kCondition},
    {"post", Shape::kSync, EventKind::kSignal, LockMode::kExclusive, SyncKind::kSemaphore},
    {"take", Shape::kSync, EventKind::kWait, LockMode::kExclusive, SyncKind::kSemaphore},
    {"arrive", Shape::kBarrier, EventKind::kBarrierArrive, LockMode::kExclusive, SyncKind::kBarrier},
    {"leave", Shape::kBarrier, EventKind::kBarrierLeave, LockMode::kExclusive, SyncKind::kBarrier},
    {"fork", Shape::kFork, EventKind::kThreadFork},
    {"join", Shape::kJoin, EventKind::kThreadJoin},
    {"end", Shape::kBare, EventKind::kThreadEnd},
    {"name", Shape::kText, EventKind::kThreadName},
    {"commit", Shape::kCommit, EventKind::kTxCommit},
    {"tx-read", Shape::kMemory, EventKind::kTxRead},
    {"tx-write", Shape::kMemory, EventKind::kTxWrite},
    {"alloc", Shape::kAlloc, EventKind::kAlloc},
    {"free", Shape::kFree, EventKind::kFree},
    {"enter", Shape::kFunction, EventKind::kFunctionEnter},
    {"exit", Shape::kBare, EventKind::kFunctionExit},
    {"ignore-reads", Shape::kRegion, EventKind::kIgnoreReadsBegin},
    {"ignore-writes", Shape::kRegion, EventKind::kIgnoreWritesBegin},
    {"benign", Shape::kMemory, EventKind::kBenignRace},
    {"benign-around", Shape::kMemory, EventKind::kBenignRace, LockMode::kExclusive, SyncKind::kLock,
     EventFlag::kAround},
    {"expect-race", Shape::kMemory, EventKind::kExpectRace},
    {"publish", Shape::kMemory, EventKind::kPublish},
    {"unpublish", Shape::kMemory, EventKind::kUnpublish},
    {"new-memory", Shape::kMemory, EventKind::kNewMemory},
    {"forget", Shape::kMemory, EventKind::kForget},
    {"forget-accesses", Shape::kMemory, EventKind::kForget, LockMode::kExclusive, SyncKind::kLock, EventFlag::kCells},
    {"told", Shape::kTold, EventKind::kTold},
    {"pure-hb", Shape::kSync, EventKind::kPureHbMutex},
    {"lock-create", Shape::kSync, EventKind::kLockCreate},
    {"lock-destroy", Shape::kSync, EventKind::kLockDestroy},
};

constexpr auto kVerbWords = [] {
  std::array<std::string_view, std::size(kVerbs)> words{};
  std::transform(std::begin(kVerbs), std::end(kVerbs), words.begin(), [](const Verb& verb) { return verb.word; });
  return words;
}();

constexpr std::string_view kDeclarationWords[] = {"threads", "var", "barrier", "object"};

constexpr std::string_view kOrderWords[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst", "consume"};

// Longer words are no keyword, and the table below grows with the square.
constexpr size_t kMaxWord = 16;

// Levenshtein's distance; `a` and `b` have at most kMaxWord characters.
size_t Distance(std::string_view a, std::string_view b) {
  std::array<size_t, kMaxWord + 1> row{};
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const std::string_view> DeclarationWords() { return kDeclarationWords; }

std::span<const std::string_view> VerbWords() { return kVerbWords; }

const Verb* FindVerb(std::string_view word) {
  static const auto* const kByWord = [] {
    auto* by_word = new std::unordered_map<std::string_view, const Verb*>;
    for (const Verb& verb : kVerbs) by_word->emplace(verb.word, &verb);
    return by_word;
  }();
  auto found = kByWord->find(word);
  return found == kByWord->end() ? nullptr : found->second;
}

const Verb& VerbFor(const Event& event, SyncKind sync) {
  EventKind kind = event.kind;
  if (kind == EventKind::kIgnoreReadsEnd) kind = EventKind::kIgnoreReadsBegin;
  if (kind == EventKind::kIgnoreWritesEnd) kind = EventKind::kIgnoreWritesBegin;
  bool by_mode = kind == EventKind::kLock || kind == EventKind::kUnlock;
  bool by_sync = kind == EventKind::kSignal || kind == EventKind::kWait;
  return *std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const Verb& verb) {
    if (verb.kind != kind || (by_mode && verb.mode != event.mode)) return false;
    if (by_mode || kind == EventKind::kForget || kind == EventKind::kBenignRace) return verb.flag == event.flag;
    return !by_sync || (verb.flag == event.flag && (event.flag != EventFlag::kNone || verb.sync == sync));
  });
}

EventKind RegionEnd(EventKind begin) {
  return begin == EventKind::kIgnoreReadsBegin ? EventKind::kIgnoreReadsEnd : EventKind::kIgnoreWritesEnd;
}

std::span<const std::string_view> OrderWords() { return kOrderWords; }

std::optional<MemoryOrder> FindOrder(std::string_view word) {
  if (word == "consume") return MemoryOrder::kAcquire;
  for (size_t i = 0; i < std::size(kOrderWords); ++i) {
    if (word == kOrderWords[i]) return MemoryOrder{static_cast<uint8_t>(i)};
  }
  return std::nullopt;
}

std::string_view WordFor(MemoryOrder order) { return kOrderWords[Raw(order)]; }

std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view nearest;
  size_t least = std::min<size_t>(3, word.size());
  if (word.size() > kMaxWord) return nearest;
  for (std::string_view candidate : candidates) {
    size_t distance = Distance(word, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string Suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view nearest = Nearest(word, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace redflag
