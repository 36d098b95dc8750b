#include "runtime/recorder.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/arch.h"
#include "runtime/context_tree.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"
#include "runtime/shared_memory.h"

namespace redflag::rt {
namespace {

// Of a line: who had it last, and whether somebody holds it now.
constexpr uint32_t kHeld = 1;

// By context: has some block said what it is?
uint64_t defined[(uint64_t{ContextTree::kMaxNodes} + 64) / 64];

bool IsDefined(uint32_t context) {
  return (__atomic_load_n(&defined[context / 64], __ATOMIC_RELAXED) >> (context % 64) & 1) != 0;
}
// False: somebody else has defined it.
bool MarkDefined(uint32_t context) {
  const uint64_t bit = uint64_t{1} << (context % 64);
  return (__atomic_fetch_or(&defined[context / 64], bit, __ATOMIC_RELAXED) & bit) == 0;
}

void Wake(uint32_t* counter) {
  __atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
  arch::Syscall(SYS_futex, reinterpret_cast<int64_t>(counter), FUTEX_WAKE, 1);
}

// A tenth of a second at most.
void Sleep(uint32_t* counter, uint32_t seen) {
  timespec wait = {.tv_sec = 0, .tv_nsec = 100'000'000};
  arch::Syscall(SYS_futex, reinterpret_cast<int64_t>(counter), FUTEX_WAIT, seen, reinterpret_cast<int64_t>(&wait));
}
constexpr int kPatience = 300;  // of those sleeps, without anything happening

}  // namespace

constinit bool Recorder::is_on_ = false;
constinit TraceShare* Recorder::share_ = nullptr;
constinit AtomicMem::Lock Recorder::lock_;
constinit uint32_t Recorder::lines_[kLines] = {};

// ---- Beginning and end ----

int64_t Recorder::OpenShare() {
  const int64_t shared = NewSharedMemory("redflag-trace", kShareBytes);
  const int64_t mapped = shared < 0 ? shared
                                    : arch::Syscall(SYS_mmap, 0, kShareBytes, PROT_READ | PROT_WRITE,
                                                    MAP_SHARED | MAP_NORESERVE, shared, 0);
  if (mapped < 0 && mapped >= -4095) {
    Complain("Redflag: nothing is recorded: there is no memory to share with the helper process");
    if (shared >= 0) arch::Syscall(SYS_close, shared);
    return -1;
  }
  share_ = reinterpret_cast<TraceShare*>(mapped);
  share_->slots = kSlots;
  __atomic_store_n(&share_->magic, TraceShare::kMagic, __ATOMIC_RELEASE);
  return shared;
}

void Recorder::Begin() {
  if (share_ != nullptr) __atomic_store_n(&is_on_, true, __ATOMIC_RELEASE);
}

void Recorder::End() {
  if (share_ == nullptr) return;
  const bool was_on = __atomic_exchange_n(&is_on_, false, __ATOMIC_ACQ_REL);
  __atomic_store_n(&share_->done, 1, __ATOMIC_RELEASE);
  Wake(&share_->filled);
  if (!was_on) return;
  uint32_t emptied = __atomic_load_n(&share_->emptied, __ATOMIC_ACQUIRE);
  for (int idle = 0; idle < kPatience; ++idle) {
    if (__atomic_load_n(&share_->closed, __ATOMIC_ACQUIRE) != 0) return;
    Sleep(&share_->closed, 0);
    const uint32_t now = __atomic_load_n(&share_->emptied, __ATOMIC_ACQUIRE);
    if (now != emptied) idle = 0;
    emptied = now;
  }
  Complain("Redflag: the helper process did not finish the recording in time");
}

void Recorder::Forget() {
  if (share_ == nullptr) return;
  __atomic_store_n(&is_on_, false, __ATOMIC_RELAXED);
  arch::Syscall(SYS_munmap, reinterpret_cast<int64_t>(share_), kShareBytes);
  share_ = nullptr;
  lock_ = {};
  for (uint32_t& line : lines_) line = 0;
  for (uint64_t& word : defined) word = 0;
}

void Recorder::GiveUp(const char* why) {
  if (__atomic_exchange_n(&is_on_, false, __ATOMIC_ACQ_REL)) {
    Complain("Redflag: no more of this program is recorded: ", why);
  }
}

// ---- Blocks ----

Recording* Recorder::Of(Thread& t) {
  if (t.recording == nullptr) {
    t.recording = ::new (Runtime::Get().arena().Allocate(sizeof(Recording))) Recording();
  }
  return t.recording;
}

// Null: all are in use, and the helper has enough to do.
TraceSlot* Recorder::FindSlot() {
  const uint32_t used = share_->used;
  for (uint32_t i = 0; i < used; ++i) {
    TraceSlot* slot = SlotAt(i);
    if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == TraceSlot::kFree) return slot;
  }
  const auto waiting = static_cast<uint32_t>(share_->tickets) - __atomic_load_n(&share_->emptied, __ATOMIC_RELAXED);
  if (waiting >= kMaxWaiting || used == kSlots) return nullptr;
  return SlotAt(used);
}

