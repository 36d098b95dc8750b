#include "offline/race_keeper.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "events/place.h"

namespace redflag {
namespace {

template <class... Values>
void Append(std::string& key, const Values&... values) {
  (key.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
}

Addr FirstByte(const RaceRecord& race) {
  return race.granule + static_cast<uint64_t>(__builtin_ctz(uint32_t{Raw(race.bytes)} | 0x100));
}

// How many steps a walk along callers may take: a damaged file may have a circle.
constexpr uint32_t kMaxSteps = 1u << 16;

}  // namespace

void RaceKeeper::Note(const Event& event) {
  switch (event.kind) {
    case EventKind::kLock:
      return NoteLock(event);
    case EventKind::kUnlock:
      return NoteUnlock(event);
    case EventKind::kAlloc:
      NoteGone(event.addr, event.size);
      blocks_.insert_or_assign(event.addr, RecordedRace::Block{.begin = event.addr,
                                                               .size = event.size,
                                                               .thread = event.thread,
                                                               .allocated_at = RecordedContextOf(event)});
      return;
    case EventKind::kFree:
    case EventKind::kForget:
      return NoteGone(event.addr, event.size);
    case EventKind::kThreadFork:
      forks_.insert_or_assign(event.child(),
                              RecordedFork{.creator = event.thread, .context = RecordedContextOf(event)});
      return;
    default:
      return;
  }
}

void RaceKeeper::NoteLock(const Event& event) {
  const ContextId taken_at = RecordedContextOf(event);
  std::vector<Held>& held = held_[event.thread];
  for (Held& have : held) {
    if (have.name != event.sync() || have.lock.mode != event.mode) continue;
    ++have.depth;
    return;
  }
  held.push_back(
      {.name = event.sync(), .lock = {.addr = event.addr, .mode = event.mode, .taken_at = taken_at}, .depth = 1});
  LockFacts& facts = locks_[event.sync()];
  facts.addr = event.addr;
  if (std::find(facts.taken_at.rbegin(), facts.taken_at.rend(), taken_at) == facts.taken_at.rend()) {
    facts.taken_at.push_back(taken_at);
  }
}

void RaceKeeper::NoteUnlock(const Event& event) {
  std::vector<Held>& held = held_[event.thread];
  for (size_t i = held.size(); i-- > 0;) {
    if (held[i].name != event.sync() || held[i].lock.mode != event.mode) continue;
    if (--held[i].depth == 0) held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void RaceKeeper::NoteGone(Addr addr, uint64_t size) {
  auto it = blocks_.lower_bound(addr);
  while (it != blocks_.end() && it->first - addr < size) it = blocks_.erase(it);
}

std::optional<RecordedRace::Block> RaceKeeper::BlockOf(Addr addr) const {
  auto it = blocks_.upper_bound(addr);
  if (it == blocks_.begin()) return std::nullopt;
  --it;
  if (addr - it->second.begin >= it->second.size) return std::nullopt;
  return it->second;
}

// Races that are the same to ReportBuilder::KeyOf() (collect/report_builder.h) may differ here, and never the other way round: outside of the
// heap, bytes may be different variables.
std::string LooksOf(const RaceRecord& race, const RecordedRace& recorded) {
  std::string key;
  Append(key, race.access.context, race.access.kind, race.access.origin, recorded.size);
  for (uint32_t i = 0; i < race.earlier_count; ++i) {
    const AccessRecord& earlier = race.earlier[i];
    Append(key, earlier.context, earlier.kind, earlier.origin, __builtin_popcount(Raw(earlier.bytes)));
  }
  if (!recorded.block) Append(key, race.granule);
  return key;
}

void RaceKeeper::Keep(const RaceRecord& race, const Event& event) {
  ++found_;
  RecordedRace recorded;
  recorded.addr = event.addr;
  recorded.size = event.size;
  recorded.block = BlockOf(FirstByte(race));
  std::string key = LooksOf(race, recorded);
  const auto known = kept_.find(key);
  if (known != kept_.end()) {
    ++recorded_[known->second].count;
    return;
  }
  if (kept_.size() == kMaxKept) return;
  kept_.emplace(std::move(key), races_.size());
  std::vector<RecordedRace::Lock>& locks = recorded.locks.emplace_back();
  for (const Held& held : held_[event.thread]) locks.push_back(held.lock);
  races_.push_back(race);
  recorded_.push_back(std::move(recorded));
}

// The chain of the context tells where the locks were taken, in order, and the set which they are: a lock belongs to a link of the chain if
// it was ever taken there.
std::vector<RecordedRace::Lock> RaceKeeper::LocksAt(const std::vector<HeldLock>& held, ContextId context,
                                                    const std::vector<RecordedContext>& contexts) const {
  const auto node = [&](uint32_t id) { return id < contexts.size() ? contexts[id] : RecordedContext{}; };
  std::vector<ContextId> chain;
  const RecordedContext under = node(Raw(context));
  if (FlagOf(under.place) == PlaceFlag::kUnder) {
    uint32_t link = ContextInPlace(under.place);
    for (uint32_t step = 0; link != 0 && step < kMaxSteps && chain.size() < held.size(); ++step) {
      const RecordedContext at = node(link);
      if (FlagOf(at.place) != PlaceFlag::kHeld) break;
      chain.push_back(ContextId{ContextInPlace(at.place)});
      link = at.caller;
    }
    std::reverse(chain.begin(), chain.end());
  }
  std::vector<HeldLock> left = held;
  std::vector<RecordedRace::Lock> locks;
  const auto take = [&](size_t i, ContextId taken_at) {
    const auto facts = locks_.find(LockOf(left[i]));
    locks.push_back(
        {.addr = facts == locks_.end() ? Addr{} : facts->second.addr, .mode = ModeOf(left[i]), .taken_at = taken_at});
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
  };
  for (const ContextId taken_at : chain) {
    for (size_t i = 0; i < left.size(); ++i) {
      const auto facts = locks_.find(LockOf(left[i]));
      if (facts == locks_.end()) continue;
      const std::vector<ContextId>& places = facts->second.taken_at;
      if (std::find(places.begin(), places.end(), taken_at) == places.end()) continue;
      take(i, taken_at);
      break;
    }
  }
  while (!left.empty()) take(0, kNoContext);
  return locks;
}

void RaceKeeper::Finish(const std::vector<RecordedContext>& contexts, const LocksOf& locks, Analysis& analysis) {
  for (size_t i = 0; i < races_.size(); ++i) {
    const RaceRecord& race = races_[i];
    for (uint32_t j = 0; j < race.earlier_count; ++j) {
      recorded_[i].locks.push_back(LocksAt(locks(race.earlier[j].locks), race.earlier[j].context, contexts));
    }
    std::vector<Tid> threads = {race.access.thread};
    for (uint32_t j = 0; j < race.earlier_count; ++j) threads.push_back(race.earlier[j].thread);
    if (recorded_[i].block) threads.push_back(recorded_[i].block->thread);
    while (!threads.empty()) {
      const Tid thread = threads.back();
      threads.pop_back();
      const auto fork = forks_.find(thread);
      if (fork != forks_.end() && analysis.forks.insert(*fork).second) threads.push_back(fork->second.creator);
    }
  }
  analysis.races_found = found_;
  analysis.races = std::move(races_);
  analysis.recorded = std::move(recorded_);
  TakeContexts(contexts, analysis);
}

void TakeContexts(const std::vector<RecordedContext>& all, Analysis& analysis) {
  std::vector<uint32_t> wanted;
  for (const RaceRecord& race : analysis.races) {
    wanted.push_back(Raw(race.access.context));
    for (uint32_t i = 0; i < race.earlier_count; ++i) wanted.push_back(Raw(race.earlier[i].context));
  }
  for (const RecordedRace& race : analysis.recorded) {
    if (race.block) wanted.push_back(Raw(race.block->allocated_at));
    for (const auto& locks : race.locks) {
      for (const RecordedRace::Lock& lock : locks) wanted.push_back(Raw(lock.taken_at));
    }
  }
  for (const auto& [thread, fork] : analysis.forks) wanted.push_back(Raw(fork.context));
  for (const Verification::Example& example : analysis.verification.examples) wanted.push_back(Raw(example.context));
  while (!wanted.empty()) {
    const uint32_t id = wanted.back();
    wanted.pop_back();
    if (id == 0 || id >= all.size() || !analysis.contexts.emplace(id, all[id]).second) continue;
    wanted.push_back(all[id].caller);
    const PlaceFlag flag = FlagOf(all[id].place);
    if (flag == PlaceFlag::kUnder || flag == PlaceFlag::kHeld || flag == PlaceFlag::kMixed) {
      wanted.push_back(ContextInPlace(all[id].place));
    }
  }
}

}  // namespace redflag
