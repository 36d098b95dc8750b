// Account: a message (message.h) that tells what happened: a race, something that is misused, what was done to a variable after its race. Every access comes with its stack and
// locks; if that is more than a message can hold, with less.
//
// How it reaches the helper process is the business of emit.cc, under whose lock accounts are made.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "events/race_record.h"
#include "events/wire.h"
#include "intercept/file_objects.h"
#include "runtime/lock_log.h"
#include "runtime/message.h"
#include "runtime/owner.h"
#include "runtime/runtime.h"
#include "runtime/stack_calls.h"
#include "runtime/watch.h"

namespace redflag::rt {

struct Misuse;  // emit.h

// What the racy bytes are part of.
struct Whereabouts {
  Whereabouts(Runtime& runtime, const RaceRecord& record)
      : first(Raw(record.granule) + static_cast<uint64_t>(__builtin_ctz(Raw(record.bytes) | 0x100))),
        descriptor(DescriptorAt(first)),
        is_on_heap(descriptor < 0 && runtime.FindBlock(first, block)),
        is_owned(descriptor < 0 && !is_on_heap && FindOwner(runtime, first, owned)) {}

  bool is_on_stack() const { return is_owned && owned.place == wire::Place::kStack; }

  BlockInfo block = {};
  OwnedMemory owned;
  uint64_t first;  // of the bytes
  int descriptor;  // of a file; -1: none
  bool is_on_heap;
  bool is_owned;
};

class Account : public Message {
 public:
  // The race of t.record, under this number; [addr, addr + bytes) is the access that completed it.
  void TellRace(Runtime& runtime, Thread& t, uint64_t sequence, uint64_t addr, uint64_t bytes,
                const Whereabouts& where);
  // `owned`: what the lock is part of; null: not known, or there is none.
  void TellMisuse(Runtime& runtime, const Misuse& misuse, uint64_t sequence, const OwnedMemory* owned);
  void TellWatched(Runtime& runtime, const Watched& watched);

  // To a message of any kind.
  void AddStack(Runtime& runtime, ContextId context);

 private:
  template <class Tell>
  void TellAsMuchAsFits(Tell tell);
  void AddRace(Runtime& runtime, Thread& t, uint64_t sequence, uint64_t addr, uint64_t bytes, const Whereabouts& where);
  void AddCalls();
  void AddAccess(Runtime& runtime, Thread& reporting, const RaceRecord& record, const AccessRecord& access,
                 uint64_t addr, uint64_t bytes, bool is_reporting);
  void AddSeen(Runtime& runtime, const Watched::Seen& seen);
  void AddStackAndLocks(Runtime& runtime, wire::AccessHead head, ContextId context, const HeldAt* locks);
  void AddWaiter(Runtime& runtime, const Waiter& waiter);

  // What there is of each access: all, or if it does not fit, less.
  struct Most {
    uint32_t frames = wire::kMaxFrames;
    uint32_t locks = 64;
  };
  Most most_;
  LockLog::Entry entry_;  // the locks of an earlier access
  StackCalls calls_;      // next to the bytes, if they are on a stack
  bool has_calls_ = false;
};

}  // namespace redflag::rt