void Recorder::Publish(Recording& recording) {
  TraceSlot* slot = recording.slot;
  recording.slot = nullptr;
  {
    ScopedLock guard(lock_);
    slot->ticket = share_->tickets + 1;
    __atomic_store_n(&slot->state, TraceSlot::kFull, __ATOMIC_RELEASE);
    __atomic_store_n(&share_->tickets, slot->ticket, __ATOMIC_RELEASE);
  }
  Wake(&share_->filled);
}

bool Recorder::MakeRoom(Thread& t, Recording& recording) {
  if (HasRoom(recording)) [[likely]]
    return true;
  if (recording.slot != nullptr) Publish(recording);
  uint32_t seen = __atomic_load_n(&share_->emptied, __ATOMIC_ACQUIRE);
  for (int idle = 0;; ++idle) {
    if (!is_on()) return false;
    if (__atomic_load_n(&share_->closed, __ATOMIC_ACQUIRE) != 0) {
      GiveUp("the helper process can't write it");
      return false;
    }
    {
      ScopedLock guard(lock_);
      if (TraceSlot* slot = FindSlot(); slot != nullptr) {
        slot->thread = Raw(t.state.tid);
        slot->first_stamp = slot->last_stamp = slot->pending = 0;
        slot->events = slot->bytes = 0;
        __atomic_store_n(&slot->state, TraceSlot::kFilling, __ATOMIC_RELEASE);
        if (slot == SlotAt(share_->used)) __atomic_store_n(&share_->used, share_->used + 1, __ATOMIC_RELEASE);
        recording.slot = slot;
        break;
      }
    }
    if (idle == kPatience) {
      GiveUp("the helper process does not take it");
      return false;
    }
    Sleep(&share_->emptied, seen);
    const uint32_t now = __atomic_load_n(&share_->emptied, __ATOMIC_ACQUIRE);
    if (now != seen) idle = 0;
    seen = now;
  }
  recording.at = reinterpret_cast<uint8_t*>(recording.slot) + (kTraceSlotBytes - kTraceSlotRoom);
  recording.end = recording.at + kTraceSlotRoom;
  recording.needs_stamp = true;
  recording.state = BlockState();
  return true;
}

void Recorder::Close(Thread& t) {
  if (t.recording == nullptr) return;
  if (t.recording->slot != nullptr && share_ != nullptr) Publish(*t.recording);
  Runtime::Get().arena().Free(t.recording, sizeof(Recording));
  t.recording = nullptr;
}

// ---- Events ----

