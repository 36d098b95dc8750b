#include "offline/verifier.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "trace/event_stream.h"

namespace redflag {
namespace {

// Of a free of untouched memory, so many granules are told one by one.
constexpr uint64_t kMaxGranules = 1 << 16;

}  // namespace

void SortExamples(Verification& verification) {
  std::vector<Verification::Example>& examples = verification.examples;
  std::sort(examples.begin(), examples.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.event, Raw(a.granule), Raw(a.bytes), a.online) <
           std::tuple(b.event, Raw(b.granule), Raw(b.bytes), b.online);
  });
  if (examples.size() > Verification::kMaxExamples) examples.resize(Verification::kMaxExamples);
}

void Verifier::OnEvent(const Event& event, uint64_t index) {
  if (event.kind == EventKind::kTold) return OnTold(event);
  Acting& thread = threads_[event.thread];
  if (!thread.untold.empty()) Flush(thread, event.thread);
  thread.event = index;
  thread.context = RecordedContextOf(event);
}

void Verifier::OnRace(const RaceRecord& race) {
  Acting& thread = threads_[race.access.thread];
  const uint64_t granules = std::min(race.granules, kMaxGranules);
  for (uint64_t i = 0; i < granules; ++i) {
    thread.untold.push_back({.granule = race.granule + i * kGranule, .bytes = race.bytes});
  }
}

void Verifier::OnTold(const Event& told) {
  const Addr granule = GranuleOf(told.addr);
  if (!shard_.Owns(granule)) return;
  Acting& thread = threads_[told.thread];
  const auto bytes = ByteMask(static_cast<uint8_t>(told.size));
  const auto same = std::find_if(thread.untold.begin(), thread.untold.end(),
                                 [&](const Found& found) { return found.granule == granule && found.bytes == bytes; });
  if (same == thread.untold.end()) return Miss(thread, told.thread, granule, bytes, true);
  thread.untold.erase(same);
  ++result_.same;
}

void Verifier::Miss(const Acting& thread, Tid tid, Addr granule, ByteMask bytes, bool online) {
  ++(online ? result_.only_online : result_.only_offline);
  // Those of one thread come in order, those of different ones need not: more are kept than are shown.
  if (result_.examples.size() >= 4096) return;
  result_.examples.push_back({.event = thread.event,
                              .online = online,
                              .thread = tid,
                              .granule = granule,
                              .bytes = bytes,
                              .context = thread.context});
}

void Verifier::Flush(Acting& thread, Tid tid) {
  for (const Found& found : thread.untold) Miss(thread, tid, found.granule, found.bytes, false);
  thread.untold.clear();
}

Verification Verifier::Finish() {
  for (auto& [tid, thread] : threads_) Flush(thread, tid);
  SortExamples(result_);
  return std::move(result_);
}

}  // namespace redflag
