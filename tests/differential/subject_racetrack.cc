// racetrack reports exactly what a transcription of the paper reports, under every setting; names another side that can be
// meant; and its settings stand in the relations to each other, to lockset and to happens-before that
// docs/algorithms/racetrack.md proves.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/mem.h"
#include "detectors/lockset.h"
#include "detectors/racetrack.h"
#include "tests/differential/oracle.h"
#include "tests/differential/race_records.h"
#include "tests/differential/reference_racetrack.h"
#include "tests/differential/subject.h"

namespace redflag {
namespace {

using Places = std::set<std::pair<uint64_t, uint64_t>>;

// Replay makes its detector itself; which settings it gets is said here.
thread_local RaceTrackOptions settings;
struct Configured : RaceTrack<PlainMem> {
  Configured() : RaceTrack<PlainMem>(settings) {}
};

Places Agree(const Trace& trace, const RaceTrackOptions& options, const std::string& name, std::string& complaint) {
  const RaceTrackReference::Options same{.threadset = options.threadset,
                                         .adaptive_threadset = options.adaptive_threadset,
                                         .object_first = options.object_first,
                                         .array_sample = options.array_sample,
                                         .report_object_level = options.report_object_level};
  settings = options;
  const auto races = RecordsOf<Configured>(trace);
  const Places places = PlacesOf(races, complaint);
  complaint += Difference(places, RaceTrackReference(trace, same).Run(), name);
  if (!options.report_object_level) complaint += CheckOtherSides(trace, races);
  return places;
}

FirstReports NotAtFrees(const Trace& trace, FirstReports reports) {
  std::erase_if(reports, [&](const auto& report) { return trace.events[report.second].kind == EventKind::kFree; });
  return reports;
}

bool HasLifetimes(const Trace& trace) {
  return std::ranges::any_of(trace.events, [](const Event& event) {
    return event.kind == EventKind::kAlloc || event.kind == EventKind::kFree || event.kind == EventKind::kNewMemory ||
           event.kind == EventKind::kUnpublish;
  });
}

// The first report of a byte is about an access that no order but that of locks puts after all others of other threads.
std::string CheckConcurrent(const Trace& trace, const FirstReports& reports) {
  if (reports.empty()) return "";
  const oracle::HappensBefore order(trace, oracle::LockArcs::kAnnotated);
  const std::vector<oracle::ByteAccess> accesses = oracle::AccessesOf(trace);
  std::string complaint;
  for (const auto& [where, event] : reports) {
    bool concurrent = false;
    for (const oracle::ByteAccess& access : accesses) {
      concurrent |= access.event < event && access.begin <= where.first && where.first < access.end &&
                    access.lifetime == where.second && !access.atomic && !access.birth && !access.benign &&
                    trace.events[access.event].thread != trace.events[event].thread &&
                    !order.Ordered(access.event, event);
    }
    if (!concurrent) complaint += "event " + std::to_string(event) + " is reported and concurrent with none; ";
  }
  return complaint;
}

std::optional<std::string> Compare(const Trace& trace) {
  std::string complaint;
  const auto first = [&](const Places& places) { return FirstReportsOf(trace, places); };

  const FirstReports paper = first(Agree(trace, {}, "racetrack", complaint));
  const FirstReports fields = first(Agree(trace, {.object_first = false}, "fields only", complaint));
  complaint += CheckConcurrent(trace, paper);
  complaint += CheckConcurrent(trace, fields);

  // The other settings take turns: each sees a quarter of the traces, and shrinking a trace does not change its turn.
  switch ((trace.ranges.size() + trace.initial_threads.size()) % 4) {
    case 0: {
      const FirstReports basic =
          first(Agree(trace, {.adaptive_threadset = false, .object_first = false}, "Figure 2", complaint));
      complaint += CheckNoLater(paper, basic, "what racetrack reports, Figure 2 reports");
      complaint += CheckNoLater(fields, basic, "what fields report, Figure 2 reports");
      complaint += CheckConcurrent(trace, basic);
      break;
    }
    case 1: {
      const FirstReports lockset =
          first(Agree(trace, {.threadset = false, .object_first = false}, "locksets alone", complaint));
      complaint += CheckNoLater(paper, lockset, "what racetrack reports, locksets alone report");
      complaint += CheckNoLater(fields, lockset, "what fields report, locksets alone report");
      // Eraser goes by bytes; here a lifetime that begins inside an object makes the rest of the object begin anew.
      std::string ignored;
      const FirstReports eraser = NotAtFrees(trace, first(PlacesOf(RecordsOf<Lockset<PlainMem>>(trace), ignored)));
      const FirstReports alone = NotAtFrees(trace, lockset);
      complaint += CheckNoLater(alone, eraser, "what locksets alone report, Eraser reports");
      if (!HasLifetimes(trace) && alone != eraser) complaint += "locksets alone are not Eraser; ";
      break;
    }
    case 2:
      Agree(trace, {.report_object_level = true}, "with objects", complaint);
      Agree(trace, {.threadset = false}, "locksets of objects", complaint);
      break;
    default:
      Agree(trace, {.object_first = false, .array_sample = 1}, "sampled", complaint);
      Agree(trace, {.adaptive_threadset = false}, "Figure 2 of objects", complaint);
      break;
  }
  return NothingOr(complaint);
}

const RegisterSubject kRaceTrack{"racetrack", Compare};

}  // namespace
}  // namespace redflag
