#include "offline/trace_reports.h"

#include <algorithm>
#include <map>
#include <utility>

#include "report/fingerprint.h"
#include "report/judgement.h"
#include "report/source.h"

namespace redflag {
namespace {

// What was true in the thread of an event when it happened.
struct Moment {
  std::vector<Frame> stack;
  std::map<SyncId, uint64_t> locks_taken;  // held lock -> the event that took it
};

// Everything about a trace that reports need and events do not say on their own. Built for a known set of
// events.
class TraceFacts {
 public:
  TraceFacts(const Trace& trace, std::vector<uint64_t> events) : trace_(trace) {
    std::sort(events.begin(), events.end());
    events.erase(std::unique(events.begin(), events.end()), events.end());
    Walk(events);
  }

  const Moment& At(uint64_t event) const { return moments_.at(event); }

  // The place of an event without its callers.
  Frame PlaceOf(uint64_t event) const { return MakeFrame(kNoFunction, trace_.events[event].position, event); }

  ThreadInfo Info(Tid tid) const {
    ThreadInfo info{.name = NameOf(tid), .title = {}, .creator = {}, .created_at = {}};
    if (const auto title = titles_.find(tid); title != titles_.end()) info.title = title->second;
    if (const auto fork = forks_.find(tid); fork != forks_.end()) {
      info.creator = NameOf(trace_.events[fork->second].thread);
      info.created_at.push_back(PlaceOf(fork->second));
    }
    return info;
  }

  std::string NameOf(Tid tid) const { return Raw(tid) < trace_.threads.size() ? trace_.threads[Raw(tid)] : "?"; }

 private:
  struct Running {
    std::vector<uint64_t> calls;                            // kFunctionEnter events, outermost first
    std::map<SyncId, std::pair<uint64_t, uint32_t>> locks;  // lock -> event that took it, depth
  };

  Frame MakeFrame(FunctionId function, PositionId position, uint64_t event) const {
    Frame frame;
    if (function != kNoFunction) frame.function = trace_.functions[Raw(function)];
    if (position != kNoPosition) {
      const SourcePosition& source = trace_.positions[Raw(position)];
      frame.file = source.file;
      frame.line = source.line;
      frame.column = source.column;
    } else {
      frame.file = trace_.name;
      frame.line = event < trace_.lines.size() ? trace_.lines[event] : 0;
    }
    return frame;
  }

  void Walk(const std::vector<uint64_t>& wanted) {
    if (wanted.empty()) return;
    std::map<Tid, Running> running;
    size_t next = 0;
    // Thread names may be given after the race; everything else lies before it.
    for (uint64_t i = 0; i < trace_.events.size(); ++i) {
      const Event& event = trace_.events[i];
      if (event.kind == EventKind::kThreadName) titles_[event.thread] = trace_.texts[Raw(event.text())];
      if (next == wanted.size()) continue;
      Running& thread = running[event.thread];
      if (i == wanted[next]) {
        moments_.emplace(i, Capture(thread, i));
        ++next;
      }
      Follow(event, i, thread);
    }
  }

  void Follow(const Event& event, uint64_t index, Running& thread) {
    switch (event.kind) {
      case EventKind::kFunctionEnter:
        thread.calls.push_back(index);
        break;
      case EventKind::kFunctionExit:
        thread.calls.pop_back();
        break;
      case EventKind::kThreadFork:
        forks_[event.child()] = index;
        break;
      case EventKind::kLock:
        if (auto& [taken, depth] = thread.locks[event.sync()]; depth++ == 0) taken = index;
        break;
      case EventKind::kUnlock:
        if (--thread.locks[event.sync()].second == 0) thread.locks.erase(event.sync());
        break;
      default:
        break;
    }
  }

  // Each function is shown at the place it had reached: the access for the innermost, the next call for its
  // callers.
  Moment Capture(const Running& thread, uint64_t index) const {
    Moment moment;
    uint64_t reached = index;
    for (size_t i = thread.calls.size(); i-- > 0;) {
      const uint64_t call = thread.calls[i];
      moment.stack.push_back(MakeFrame(trace_.events[call].function(), trace_.events[reached].position, reached));
      reached = call;
    }
    if (moment.stack.empty()) moment.stack.push_back(PlaceOf(index));
    for (const auto& [lock, taken] : thread.locks) moment.locks_taken[lock] = taken.first;
    return moment;
  }

  const Trace& trace_;
  std::map<uint64_t, Moment> moments_;
  std::map<Tid, uint64_t> forks_;
  std::map<Tid, std::string> titles_;
};

// The bytes of one access in a race, collected over granules.
struct Extent {
  Addr begin{UINT64_MAX};
  Addr end{0};

  void Add(Addr granule, uint64_t granules, ByteMask bytes) {
    if (!Any(bytes)) return;
    const auto mask = static_cast<uint32_t>(Raw(bytes));
    begin = std::min(begin, granule + static_cast<uint64_t>(__builtin_ctz(mask)));
    const uint64_t last = 31 - static_cast<uint64_t>(__builtin_clz(mask));
    end = std::max(end, granule + (granules - 1) * kGranule + last + 1);
  }
  uint64_t size() const { return end - begin; }
};

class ReportBuilder {
 public:
  ReportBuilder(const Trace& trace, const Analysis& analysis)
      : trace_(trace), analysis_(analysis), facts_(trace, EventsOf(analysis)) {}

