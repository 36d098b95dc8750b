// What the runtime does for its own sake: keeping to a limit of memory, telling what it has counted.
#include "runtime/emit.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"

namespace redflag::rt {

// Cells are emptied one after the other while others go on: whoever comes to an emptied one finds that nothing happened there yet.
void Runtime::KeepMemoryLimit(Thread& t) {
  t.until_memory_check = Thread::kMemoryCheck;
  if (t.is_stale) Retag(t);  // one that synchronizes with nobody has no other occasion
  if (flags_.memory_limit_mb <= 0) return;
  const uint64_t limit = static_cast<uint64_t>(flags_.memory_limit_mb) << 20;
  if (ResidentBytes() <= limit || !forgetting_.TryAcquire()) return;
  ForEachWritableMapping(
      [](uint64_t begin, uint64_t end, void* data) {
        auto& self = *static_cast<Runtime*>(data);
        if (self.shadow_.Contains(begin)) return;
        self.ForgetCells(begin, end - begin);
        self.shadow_.ReleaseCells(begin, end - begin);
      },
      this);
  const bool helped = ResidentBytes() <= limit;
  if (forgotten_++ == 0 || flags_.verbosity > 0) {
    Line line;
    line.Add("Redflag: more than ")
        .Add(static_cast<uint64_t>(flags_.memory_limit_mb))
        .Add(" MB in use (memory_limit_mb): old accesses are forgotten, and races with them not found");
    if (!helped) line.Add("; the program alone uses nearly as much");
    Complain(line.text());
  }
  if (!helped) t.until_memory_check = Thread::kMemoryCheck * 64;
  forgetting_.Release();
}

void Runtime::PrintStats() {
  const auto print = [](const char* what, uint64_t count) {
    Line line;
    line.Add("  ").Add(count).Add(" ").Add(what).Add("\n").Print();
  };
  if (local.thread != nullptr) {
    for (uint32_t rule = 0; rule < Detector::kRuleCount; ++rule) counts_[rule] += local.thread->state.counts[rule];
  }
  Complain("Redflag: counted in this process, threads that still run left out:");
  for (uint32_t rule = 0; rule < Detector::kRuleCount; ++rule) {
    if (counts_[rule] != 0) print(Detector::kRules[rule].name, counts_[rule]);
  }
  print("races reported", races_);
  print("reports like one before", DuplicateReports());
  print("threads", thread_count());
  print("calling contexts", contexts_.size());
  print("contexts that there was no room for", contexts_.lost());
  print("KB of clocks", (arena_.mapped() + detector_.arena().mapped()) >> 10);
  print("KB of cells of shared data", detector_.cell_arena().mapped() >> 10);
  print("times that old accesses were forgotten (memory_limit_mb)", forgotten_);
  print("times that all was forgotten (a billion releases, or asked to)", era_);
}

}  // namespace redflag::rt
