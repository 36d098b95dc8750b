// Recorder: writes down what the program does while the detector watches it, in blocks of shared memory that the helper process takes and
// puts into a file (events/trace_block.h). So a run can be looked at again, with any detector.
//
// What order is kept. Each thread writes for itself. Where threads meet, events get stamps: everything that synchronizes has one, taken
// while the object's lock is held; and an access has one if the line of memory (64 bytes) was somebody else's before. A thread holds
// its lines (Lines) while an access is examined by the detector and written down, so that the order of the stamps is the order in which
// the detector saw the accesses: whoever replays the trace comes to the same result.
//
// Locks: lines first, then those of synchronization objects, then the detector's. While recording is on, no access is decided by a
// filter (Runtime::Retag); all come to Runtime::AccessRange.
#pragma once

#include <cstdint>

#include "base/mem.h"
#include "events/access.h"
#include "events/trace_block.h"

namespace redflag::rt {

class ContextTree;
class Thread;

// A thread's part.
struct Recording {
  TraceSlot* slot = nullptr;
  uint8_t* at = nullptr;
  uint8_t* end = nullptr;
  bool needs_stamp = true;  // the first event of a block has one
  BlockState state;
};

class Recorder {
 public:
  static bool is_on() { return __atomic_load_n(&is_on_, __ATOMIC_RELAXED); }

  // The memory that the helper gets, before it is started: a descriptor, or negative.
  static int64_t OpenShare();
  // From now on, all that happens.
  static void Begin();
  // No more of it; the helper has written everything when this returns, or can't.
  static void End();
  // After a fork, in the child: what was shared is the parent's.
  static void Forget();
  static bool is_open() { return share_ != nullptr; }

  // Before lines or locks are taken: room for an event, and the contexts that it will name are known to the reader. False: nothing can be
  // recorded any more.
  static bool Prepare(Thread& t, const ContextTree& tree, ContextId context);

  static void Access(Thread& t, bool is_write, uint64_t addr, uint64_t size, ContextId context, bool needs_stamp);
  // Everything else has a stamp; but what is said of the event before, which has not.
  static void Note(Thread& t, Event event);
  static void NoteOfLast(Thread& t, Event event);

  // The thread writes nothing more.
  static void Close(Thread& t);

  // Nobody is in the runtime: lines are nobody's.
  static void ForgetLines();

 private:
  friend class Lines;
  static constexpr uint32_t kLines = 1u << 16;
  static constexpr uint32_t kSlots = 1u << 14;
  static constexpr uint32_t kMaxWaiting = 64;  // blocks that the helper has not taken yet; who has more to say waits
  static constexpr uint64_t kShareBytes = kTraceShareBytes + uint64_t{kSlots} * kTraceSlotBytes;

  static TraceSlot* SlotAt(uint32_t index) {
    return reinterpret_cast<TraceSlot*>(reinterpret_cast<char*>(share_) + kTraceShareBytes +
                                        uint64_t{index} * kTraceSlotBytes);
  }
  static bool HasRoom(const Recording& recording) {
    constexpr int64_t kReserve = 4 * kMaxRecord;
    return recording.slot != nullptr && recording.end - recording.at >= kReserve;
  }
  static Recording* Of(Thread& t);
  static bool MakeRoom(Thread& t, Recording& recording);
  static TraceSlot* FindSlot();
  static void Publish(Recording& recording);
  static void GiveUp(const char* why);
  static void Define(Thread& t, Recording& recording, const ContextTree& tree, ContextId context);
  static uint64_t TakeStamp(Recording& recording);
  static void Commit(Recording& recording, uint8_t* end, uint64_t stamp, bool is_event);

  static bool is_on_;
  static TraceShare* share_;
  static AtomicMem::Lock lock_;  // of the slots
  static uint32_t lines_[kLines];
};

// The lines of [addr, addr + bytes), held. Nothing, if nothing is recorded.
class Lines {
 public:
  Lines(Thread& t, uint64_t addr, uint64_t bytes) {
    if (Recorder::is_on() && bytes != 0) [[unlikely]]
      Take(t, addr, bytes);
  }
  ~Lines() {
    if (count_ != 0) [[unlikely]]
      Release();
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // Was one of them somebody else's?
  bool changed_hands() const { return changed_hands_; }

 private:
  [[gnu::noinline]] void Take(Thread& t, uint64_t addr, uint64_t bytes);
  [[gnu::noinline]] void Release();
  void TakeOne(uint32_t index);

  uint32_t first_ = 0;
  uint32_t count_ = 0;  // beginning at first_, and from the beginning of the table again after its end
  uint32_t owner_ = 0;
  bool changed_hands_ = false;
};

}  // namespace redflag::rt
