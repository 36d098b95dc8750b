#include "runtime/runtime.h"

#include <sched.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/check.h"
#include "base/signal_mask.h"
#include "clocks/packed_record.h"
#include "events/wire.h"
#include "intercept/hooks.h"
#include "intercept/order.h"
#include "runtime/abi.h"
#include "runtime/benign.h"
#include "runtime/emit.h"
#include "runtime/environment.h"
#include "runtime/filter.h"
#include "runtime/layout.h"
#include "runtime/owner.h"
#include "runtime/race_stop.h"
#include "runtime/report_view.h"
#include "runtime/watch.h"

namespace redflag::rt {
namespace {

uint32_t OsThreadId() { return static_cast<uint32_t>(arch::Syscall(SYS_gettid, 0, 0, 0, 0, 0, 0)); }

}  // namespace

alignas(16) char REDFLAG_LINKED(unknown_cell)[16];
uint64_t REDFLAG_LINKED(unknown_seen)[kSeenWords];
PlaneOf REDFLAG_LINKED(unknown_planes)[Planes::kRemembered] = {{.page = PlaneOf::kNoPage, .words = nullptr}};
thread_local constinit Local local = kUnknown;

// Set when the runtime has seen this thread's end. What libc and signal handlers still do in it goes unwatched: it would be taken
// for another thread.
[[gnu::tls_model("initial-exec")]] static thread_local constinit bool has_ended = false;

// Set while this thread becomes known: a signal handler that comes then is not watched, and does not wait for locks that its own thread holds.
[[gnu::tls_model("initial-exec")]] static thread_local constinit bool is_meeting = false;

constinit uint32_t Runtime::state_ = kNew;
alignas(Runtime) char Runtime::storage_[sizeof(Runtime)];

Runtime::Runtime() : lock_order_(arena_), syncs_(shadow_, detector_, lock_order_), lock_names_(arena_) {}

// ---- Beginning ----

bool Runtime::SwitchOff(const char* why) {
  Complain("Redflag is switched off in this process: ", why);
  NoteSwitchedOff();
  __atomic_store_n(&state_, kOff, __ATOMIC_RELEASE);
  return false;
}

bool Runtime::Start() {
  uint32_t expected = kNew;
  if (!__atomic_compare_exchange_n(&state_, &expected, kStarting, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return expected == kRunning;
  }
  if (real::ComesAfterAnother()) {  // which may not have begun, and needs addresses that ours would take
    return SwitchOff(
        "it has a pthread_mutex_lock of its own, as a program has that ThreadSanitizer was linked into: link it with "
        "`redflag c++`, or with -fsanitize=thread and, if that is clang, -shared-libsan");
  }
  ::new (static_cast<void*>(storage_)) Runtime();
  Runtime& runtime = Get();
  ReadLoadedFiles();
  runtime.flags_ = FlagsFromEnvironment();
  Policies::SetProcess(
      {.on_race = PolicyOf(runtime.flags_.on_race), .reserved = 0, .callback = nullptr, .data = nullptr}, nullptr);
  const char* why = nullptr;
  if (!real::ComesFirst()) {
    why =
        "only a library of it was compiled for race detection, so that the runtime came after libc and sees no locks: "
        "start it with `redflag run`";
  } else if (!real::AllocatorComesFirst()) {
    why =
        "its allocator comes before the runtime, which sees no blocks of memory begin and end: if it is preloaded, "
        "start it with `redflag "
        "run`; if it is linked into the program, link it as a shared library";
  }
  if (why == nullptr && !CurrentLayout().FoldsApart()) {
    StartWithoutRandomization();
    why =
        "two parts of it are where one shadow would serve both: lower vm.mmap_rnd_bits (28 is usual), or start it with "
        "`setarch -R`";
  }
  if (why != nullptr || !runtime.shadow_.Reserve(why)) return SwitchOff(why);
  runtime.regions_.Start(!kIsBoxed, kHasPlanes ? TakeIn : nullptr);
  if (runtime.flags_.slot_times > 0) {
    runtime.detector_.slots().LimitTimes(static_cast<uint64_t>(runtime.flags_.slot_times));
  }
  runtime.OrderTransactions();
  runtime.contexts_.Start();
  FindObjectsBy(runtime.detector_, [](uint64_t addr, uint64_t& begin, uint64_t& bytes) {
    BlockInfo block;
    if (!Get().FindBlock(addr, block)) return false;
    begin = block.begin;
    bytes = block.bytes;
    return true;
  });
  runtime.syncs_.Start();
  runtime.infos_ = static_cast<ThreadInfo*>(MapPages(uint64_t{kMaxThreads} * sizeof(ThreadInfo)));
  runtime.blocks_ = static_cast<BlockInfo*>(MapPages(uint64_t{kMaxBlocks} * sizeof(BlockInfo)));
  hooks::Started();
  StartEmitting(runtime.flags_);
  if (__tsan_on_initialize != nullptr) __tsan_on_initialize();
  __atomic_store_n(&state_, kRunning, __ATOMIC_RELEASE);
  return true;
}

// A thread that shows up without having been created through us: the first one, or one from a raw clone.
Thread* Runtime::Meet() {
  if (has_ended || is_meeting) return nullptr;
  if (__atomic_load_n(&state_, __ATOMIC_ACQUIRE) != kRunning && !Start()) return nullptr;
  const Gate::Passage passage;
  Runtime& runtime = Get();
  is_meeting = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  Thread* thread = runtime.NewThread(nullptr, 0, true);
  runtime.Begin(thread);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  is_meeting = false;
  return thread;
}

bool Runtime::IsActive() {
  Thread* thread = local.thread;
  if (thread == nullptr) thread = Meet();
  return thread != nullptr && thread->mode.inside == 0;
}

// May be asked several times, by several threads: the answer is the same each time.
int Runtime::FinishProcess(int status) {
  uint32_t expected = kRunning;
  Runtime& runtime = Get();
  if (__atomic_load_n(&state_, __ATOMIC_ACQUIRE) == kRunning && local.thread != nullptr) {
    if (Thread* t = Enter(); t != nullptr) {
      runtime.RecordGatheredByOthers(*t);
      Leave(t);
    }
  }
  if (__atomic_compare_exchange_n(&state_, &expected, kOff, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    FlushExpectedRaces();
    if (Recorder::is_on()) TellModules();
    Watch::EndAll(runtime);
    TellCounters(runtime);
    StopEmitting(runtime.flags_);
    Recorder::End();
    if (runtime.flags_.print_stats) runtime.PrintStats();
  }
  bool failed = runtime.races() > SuppressedRaces() || MissedExpectations() != 0;
  if (__tsan_on_finalize != nullptr) failed = __tsan_on_finalize(failed ? 1 : 0) != 0;
  return failed && runtime.flags_.exitcode != 0 ? runtime.flags_.exitcode : status;
}

// ---- Threads ----

// A page of them at a time, if all have ended and somebody waited for them.
void Runtime::ForgetThreadsBefore(Tid tid) {
  constexpr uint32_t kPageBytes = 4096;
  constexpr uint32_t kInPage = kPageBytes / sizeof(ThreadInfo);
  static_assert(kPageBytes % sizeof(ThreadInfo) == 0 && kRememberedThreads % kInPage == 0);
  if (Raw(tid) % kInPage != 0 || Raw(tid) <= kRememberedThreads) return;
  ThreadInfo* first = &infos_[Raw(tid) - kRememberedThreads];
  for (uint32_t i = 0; i < kInPage; ++i) {
    const bool is_waited_for = first[i].joiner != kNoThread || (first[i].flags & wire::kDetached) != 0;
    if ((first[i].flags & wire::kFinished) == 0 || !is_waited_for) return;
  }
  redflag::ForgetPages(first, kPageBytes);
}

Thread* Runtime::NewThread(Thread* creator, uint64_t place, bool detached) {
  const Tid tid{__atomic_fetch_add(&next_tid_, 1, __ATOMIC_RELAXED)};
  REDFLAG_CHECK(Raw(tid) < kMaxThreads && "more than 16 million threads");
  ForgetThreadsBefore(tid);
  auto* thread = ::new (arena_.Allocate(sizeof(Thread))) Thread(detector_, tid, arena_);
  thread->era = era_;
  ThreadInfo& info = infos_[Raw(tid)];
  info.flags = detached ? wire::kDetached : 0;
  info.joiner = kNoThread;
  if (creator != nullptr) {
    info.creator = creator->state.tid;
    info.creator_step = creator->step++;
    info.created_at = creator->CallsAt(contexts_, place);
    NoteThread(*creator, EventKind::kThreadFork, tid, ContextToNote(*creator, place));
    HandedOn(*creator, detector_.OnFork(creator->state, thread->state), wire::Handover::kCreate, Raw(tid), place);
  } else {
    info.creator = kNoThread;
    detector_.OnStart(thread->state);
  }
  return thread;
}

void Runtime::Begin(Thread* thread) {
  // A signal handler that comes now must find the thread inside: `local` is not whole, and locks are held.
  const auto was_inside = thread->mode.inside;
  thread->mode.inside = Thread::kInside;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  local = Local{.tag = 0,
                .cells = shadow_.cells(),
                .fold = Shadow::kFold,
                .top = thread->frames(),
                .bottom = thread->bottom(),
                .limit = thread->frames_end(),
                .thread = thread,
                .homes = {PackedRecord::HomeOffset(false, Slot{}), PackedRecord::HomeOffset(true, Slot{})},
                .slot = {},
                .now = 0,
                .seen = thread->seen(),
                .regions = local.regions,
                .window = local.window,
                .owner = local.owner,
                .planes = thread->planes()};
  if (local.regions == nullptr) regions_.Join();
  ThreadInfo& info = infos_[Raw(thread->state.tid)];
  info.os_id = OsThreadId();
  info.thread_pointer = arch::ThreadPointer();
  // Once: a thread may come back from a fiber, and is still on that one's stack here.
  if (info.frame == 0 && !thread->is_fiber) info.frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (thread->era != era_) Restart(*thread);
  Retag(*thread);
  Gate::Register(*thread);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread->mode.inside = was_inside;
}

void Runtime::EndOf(Thread* thread) {
  infos_[Raw(thread->state.tid)].flags |= wire::kFinished;
  for (uint32_t rule = 0; rule < Detector::kRuleCount; ++rule) {
    __atomic_fetch_add(&counts_[rule], thread->state.counts[rule], __ATOMIC_RELAXED);
  }
  NoteThread(*thread, EventKind::kThreadEnd, Tid{});
  Recorder::Close(*thread);
  if (thread->era == era_) detector_.OnEnd(thread->state);
  Gate::Unregister(*thread);
}

void Runtime::End(Thread* thread) {
  RecordAllGathered(thread);
  // A robust mutex passes to somebody else when its owner dies. Others that are still held can't be taken any more.
  while (!thread->locks.empty()) {
    const HeldAt held = thread->locks[thread->locks.size() - 1];
    Unlock(*thread, held.address, held.mode, true, 0);
  }
  GiveBlocksBack(*thread, 0);
  EndOf(thread);
  regions_.Leave();
  // No handler may find a part of it: what it accesses is looked for at `cells`, before anything else.
  const SignalMask before = SignalMask::Replace({SignalMask::kAll});
  has_ended = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  local = kUnknown;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  SignalMask::Replace(before);
}

void Runtime::Join(Thread& t, Thread* child) {
  NoteThread(t, EventKind::kThreadJoin, child->state.tid);
  ThreadInfo& info = infos_[Raw(child->state.tid)];
  info.joined_step = ++t.step;
  info.joiner = t.state.tid;
  if (child->era == era_) Changed(t, detector_.OnJoin(t.state, child->state));
  Drop(child);
}

void Runtime::Drop(Thread* thread) {
  thread->~Thread();
  arena_.Free(thread, sizeof(Thread));
}

void Runtime::BeginProcess(Thread& t, uint32_t os_id) {
  regions_.BeginProcess();
  Gate::ForEachOther(t, [&](Thread& other) {
    // Fibers may still be switched to; so may the thread itself, if it forked in one.
    if (other.is_fiber || infos_[Raw(other.state.tid)].os_id == os_id) return;
    EndOf(&other);
    Join(t, &other);
  });
  infos_[Raw(t.state.tid)].os_id = OsThreadId();
  __atomic_store_n(&races_, 0, __ATOMIC_RELAXED);
  ForgetExpectedRaces();
}

void Runtime::LearnAll(Thread& t) {
  Gate::ForEachOther(t, [&](Thread& other) {
    if (other.era == era_) Changed(t, detector_.OnJoin(t.state, other.state));
  });
}

// ---- Accesses ----

void Runtime::LogLocks(Thread& t) {
  const auto count = static_cast<uint32_t>(t.locks.size());
  if (kIsBoxed) {
    if (count != 0) lock_names_.Add(t.state.held.id(), t.locks.begin(), count);  // unlocking need not change a label
  } else {
    const Epoch now = Detector::LabelOf(t.state);
    logs_[Raw(SlotOf(now)) % PackedAccess::kMaxSlots].Add(TimeOf(now), t.locks.begin(), count);
  }
  t.mode.locks_to_log = false;
}

bool Runtime::FindLocks(const AccessRecord& access, ContextId chain, LockLog::Entry& found) {
  if (kIsBoxed) return lock_names_.Find(access.locks, chain, found);
  const Epoch label{access.label};
  return logs_[Raw(SlotOf(label))].Find(TimeOf(label), chain, found);
}

bool Runtime::TakesShortcut(Thread& t, Detector::Cell& cell, PackedAccess mine, bool is_alone) {
  if (Watch::MayBeOn(&cell)) [[unlikely]]
    return false;
  const auto mix = [&](ContextId old, ContextId fresh, ByteMask fresh_bytes) {
    return t.Child(contexts_, old, ContextTree::Mixed(fresh, fresh_bytes));
  };
  return detector_.TakesShortcut(t.state, cell, mine, mix, is_alone);
}

bool Runtime::RacesAgain(Thread& t, Detector::Cell& cell, uint64_t granule, PackedAccess mine, bool is_alone) {
  const bool is_told = flags_.report_bugs && is_watching() && !t.refusal.is_settled && !IsAnyBenign();
  if (!is_told || Policies::are_on() || Watch::MayBeOn(&cell)) return false;
  uint32_t place = 0;
  const bool is_again = cell.RacesAgain(Detector::ClockOf(t.state), mine, is_alone, [&](PackedAccess earlier) {
    return IsFoundAgain(t, mine.context(), earlier.context(), kAllBytes, Addr{granule}, place);
  });
  if (!is_again) return false;
  Detector::CountRace(t.state);
  CountFoundAgain(t, place);
  return true;
}

ByteMask Runtime::Examine(Thread& t, uint64_t granule, ByteMask bytes, AccessKind kind, ContextId context,
                          IfRacy if_racy) {
  auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(granule));
  Access access{.granule = Addr{granule}, .bytes = bytes, .kind = kind, .if_racy = if_racy, .context = context};
  if (t.is_committing) access.origin = AccessOrigin::kTransaction;
  if (kIsBoxed) {
    if (FlagOf(contexts_.PlaceOf(contexts_.PartsOf(context).calls)) == PlaceFlag::kFree) {
      access.origin = AccessOrigin::kFree;
    }
    return detector_.OnAccess(t.state, cell, access, t.record);
  }
  const Regions::Stay stay(regions_, granule, kHasPlanes && kind == AccessKind::kRead);
  if (kHasPlanes && !kGoesByOrder && stay.is_reading()) LeavePlane(t, granule);
  return detector_.OnAccess(t.state, cell, access, t.record);
}

bool Runtime::ExamineCell(Thread& t, uint64_t granule, ByteMask bytes, AccessKind kind, ContextId context,
                          uint64_t addr, uint64_t size) {
  const IfRacy if_racy = IfRacyOf(t, addr, size);
  const ByteMask raced = Examine(t, granule, bytes, kind, context, if_racy);
  if (Any(raced)) {
    if (!Report(t, addr, size) && if_racy == IfRacy::kRefused)
      Examine(t, granule, bytes, kind, context, IfRacy::kGoesOn);
    return if_racy == IfRacy::kReported;
  }
  if (Watch::MayBeOn(shadow_.CellAt(granule))) [[unlikely]]
    Watch::See(*this, t, granule, bytes, kind, context, addr, size);
  return true;
}

bool Runtime::IgnoresLine(Thread& t, uint64_t granule, Detector::Cell& cell, PackedAccess label) {
  const MemoryLine line = LineOf(t, granule);
  const Regions::Stay stay(regions_, granule, kHasPlanes && label.kind() == AccessKind::kRead);
  if (line.IsMine() && line.Leave(cell, label, stay.is_owner())) return true;
  if (line.IsMine()) return true;  // it has a past, which is told of by nobody else
  if (!line.Share()) return false;
  const uint64_t begin = granule & ~(MemoryLine::kBytes - 1);
  for (uint64_t at = begin; at < begin + MemoryLine::kBytes; at += kGranule) {
    detector_.Forget(*static_cast<Detector::Cell*>(shadow_.CellAt(at)), kAllBytes);
  }
  return false;
}

// Longer ones than the compiler's calls before an access are ranges, which leave no labels: to look at their lines again the next time takes less.
static constexpr uint64_t kMostAtOnce = 16;

uint64_t Runtime::SkipOwnLines(const Thread& t, uint64_t addr, uint64_t end) const {
  while (addr < end && LineOf(t, addr).IsMine()) addr = (addr | (MemoryLine::kBytes - 1)) + 1;
  return addr;
}

// Lines that lie wholly in the range are as if never touched.
void Runtime::ForgetLines(uint64_t addr, uint64_t bytes) {
  const uint64_t first = (addr + MemoryLine::kBytes - 1) & ~(MemoryLine::kBytes - 1);
  for (uint64_t at = first; at + MemoryLine::kBytes <= addr + bytes; at += MemoryLine::kBytes) {
    __atomic_store_n(shadow_.LineAt(at), 0, __ATOMIC_RELEASE);
  }
}

// The part of [addr, end) that is quickly recorded: where it ends. All of it is in one region.
template <AccessKind kKind>
uint64_t Runtime::RecordQuickly(Thread& t, uint64_t addr, uint64_t end, ContextId context) {
  const Regions::Stay stay(regions_, addr, kHasPlanes && kKind == AccessKind::kRead);
  const uint64_t label = t.now | uint64_t{Raw(kKind)} << PackedAccess::kKindShift | Raw(context);
  const bool in_plane = kHasPlanes && kKind == AccessKind::kRead && stay.is_reading();
  while (addr < end) {
    auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(addr));
    const bool is_whole = addr % kGranule == 0 && end - addr >= kGranule;
    const ByteMask bytes = is_whole ? kAllBytes : MaskOf(Addr{addr}, end - addr);
    const PackedAccess mine(label | uint64_t{Raw(bytes)} << PackedAccess::kBytesShift);
    if (kIgnoresLines && !LineOf(t, addr).IsShared()) break;
    if (in_plane) {
      uint64_t* word = regions_.PlaneWord(addr, mine.slot());
      if (word == nullptr) break;
      if (!PackedAccess(*word).Covers(mine)) {
        if (!ReadsInPlane(t, addr & ~(kGranule - 1), word, mine)) break;
        Detector::Count(t.state, kKind);
      }
    } else if (!cell.CoversInPlace(mine) && !cell.CoversAtHome(mine) &&
               (!cell.Load().has_all_raced() || Watch::MayBeOn(&cell))) {
      const auto& clock = Detector::ClockOf(t.state);
      const bool is_recorded = cell.RecordsQuickly<kKind>(clock, mine, stay.is_owner()) ||
                               (!is_whole && cell.RecordsBeside(clock, mine, stay.is_owner())) ||
                               (stay.is_owner() && cell.GoesOn(clock, mine)) ||
                               (!IsWrite(kKind) && cell.Refresh(clock, mine, stay.is_owner()));
      if (!is_recorded) break;
      Detector::Count(t.state, kKind);
    }
    addr = (addr | (kGranule - 1)) + 1;
  }
  return addr;
}

bool Runtime::IsWatched(Thread& t, AccessKind kind, uint64_t place) {
  if (t.mode.takes_lock) SettleLock(t, place);
  return !t.Ignores(kind);
}

void Runtime::AccessRange(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind, uint64_t place) {
  if ((t.ModeWord() & Thread::UnusualModes()) != 0 && !IsWatched(t, kind, place)) [[unlikely]]
    return;
  if (bytes == 0) return;
  if (Recorder::is_on() && !IsAtomic(kind)) [[unlikely]]
    return RecordRange(t, addr, bytes, kind, place);
  ExamineRange(t, addr, bytes, kind, place);
}

template <bool kIsWrite>
uint64_t Runtime::SkipKnown(uint64_t addr, uint64_t end) {
  while (addr < end) {
    const uint64_t here = Regions::EndOf(addr) < end ? Regions::EndOf(addr) : end;
    const auto* word =
        reinterpret_cast<const uint64_t*>(local.cells + (addr & local.fold & ~(kGranule - 1)) * 2) + (kIsWrite ? 0 : 1);
    int step = 2;
    if constexpr (kHasPlanes && !kIsWrite) {
      if (const uint64_t* plane = Planes::Recall(local.planes, addr)) {
        word = plane;
        step = 1;
      }
    }
    for (; addr < here; addr = (addr | (kGranule - 1)) + 1, word += step) {
      const uint64_t needed = Raw(MaskOf(Addr{addr}, here - addr));
      if (!IsHit(DifferenceToTag<kIsWrite>(__atomic_load_n(word, __ATOMIC_RELAXED)), needed)) return addr;
    }
  }
  return addr;
}

void Runtime::ExamineRange(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind, uint64_t place) {
  if (t.refusal.can_refuse && (addr ^ (addr + bytes - 1)) >= kGranule && IsRefused(t, addr, bytes, kind, place))
      [[unlikely]]
    return;
  ContextId context = kNoContext;
  const uint64_t end = addr + bytes;
  for (uint64_t at = addr; at < end; at = (at | (kGranule - 1)) + 1) {
    if (!kIsBoxed && !IsAtomic(kind)) {
      if (kIgnoresLines && bytes > kMostAtOnce) at = SkipOwnLines(t, at, end);
      if (at < end) at = IsWrite(kind) ? SkipKnown<true>(at, end) : SkipKnown<false>(at, end);
      if (at >= end) return;
    }
    const bool is_recorded = !kIsBoxed && !IsAtomic(kind) && !(kIgnoresLines && !LineOf(t, at).IsShared());
    if (is_recorded && context == kNoContext) {
      context = ContextToRecord(t, place);
      if (context == kIgnoredContext) return;
    }
    if (is_recorded) {
      const uint64_t here = Regions::EndOf(at) < end ? Regions::EndOf(at) : end;
      at = IsWrite(kind) ? RecordQuickly<AccessKind::kWrite>(t, at, here, context)
                         : RecordQuickly<AccessKind::kRead>(t, at, here, context);
      if (at >= end) return;
    }
    AccessCell<false>(t, at & ~(kGranule - 1), MaskOf(Addr{at}, end - at), kind, place, context, addr, bytes);
    if (context == kIgnoredContext || t.refusal.pending != 0) return;
  }
}

// Does the thread come after what has this label? Asked of detectors to whom nothing matters but that.
template <class D>
static bool ComesAfter(const typename D::Thread& t, uint64_t label) {
  if constexpr (kGoesByOrder) {
    return D::ClockOf(t).Knows(Epoch{label});
  } else {
    return false;
  }
}

bool Runtime::IsOrderedFree(const Thread& t, const AccessRecord& access, PlaceFlag flag) {
  return flag == PlaceFlag::kFree && ComesAfter<Detector>(t.state, access.label);
}

// Is the race of t.record a use of freed memory that is ordered after the free, and the memory something else by now, of whose beginning nobody
// was told?
bool Runtime::IsUsedAgain(Thread& t) {
  const AccessRecord& free = t.record.earlier[0];
  if (!IsOrderedFree(t, free, FlagOf(contexts_.PlaceOf(contexts_.PartsOf(free.context).calls)))) return false;
  BlockInfo block;
  OwnedMemory owned;
  return FindBlock(Raw(t.record.granule), block) || FindOwner(*this, Raw(t.record.granule), owned);
}

// Does the user want to hear of the race, which has been told?
static bool IsWanted(const Flags& flags, const ToldRace& told) {
  if (!told.is_news()) return !told.is_suppressed;
  if (!LooksSuppressed(flags)) return true;
  MarkSuppressed(told.sequence);
  return false;
}

bool Runtime::Report(Thread& t, uint64_t addr, uint64_t bytes) {
  if (!flags_.report_bugs || !is_watching() || t.refusal.is_settled || IsBenign(t.record)) return false;
  if (IsUsedAgain(t)) return false;
  if (!flags_.report_atomic_races && (IsAtomic(t.record.access.kind) || IsAtomic(t.record.earlier[0].kind)))
    return false;
  if (Recorder::is_on()) [[unlikely]]
    NoteTold(t);
  const ToldRace told = EmitRace(*this, t, addr, bytes);
  if (told.is_news()) {
    if (flags_.watch_ms > 0 && !told.is_on_stack) {
      const uint64_t granule = Raw(t.record.granule);
      Watch::Begin(granule, shadow_.CellAt(granule), t.record.bytes, told.sequence);
    }
    __atomic_fetch_add(&races_, 1, __ATOMIC_RELAXED);
    TellProgram(*this, t, addr, bytes);
  }
  if (!told.is_news() && !Policies::act_at_once()) return false;  // most are not: all threads would wait for one lock
  const Policy policy = Policies::Find(t.refusal.own, t.policy, addr, bytes);
  if (IsForEach(policy.on_race)) [[unlikely]]
    return IsWanted(flags_, told) && Refuse(t, addr, bytes, policy, told.is_news());
  if (told.is_news()) StopAtRace(*this, t, addr, bytes, ActionOf(policy.on_race));
  return false;
}

}  // namespace redflag::rt
