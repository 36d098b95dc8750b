#include "sample/statistics.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace redflag {

std::vector<std::string> StatisticsOf(const Session& session, const SampleOptions& options) {
  std::vector<std::string> lines;
  const SampleCounters& c = session.counters();
  const Session::Outcome& outcome = session.outcome();
  lines.push_back(fmt::format(
      "process {}: {} places, {} data breakpoints; {} breakpoints met, {} sampled, {} over budget, {} unwatched, "
      "{} unreadable, {} without room",
      session.pid(), session.sites(), session.watches(), c.fired, c.sampled, c.over_budget, c.unwatched, c.unreadable,
      c.no_record));
  lines.push_back(
      fmt::format("  stopped for {:.3f} s of {:.3f} s of all threads ({:.2f} %), no thread for more than {:.2f} %; {} "
                  "pauses cut short",
                  static_cast<double>(c.paused_ns) / 1e9, outcome.thread_seconds,
                  outcome.thread_seconds > 0 ? static_cast<double>(c.paused_ns) / 1e7 / outcome.thread_seconds : 0.0,
                  session.most_stopped() * 100, c.cut_short));
  lines.push_back(fmt::format("  processor time: {:.3f} s at breakpoints, of {:.3f} s of the process",
                              static_cast<double>(c.cost_ns) / 1e9, outcome.processor_seconds));
  lines.push_back(
      fmt::format("  conflicts: {} by data breakpoint ({} of them between two stopped threads), {} by value; {} "
                  "reported, {} both "
                  "atomic; both stacks in {} of {}",
                  c.hits, c.collisions, c.changed, outcome.reported, outcome.synchronization, outcome.both_stacks,
                  outcome.with_second));
  lines.push_back(
      fmt::format("  lost: {} stale, {} late; {} met elsewhere, {} not ours", c.stale, c.late, c.elsewhere, c.foreign));
  if (options.self_check) {
    lines.push_back(fmt::format("  self-check: {} tried, {} met their own data breakpoint, {} elsewhere", c.self_tried,
                                c.self_met, c.self_wrong));
  }
  return lines;
}

std::string OwnCost() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return fmt::format("sampling itself took {:.3f} s of processor time",
                     seconds(used.ru_utime) + seconds(used.ru_stime));
}

}  // namespace redflag