// Whoever looks at `stamp` afterwards and finds this one taken also finds it pending, until its event is there.
uint64_t Recorder::TakeStamp(Recording& recording) {
  __atomic_store_n(&recording.slot->pending, __atomic_load_n(&share_->stamp, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
  recording.needs_stamp = false;
  return __atomic_add_fetch(&share_->stamp, 1, __ATOMIC_SEQ_CST);
}

void Recorder::Commit(Recording& recording, uint8_t* end, uint64_t stamp, bool is_event) {
  TraceSlot* slot = recording.slot;
  slot->events += is_event ? 1 : 0;
  if (stamp != kNoStamp) {
    if (slot->first_stamp == 0) slot->first_stamp = stamp;
    slot->last_stamp = stamp;
  }
  const auto* begin = reinterpret_cast<const uint8_t*>(slot) + (kTraceSlotBytes - kTraceSlotRoom);
  __atomic_store_n(&slot->bytes, static_cast<uint32_t>(end - begin), __ATOMIC_RELEASE);
  if (stamp != kNoStamp) __atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
  recording.at = end;
}

bool Recorder::Prepare(Thread& t, const ContextTree& tree, ContextId context) {
  Recording& recording = *Of(t);
  if (!MakeRoom(t, recording)) return false;
  if (!IsDefined(Raw(context))) [[unlikely]]
    Define(t, recording, tree, context);
  return recording.slot != nullptr;
}

void Recorder::Define(Thread& t, Recording& recording, const ContextTree& tree, ContextId context) {
  while (context != kNoContext && MarkDefined(Raw(context))) {
    if (!MakeRoom(t, recording)) return;
    const uint64_t place = tree.PlaceOf(context);
    Commit(recording, PutContext(recording.at, Raw(context), Raw(tree.CallerOf(context)), place), kNoStamp, false);
    if (FlagOf(place) == PlaceFlag::kUnder || FlagOf(place) == PlaceFlag::kHeld) {
      Define(t, recording, tree, ContextId{static_cast<uint32_t>(place)});
    }
    context = tree.CallerOf(context);
  }
  MakeRoom(t, recording);
}

void Recorder::Access(Thread& t, bool is_write, uint64_t addr, uint64_t size, ContextId context, bool needs_stamp) {
  Recording& recording = *t.recording;
  const uint64_t stamp = needs_stamp || recording.needs_stamp ? TakeStamp(recording) : kNoStamp;
  Commit(recording, PutAccess(recording.state, recording.at, is_write, addr, size, Raw(context), stamp), stamp, true);
}

void Recorder::Note(Thread& t, Event event) {
  Recording& recording = *Of(t);
  if (!MakeRoom(t, recording)) return;
  const uint64_t stamp = TakeStamp(recording);
  Commit(recording, PutOther(recording.state, recording.at, event, stamp), stamp, true);
}

void Recorder::NoteOfLast(Thread& t, Event event) {
  Recording& recording = *Of(t);
  if (!MakeRoom(t, recording)) return;
  const uint64_t stamp = recording.needs_stamp ? TakeStamp(recording) : kNoStamp;
  Commit(recording, PutOther(recording.state, recording.at, event, stamp), stamp, true);
}

// ---- Lines ----

void Recorder::ForgetLines() {
  for (uint32_t& line : lines_) line = 0;
}

[[gnu::always_inline]] inline void Lines::TakeOne(uint32_t index) {
  uint32_t& line = Recorder::lines_[index];
  AtomicMem::Wait wait;
  for (;;) {
    uint32_t seen = __atomic_load_n(&line, __ATOMIC_RELAXED);
    if ((seen & kHeld) == 0 &&
        __atomic_compare_exchange_n(&line, &seen, owner_ | kHeld, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      changed_hands_ |= seen != owner_;
      return;
    }
    if ((seen & kHeld) != 0) wait.Once();
  }
}

// In the order of the table, so that two who take several do not wait for each other.
void Lines::Take(Thread& t, uint64_t addr, uint64_t bytes) {
  constexpr uint64_t kLine = 64;
  const uint64_t count = (addr + bytes - 1) / kLine - addr / kLine + 1;
  owner_ = (Raw(t.state.tid) + 1) << 1;
  if (count == 1) [[likely]] {
    count_ = 1;
    first_ = static_cast<uint32_t>(addr / kLine % Recorder::kLines);
    return TakeOne(first_);
  }
  count_ = count < Recorder::kLines ? static_cast<uint32_t>(count) : Recorder::kLines;
  first_ = count_ == Recorder::kLines ? 0 : static_cast<uint32_t>(addr / kLine % Recorder::kLines);
  const uint32_t to_end = Recorder::kLines - first_;
  for (uint32_t i = to_end; i < count_; ++i) TakeOne(i - to_end);
  for (uint32_t i = 0; i < count_ && i < to_end; ++i) TakeOne(first_ + i);
}

void Lines::Release() {
  for (uint32_t i = 0; i < count_; ++i) {
    __atomic_store_n(&Recorder::lines_[(first_ + i) % Recorder::kLines], owner_, __ATOMIC_RELEASE);
  }
}

}  // namespace redflag::rt
