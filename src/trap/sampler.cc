#include "trap/sampler.h"

#include "base/arch.h"
#include "events/sample_rules.h"
#include "trap/machine.h"
#include "trap/system.h"

namespace redflag::trap {
namespace {

using namespace sampling;  // NOLINT: the rules are what this file is about

constexpr int kTagShift = 3;  // sample number below

// What the program pays for the handler, but for the way into it and out of it.
class Cost {
 public:
  explicit Cost(SamplePage* page) : page_(page), begin_(page == nullptr ? 0 : Now(CLOCK_THREAD_CPUTIME_ID)) {}
  ~Cost() {
    if (page_ != nullptr) Count(page_->counters.cost_ns, Now(CLOCK_THREAD_CPUTIME_ID) - begin_);
  }
  Cost(const Cost&) = delete;
  Cost& operator=(const Cost&) = delete;

 private:
  SamplePage* page_;
  uint64_t begin_;
};

}  // namespace

const SampleSite& Sampler::SiteAt(uint32_t index) const { return SitesOf(page_)[index]; }

void Sampler::RingBell() {
  __atomic_fetch_add(&door_->bell, 1, __ATOMIC_RELEASE);
  Wake(&door_->bell);
}

uint64_t Sampler::Random() {
  uint64_t x = __atomic_add_fetch(&random_, 0x9e3779b97f4a7c15, __ATOMIC_RELAXED) ^ Now();
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

uint32_t Sampler::TakeSample() {
  for (uint32_t i = 0; i < kSamples; ++i) {
    uint32_t free = 0;
    if (__atomic_compare_exchange_n(&samples_[i].taken, &free, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return i;
  }
  return kNone;
}

void Sampler::WriteStop(SampleStop& stop, const ucontext_t& context, bool is_before) const {
  stop.tid = ThreadId();
  stop.pc = ProgramCounter(context);
  stop.is_before = is_before ? 1 : 0;
  CopyRegisters(context, stop.registers);
  stop.stack_begin = StackPointer(context) - kRedZone;
  const int64_t got = ReadMemory(stop.stack_begin, stop.stack, SampleStop::kStackBytes);
  stop.stack_bytes = got > 0 ? static_cast<uint32_t>(got) : 0;
}

bool Sampler::OnTrap(const siginfo_t* info, ucontext_t& context) {
  const Cost cost(page_);
  if (Watches::IsOurs(info)) {
    const Watches::Met met = Watches::Read(info);
    if (page_ == nullptr || Load(page_->phase) < SamplePage::kGo) {
      probe_tag_met = met.tag;
    } else {
      OnWatch(info, context);
    }
    return true;
  }
  if (page_ == nullptr || Load(page_->phase) < SamplePage::kGo || info->si_code <= 0) return false;
  const uint64_t pc = BreakpointOf(context);
  const uint32_t index = FindSite(page_, pc);
  if (index == kNoSite) return false;
  const SampleSite& site = SiteAt(index);
  GoOnAt(context, pc);
  const Busy busy(handlers_);  // Withdraw waits for whoever does not see yet that it is off
  if (__atomic_load_n(&page_->off, __ATOMIC_SEQ_CST) != 0 && Pid() == page_->pid) return true;  // it is being taken out
  {
    const OwnMemory memory(O_RDWR);
    if (!memory.Write(pc, site.original, kBreakpointBytes)) return false;
  }
  if (Pid() != page_->pid) {  // it was inherited; who shares our memory (vfork) shares the place, too
    Count(page_->counters.elsewhere);
    return true;
  }
  Count(page_->counters.fired);
  uint64_t registers[SampleStop::kRegisters] = {};
  CopyRegisters(context, registers);
  const bool never = (site.access.flags & MemoryAccess::kRepeated) != 0 && registers[kCountX86] == 0;
  if (Load(page_->off) == 0 && !never) {
    const uint64_t address = site.access.Address(registers, pc, kProgramCounterIsNext);
    if (page_->self_check != 0) {
      SelfCheck(site, address);
    } else {
      DoSample(index, address, context);
    }
  }
  TellFired(page_, index);
  return true;
}

// Two threads that are both stopped, each by a breakpoint, before accesses to the same bytes: the one that came first has the sample. A thread may
// come to its own, in the handler of a signal.
bool Sampler::Collide(const SampleSite& site, uint64_t address, const ucontext_t& context) {
  for (Sample& sample : samples_) {
    if (Load(sample.taken) != 2 || Load(sample.hit) != Sample::kOpen || sample.owner == ThreadId()) continue;
    if (address + site.access.size <= sample.address || address >= sample.address + sample.size) continue;
    if (!site.access.writes() && sample.writes == 0) continue;
    if (!Claim(sample, context, true)) continue;
    Count(page_->counters.collisions);
    return true;
  }
  return false;
}

bool Sampler::ReadAgain(SampleRecord& record) {
  ReadMemory(record.address, record.after, record.size);
  return HasChanged(record);
}

void Sampler::DoSample(uint32_t index, uint64_t address, const ucontext_t& context) {
  const SampleSite& site = SiteAt(index);
  SampleCounters& counters = page_->counters;
  if (Collide(site, address, context)) return;
  const uint32_t self = ThreadId();
  if (self != page_->pid && Load(page_->is_threaded) == 0) Store(page_->is_threaded, uint32_t{1});
  const Sharing sharing = NoteMet(page_, address, site.access.writes(), self);
  const uint64_t begin = Now();
  const uint64_t delay = ChooseDelay(page_, index, sharing, begin, Random());
  const Paid paid = Pay(page_, self, sharing, delay, begin);
  if (paid.from == nullptr) return Count(counters.over_budget);
  const uint32_t number = TakeSample();
  const uint32_t which = number == kNone ? SamplePage::kRecords : TakeRecord(page_, index);
  bool conflict = false;
  if (which == SamplePage::kRecords) {
    Count(counters.no_record);
  } else {
    Sample& sample = samples_[number];
    SampleRecord& record = page_->records[which];
    const uint32_t size = site.access.size;
    record.address = address;
    record.size = size;
    const bool readable = ReadMemory(address, record.before, size) == static_cast<int64_t>(size);
    if (!readable) {
      Count(counters.unreadable);
    } else {
      Count(counters.sampled);
      sample.use++;
      sample.owner = self;
      sample.record = which;
      sample.address = address;
      sample.size = size;
      sample.writes = site.access.writes() ? 1 : 0;
      Store(sample.hit, uint32_t{Sample::kOpen});
      record.watched = 0;
      sample.mask = page_->repeated_read_only != 0 ? 0 : watches_.Take(address, size, record.watched);
      if (sample.mask == 0) {
        record.watched = 0;
        Count(counters.unwatched);
      }
      Store(sample.taken, uint32_t{2});
      if (sample.mask != 0) {
        watches_.Arm(sample.mask, address, record.watched, site.access.writes(), sample.use << kTagShift | number);
        ReadMemory(address, record.before, size);  // who changed it while this was set up met no data breakpoint
      }
      if (!Wait(sample, delay)) Count(counters.cut_short);
      // Read while they are watched: who changes them later meets no data breakpoint. They have changed and nobody came: the signal may be
      // late, and who did it may come again.
      const bool changed = ReadAgain(record);
      if (changed && sample.mask != 0) Wait(sample, kGrace);
      if (sample.mask != 0) watches_.Disarm(sample.mask);
      uint32_t open = Sample::kOpen;
      if (!__atomic_compare_exchange_n(&sample.hit, &open, Sample::kClosed, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < 1000 && Load(sample.hit) == Sample::kComing; ++i) {
          Await(&sample.hit, Sample::kComing, kMillisecond);
        }
        record.has_second = Load(sample.hit) == Sample::kCame ? 1 : 0;
      }
      conflict = record.has_second != 0 || changed;
      if (record.has_second != 0) {
        Count(counters.hits);
      } else if (changed) {
        Count(counters.changed);
      }
      watches_.GiveBack(sample.mask);
      record.paused_ns = Now() - begin;
      if (conflict) WriteStop(record.first, context, true);
    }
    Store(record.state, conflict ? uint32_t{SampleRecord::kPublished} : uint32_t{SampleRecord::kFree});
  }
  if (number != kNone) Store(samples_[number].taken, uint32_t{0});
  Settle(page_, paid, Now() - begin);
  if (!conflict) return;
  RingBell();
  SampleRecord& record = page_->records[which];
  for (int i = 0; page_->hold_second != 0 && i < 5000 && Load(record.second_waits) != 0; ++i) {
    Await(&record.second_waits, 1, kMillisecond);
  }
}

// Until somebody comes or the time is over, or there is no progress.
bool Sampler::Wait(Sample& sample, uint64_t delay) {
  const uint64_t end = Now() + delay;
  uint64_t work = 0;
  uint64_t idle = 0;
  for (uint64_t now = Now(); now < end; now = Now()) {
    const uint64_t left = end - now;
    Await(&sample.hit, Sample::kOpen, left < kSlice ? left : kSlice);
    if (Load(sample.hit) != Sample::kOpen) return true;
    if (left <= kSlice) break;
    const uint64_t done = Now(CLOCK_PROCESS_CPUTIME_ID);
    idle = done - work < kProgress ? idle + 1 : 0;
    work = done;
    if (idle >= kPatience) return false;
  }
  return true;
}

// A thread that came: the first one counts.
bool Sampler::Claim(Sample& sample, const ucontext_t& context, bool is_before) {
  uint32_t open = Sample::kOpen;
  if (!__atomic_compare_exchange_n(&sample.hit, &open, Sample::kComing, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return false;
  }
  SampleRecord& record = page_->records[sample.record];
  const bool hold = page_->hold_second != 0;
  if (hold) Store(record.second_waits, uint32_t{1});
  WriteStop(record.second, context, is_before);
  // At once: on arm64 the thread would be stopped again at the same place, elsewhere at its next access to these bytes.
  watches_.Disarm(sample.mask);
  Store(sample.hit, uint32_t{Sample::kCame});
  Wake(&sample.hit);
  for (int i = 0; hold && i < 5000 && Load(record.second_waits) != 0; ++i) {
    Await(&record.second_waits, 1, kMillisecond);
  }
  return true;
}

void Sampler::OnWatch(const siginfo_t* info, const ucontext_t& context) {
  const Watches::Met met = Watches::Read(info);
  Sample& sample = samples_[met.tag % kSamples];
  if (met.late) return Count(page_->counters.late);
  // The kernel reads the tag when it delivers the signal, which may be after the data breakpoint was given to another sample. The address is that
  // of the access.
  const bool is_its = met.address >= sample.address && met.address < sample.address + sample.size;
  if (Load(sample.taken) != 2 || sample.use != met.tag >> kTagShift || !is_its) {
    Count(page_->counters.stale);
    return;
  }
  if (page_->self_check != 0) return OnOwnWatch(sample, met);
  if (sample.owner == ThreadId()) return Count(page_->counters.stale);
  if (!Claim(sample, context, kWatchStopsBefore)) Count(page_->counters.stale);
}

// The thread watches its own access, goes on, and has to meet the data breakpoint where its address was worked out to be.
void Sampler::SelfCheck(const SampleSite& site, uint64_t address) {
  const uint32_t number = TakeSample();
  if (number == kNone) return;
  Sample& sample = samples_[number];
  uint64_t ignored[8];
  uint32_t watched = 0;
  sample.mask = watches_.Take(address, site.access.size, watched);
  const bool readable = ReadMemory(address, ignored, site.access.size) == static_cast<int64_t>(site.access.size);
  if (sample.mask == 0 || !readable) {
    watches_.GiveBack(sample.mask);
    Store(sample.taken, uint32_t{0});
    return;
  }
  sample.use++;
  sample.owner = ThreadId();
  sample.address = address;
  sample.size = site.access.size;
  Store(sample.taken, uint32_t{2});
  Count(page_->counters.self_tried);
  // What writes is watched for writes only: that it does write is checked as well.
  watches_.Arm(sample.mask, address, watched, !site.access.writes(), sample.use << kTagShift | number);
}

void Sampler::OnOwnWatch(Sample& sample, const Watches::Met& met) {
  if (sample.owner != ThreadId()) return;
  const bool is_right = met.address >= sample.address && met.address < sample.address + sample.size;
  Count(is_right ? page_->counters.self_met : page_->counters.self_wrong);
  watches_.Disarm(sample.mask);
  watches_.GiveBack(sample.mask);
  Store(sample.taken, uint32_t{0});
}

void Sampler::Withdraw(SamplePage::Why why) {
  if (page_ == nullptr || Pid() != page_->pid) return;
  uint32_t go = SamplePage::kGo;
  if (!__atomic_compare_exchange_n(&page_->phase, &go, SamplePage::kLeave, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return;
  page_->why = why;
  __atomic_store_n(&page_->off, 1, __ATOMIC_SEQ_CST);
  RingBell();
  for (int i = 0; i < 2000 && Load(page_->phase) != SamplePage::kLeft; ++i) {
    Await(&page_->phase, SamplePage::kLeave, kMillisecond);
  }
  for (int i = 0; i < 2000 && __atomic_load_n(&handlers_, __ATOMIC_SEQ_CST) != 0; ++i) {
    Await(&handlers_, Load(handlers_), kMillisecond);
  }
}

}  // namespace redflag::trap