  std::vector<RaceReport> Build() {
    std::vector<RaceReport> reports;
    const auto& races = analysis_.races;
    for (size_t first = 0; first < races.size();) {
      size_t last = first + 1;
      const NamedRange* variable = VariableAt(FirstByte(races[first]), races[first].event);
      while (last < races.size() && races[last].event == races[first].event &&
             VariableAt(FirstByte(races[last]), races[last].event) == variable) {
        ++last;
      }
      reports.push_back(BuildOne(first, last, variable));
      first = last;
    }
    return reports;
  }

 private:
  static std::vector<uint64_t> EventsOf(const Analysis& analysis) {
    std::vector<uint64_t> events;
    for (const RaceRecord& race : analysis.races) {
      events.push_back(race.event);
      for (uint32_t i = 0; i < race.earlier_count; ++i) events.push_back(Raw(race.earlier[i].context));
    }
    return events;
  }

  static Addr FirstByte(const RaceRecord& race) {
    Extent extent;
    extent.Add(race.granule, race.granules, race.bytes);
    return extent.begin;
  }

  // The newest name of the byte at that time.
  const NamedRange* VariableAt(Addr addr, uint64_t event) const {
    for (auto it = trace_.ranges.rbegin(); it != trace_.ranges.rend(); ++it) {
      if (it->first_event <= event && addr >= it->addr && addr < it->addr + it->size) return &*it;
    }
    return nullptr;
  }

  RaceReport BuildOne(size_t first, size_t last, const NamedRange* variable) {
    const RaceRecord& head = analysis_.races[first];
    RaceReport report;
    report.detector = analysis_.detector;
    if (const DetectorInfo* detector = FindDetector(analysis_.detector)) report.claim = detector->claim;
    report.event = head.event;
    report.trace = trace_.name;
    report.trace_line = head.event < trace_.lines.size() ? trace_.lines[head.event] : 0;

    Extent racy;
    Extent accessed;
    std::map<std::pair<uint64_t, AccessKind>, std::pair<AccessRecord, Extent>> earlier;
    for (size_t i = first; i < last; ++i) {
      const RaceRecord& race = analysis_.races[i];
      racy.Add(race.granule, race.granules, race.bytes);
      accessed.Add(race.granule, race.granules, race.access.bytes);
      for (uint32_t j = 0; j < race.earlier_count; ++j) {
        const AccessRecord& access = race.earlier[j];
        auto& [record, extent] = earlier[{Raw(access.context), access.kind}];
        record = access;
        extent.Add(race.granule, race.granules, access.bytes);
      }
      report.earlier_omitted += race.earlier_total - race.earlier_count;
    }
    report.addr = racy.begin;
    report.size = racy.size();
    if (variable != nullptr) {
      report.variable = variable->name;
      report.offset = racy.begin - variable->addr;
    }
    report.access = Site(head.access, head.event, accessed);
    std::vector<Tid> threads = {head.access.thread};
    for (auto it = earlier.rbegin(); it != earlier.rend(); ++it) {  // the latest first
      const auto& [record, extent] = it->second;
      report.earlier.push_back(Site(record, Raw(record.context), extent));
      if (std::find(threads.begin(), threads.end(), record.thread) == threads.end()) threads.push_back(record.thread);
    }
    for (const Tid tid : threads) report.threads.push_back(facts_.Info(tid));
    report.why = ExplainRace(report);
    report.fingerprint = FingerprintOf(report);
    report.judgement = Judge(report, sources_);
    return report;
  }

  AccessSite Site(const AccessRecord& record, uint64_t event, const Extent& extent) const {
    const Moment& moment = facts_.At(event);
    AccessSite site{.thread = facts_.NameOf(record.thread),
                    .kind = record.kind,
                    .origin = record.origin,
                    .addr = extent.begin,
                    .size = extent.size(),
                    .stack = moment.stack,
                    .locks = {}};
    if (trace_.events[event].size != 0) {  // a commit has a footprint instead
      site.addr = trace_.events[event].addr;
      site.size = trace_.events[event].size;
    }
    for (const HeldLock held : analysis_.locksets[Raw(record.locks)]) {
      HeldLockInfo lock{.name = trace_.syncs[Raw(LockOf(held))].name, .mode = ModeOf(held), .taken_at = {}};
      if (const auto taken = moment.locks_taken.find(LockOf(held)); taken != moment.locks_taken.end()) {
        lock.taken_at.push_back(facts_.PlaceOf(taken->second));
      }
      site.locks.push_back(std::move(lock));
    }
    return site;
  }

  const Trace& trace_;
  const Analysis& analysis_;
  TraceFacts facts_;
  SourceFiles sources_;
};

}  // namespace

std::vector<RaceReport> BuildReports(const Trace& trace, const Analysis& analysis) {
  return ReportBuilder(trace, analysis).Build();
}

}  // namespace redflag
