#include "sample/outside_sampler.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "events/sample_machine.h"
#include "events/sample_rules.h"

namespace redflag {
namespace {

using namespace sampling;  // NOLINT: the rules are what this file is about

uint64_t Now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void Count(uint64_t& counter) { std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed); }

}  // namespace

OutsideSampler::OutsideSampler(pid_t pid, int memory, SamplePage* page, EachThread each_thread, GoOn go_on)
    : pid_(pid), memory_(memory), page_(page), each_thread_(std::move(each_thread)), go_on_(std::move(go_on)) {
  if (clock_getcpuclockid(pid_, &processor_clock_) != 0) processor_clock_ = CLOCK_MONOTONIC;
  free_ = (1u << page_->watches) - 1;
}

bool OutsideSampler::Read(uint64_t address, void* to, size_t bytes) const {
  return pread(memory_, to, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

uint64_t OutsideSampler::ProcessorTime() const { return Now(processor_clock_); }

void OutsideSampler::WriteStop(SampleStop& stop, pid_t tid, const NativeRegisters& registers) const {
  stop.tid = static_cast<uint32_t>(tid);
  stop.pc = ProgramCounter(registers);
  stop.is_before = 1;
  CopyRegisters(registers, stop.registers);
  stop.stack_begin = StackPointer(registers) - kRedZone;
  const ssize_t got = pread(memory_, stop.stack, SampleStop::kStackBytes, static_cast<off_t>(stop.stack_begin));
  stop.stack_bytes = got > 0 ? static_cast<uint32_t>(got) : 0;
}

// Two threads that are both stopped before accesses to the same bytes: the one that came first has the sample.
bool OutsideSampler::Collide(pid_t tid, const SampleSite& site, uint64_t address, const NativeRegisters& registers) {
  for (Sample& sample : samples_) {
    if (sample.owner == 0 || sample.came) continue;
    if (address + site.access.size <= sample.address || address >= sample.address + sample.size) continue;
    if (!site.access.writes() && !sample.writes) continue;
    WriteStop(page_->records[sample.record].second, tid, registers);
    sample.came = true;
    Count(page_->counters.collisions);
    return true;
  }
  return false;
}

bool OutsideSampler::Begin(pid_t tid, uint32_t index, const NativeRegisters& registers) {
  const SampleSite& site = SitesOf(page_)[index];
  SampleCounters& counters = page_->counters;
  uint64_t numbered[SampleStop::kRegisters] = {};
  CopyRegisters(registers, numbered);
  if ((site.access.flags & MemoryAccess::kRepeated) != 0 && numbered[kCountX86] == 0) return false;
  const uint64_t address = site.access.Address(numbered, site.address, kProgramCounterIsNext);
  if (Collide(tid, site, address, registers)) {
    Advance();
    return false;
  }
  const uint64_t begin = Now();
  if (static_cast<uint32_t>(tid) != page_->pid) std::atomic_ref(page_->is_threaded).store(1, std::memory_order_relaxed);
  const Sharing sharing = NoteMet(page_, address, site.access.writes(), static_cast<uint32_t>(tid));
  const uint64_t delay = ChooseDelay(page_, index, sharing, begin, random_());
  const Paid paid = Pay(page_, static_cast<uint32_t>(tid), sharing, delay, begin);
  if (paid.from == nullptr) {
    Count(counters.over_budget);
    return false;
  }
  Sample* sample = std::find_if(std::begin(samples_), std::end(samples_), [](const Sample& s) { return s.owner == 0; });
  const uint32_t which = sample == std::end(samples_) ? SamplePage::kRecords : TakeRecord(page_, index);
  if (which == SamplePage::kRecords) {
    Count(counters.no_record);
    Settle(page_, paid, 0);
    return false;
  }
  SampleRecord& record = page_->records[which];
  const uint32_t size = site.access.size;
  record.address = address;
  record.size = size;
  record.watched = 0;
  if (!Read(address, record.before, size)) {
    Count(counters.unreadable);
    std::atomic_ref(record.state).store(SampleRecord::kFree, std::memory_order_release);
    Settle(page_, paid, 0);
    return false;
  }
  Count(counters.sampled);
  const uint32_t mask =
      page_->repeated_read_only != 0 ? 0 : ChooseWatches(free_, page_->watches, address, size, record.watched);
  if (mask == 0) {
    record.watched = 0;
    Count(counters.unwatched);
  }
  free_ &= ~mask;
  *sample = Sample{.owner = tid,
                   .record = which,
                   .site = index,
                   .address = address,
                   .size = size,
                   .writes = site.access.writes(),
                   .mask = mask,
                   .paid = paid,
                   .begin = begin,
                   .registers = registers};
  if (mask != 0) {
    each_thread_([&](pid_t other, ThreadWatches& watches) {
      if (other != tid) watches.Arm(mask, address, record.watched, site.access.writes());
    });
    Read(address, record.before, size);  // who changed it while this was set up met no data breakpoint
  }
  const uint64_t now = Now();
  sample->end = now + delay;
  sample->next_slice = now + kSlice;
  sample->work = ProcessorTime();
  return true;
}

void OutsideSampler::AddThread(ThreadWatches& watches) const {
  for (const Sample& sample : samples_) {
    if (sample.owner == 0 || sample.mask == 0) continue;
    watches.Arm(sample.mask, sample.address, page_->records[sample.record].watched, sample.writes);
  }
}

void OutsideSampler::Disarm(const Sample& sample) {
  if (sample.mask == 0) return;
  each_thread_([&](pid_t other, ThreadWatches& watches) {
    if (other != sample.owner) watches.Disarm(sample.mask);
  });
  TakeCaught();  // what came until then; none of it is left for the next who has these
  free_ |= sample.mask;
}

void OutsideSampler::Drop(pid_t tid) {
  for (Sample& sample : samples_) {
    if (sample.owner != tid) continue;
    Disarm(sample);
    std::atomic_ref(page_->records[sample.record].state).store(SampleRecord::kFree, std::memory_order_release);
    TellFired(page_, sample.site);
    sample.owner = 0;
  }
}

void OutsideSampler::TakeCaught() {
  each_thread_([&](pid_t tid, ThreadWatches& watches) {
    for (uint64_t address = 0; watches.Take(caught_, address);) {
      // The address is that of the data breakpoint, on some machines that of the access.
      Sample* its = std::find_if(std::begin(samples_), std::end(samples_), [&](const Sample& sample) {
        return sample.owner != 0 && sample.owner != tid && address >= sample.address &&
               address < sample.address + sample.size;
      });
      if (its == std::end(samples_) || its->came) {
        Count(page_->counters.stale);
        continue;
      }
      page_->records[its->record].second = caught_;
      its->came = true;
    }
  });
}

// Ends early if there is no progress. Bytes that have changed with nobody caught have a grace period: word of who it was may be under way.
bool OutsideSampler::IsOver(Sample& sample, uint64_t now) {
  if (sample.came) return true;
  bool over = now >= sample.end;
  if (!over && !sample.in_grace && now >= sample.next_slice) {
    const uint64_t work = ProcessorTime();
    sample.idle = work - sample.work < kProgress ? sample.idle + 1 : 0;
    sample.work = work;
    sample.next_slice = now + kSlice;
    over = sample.cut_short = sample.idle >= kPatience;
  }
  if (!over || sample.in_grace) return over;
  SampleRecord& record = page_->records[sample.record];
  if (!Read(sample.address, record.after, sample.size) || !HasChanged(record) || sample.mask == 0) return true;
  sample.changed = sample.in_grace = true;
  sample.end = now + kGrace;
  return false;
}

void OutsideSampler::Finish(Sample& sample) {
  SampleRecord& record = page_->records[sample.record];
  SampleCounters& counters = page_->counters;
  if (sample.cut_short) Count(counters.cut_short);
  // Read while they are watched: who changes them later meets no data breakpoint.
  if (!sample.in_grace) sample.changed = Read(sample.address, record.after, sample.size) && HasChanged(record);
  Disarm(sample);
  record.has_second = sample.came ? 1 : 0;
  if (sample.came) {
    Count(counters.hits);
  } else if (sample.changed) {
    Count(counters.changed);
  }
  const bool conflict = sample.came || sample.changed;
  const uint64_t paused = Now() - sample.begin;
  record.paused_ns = paused;
  if (conflict) WriteStop(record.first, sample.owner, sample.registers);
  std::atomic_ref(record.state)
      .store(conflict ? SampleRecord::kPublished : SampleRecord::kFree, std::memory_order_release);
  Settle(page_, sample.paid, paused);
  TellFired(page_, sample.site);
  go_on_(std::exchange(sample.owner, 0));
}

void OutsideSampler::Advance() {
  if (NextDue() == UINT64_MAX) return;
  TakeCaught();
  for (Sample& sample : samples_) {
    if (sample.owner != 0 && IsOver(sample, Now())) Finish(sample);
  }
}

uint64_t OutsideSampler::NextDue() const {
  uint64_t due = UINT64_MAX;
  const uint64_t now = Now();
  for (const Sample& sample : samples_) {
    if (sample.owner == 0) continue;
    uint64_t next = sample.in_grace ? sample.end : std::min(sample.end, sample.next_slice);
    if (sample.came) next = now;
    due = std::min(due, next > now ? next - now : 0);
  }
  return due;
}

void OutsideSampler::EndAll() {
  for (Sample& sample : samples_) {
    if (sample.owner != 0) Finish(sample);
  }
}

}  // namespace redflag
