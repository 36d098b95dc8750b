#include "runtime/account.h"

#include "runtime/emit.h"

namespace redflag::rt {

template <class Tell>
void Account::TellAsMuchAsFits(Tell tell) {
  static constexpr Most kMost[] = {{wire::kMaxFrames, 64}, {128, 16}, {32, 8}, {8, 8}, {2, 4}};
  for (const Most& most : kMost) {
    most_ = most;
    tell();
    if (is_whole()) break;
  }
  most_ = kMost[0];
}

void Account::TellRace(Runtime& runtime, Thread& t, uint64_t sequence, uint64_t addr, uint64_t bytes,
                       const Whereabouts& where) {
  has_calls_ = where.is_on_stack() && FindCalls(where.owned, where.first, calls_);
  TellAsMuchAsFits([&] { AddRace(runtime, t, sequence, addr, bytes, where); });
}

void Account::TellMisuse(Runtime& runtime, const Misuse& misuse, uint64_t sequence, const OwnedMemory* owned) {
  const uint64_t waiters = misuse.cycle == nullptr ? 0 : misuse.cycle->size();
  TellAsMuchAsFits([&] {
    Begin(wire::MessageType::kMisuse);
    Add(wire::Misuse{.sequence = sequence,
                     .object = misuse.lock,
                     .thread = Raw(misuse.thread),
                     .flaw = misuse.flaw,
                     .place = owned != nullptr ? owned->place : wire::Place::kUnknown,
                     .waiter_count = static_cast<uint16_t>(waiters),
                     .place_thread = owned != nullptr ? Raw(owned->thread) : 0,
                     .number = misuse.number});
    AddStack(runtime, misuse.where);
    AddStack(runtime, misuse.taken_at);
    AddStack(runtime, misuse.made_at);
    for (uint64_t i = 0; i < waiters; ++i) AddWaiter(runtime, (*misuse.cycle)[i]);
  });
}

void Account::TellWatched(Runtime& runtime, const Watched& watched) {
  TellAsMuchAsFits([&] {
    Begin(wire::MessageType::kWatched);
    Add(wire::Watched{.sequence = watched.sequence, .access_count = watched.count});
    for (uint32_t i = 0; i < watched.count; ++i) AddSeen(runtime, watched.seen[i]);
  });
}

void Account::AddStack(Runtime& runtime, ContextId context) {
  ContextTree& tree = runtime.contexts();
  context = tree.PartsOf(context).calls;
  uint32_t frames = 0;
  ContextId at = context;
  for (; at != kNoContext && frames < most_.frames; at = tree.CallerOf(at)) ++frames;
  const bool is_truncated = at != kNoContext || context == ContextTree::kFull;
  Add(wire::Stack{.frames = frames, .truncated = is_truncated ? 1u : 0u});
  at = context;
  for (uint32_t i = 0; i < frames; ++i, at = tree.CallerOf(at)) Add(tree.PlaceOf(at) & kPlaceMask);
}

void Account::AddAccess(Runtime& runtime, Thread& reporting, const RaceRecord& record, const AccessRecord& access,
                        uint64_t addr, uint64_t bytes, bool is_reporting) {
  const ContextTree::Parts parts = runtime.contexts().PartsOf(access.context);
  const uint64_t place = runtime.contexts().PlaceOf(parts.calls);
  const PlaceFlag flag = FlagOf(place);
  wire::AccessHead head = {};
  if (is_reporting) {
    head.address = addr;
    head.size = static_cast<uint32_t>(bytes);
  } else {
    head.address = Raw(record.granule) + static_cast<uint64_t>(__builtin_ctz(Raw(access.bytes) | 0x100));
    head.size = static_cast<uint32_t>(__builtin_popcount(Raw(access.bytes)));
  }
  head.thread = Raw(access.thread);
  head.kind = access.kind;
  head.origin = flag == PlaceFlag::kAlloc  ? AccessOrigin::kAlloc
                : flag == PlaceFlag::kFree ? AccessOrigin::kFree
                                           : AccessOrigin::kProgram;
  head.flags = flag == PlaceFlag::kVptr ? wire::kVptr : static_cast<uint16_t>(TagOfPlace(place) << wire::kTagShift);

  const HeldAt* locks = entry_.locks;
  const bool is_unknown = access.thread == kNoThread;  // who it was that raced with a tolerant section
  if (is_reporting) {
    locks = reporting.locks.begin();
    head.lock_count = static_cast<uint32_t>(reporting.locks.size());
  } else if (parts.chain == kNoContext && !is_unknown) {
    head.lock_count = 0;
  } else if (!is_unknown && runtime.FindLocks(access, parts.chain, entry_)) {
    head.lock_count = entry_.count < LockLog::kMaxLocks ? entry_.count : LockLog::kMaxLocks;
    if (entry_.count > LockLog::kMaxLocks) head.flags |= wire::kLocksUnknown;
  } else {
    head.lock_count = 0;
    head.flags |= wire::kLocksUnknown;
  }
  if (head.lock_count > most_.locks) {
    head.lock_count = most_.locks;
    head.flags |= wire::kLocksUnknown;
  }
  wire::Known known;
  wire::Weak weak;
  const bool is_ordered = !is_reporting && !is_unknown && Runtime::IsOrderedFree(reporting, access, flag);
  if (is_ordered) {
    head.flags |= wire::kOrdered;
  } else if (!is_reporting && !is_unknown && runtime.FindKnown(reporting, access, known)) {
    head.flags |= wire::kHasKnown;
  }
  if (!is_reporting && !is_unknown && !is_ordered && runtime.FindWeak(reporting, access, weak)) {
    head.flags |= wire::kHasWeak;
  }
  wire::Owner owners[wire::kMaxOwners];
  wire::Owners owned = {};
  if (&access == &record.earlier[0] && !is_unknown && !is_ordered) {
    owned.count = runtime.FindOwners(reporting, access, owners, owned.more);
    if (owned.count != 0) head.flags |= wire::kHasOwners;
  }
  AddStackAndLocks(runtime, head, access.context, locks);
  if ((head.flags & wire::kHasKnown) != 0) Add(known);
  if ((head.flags & wire::kHasWeak) != 0) Add(weak);
  if ((head.flags & wire::kHasOwners) != 0) {
    Add(owned);
    for (uint32_t i = 0; i < owned.count; ++i) Add(owners[i]);
  }
}

void Account::AddStackAndLocks(Runtime& runtime, wire::AccessHead head, ContextId context, const HeldAt* locks) {
  Add(head);
  AddStack(runtime, context);
  for (uint32_t i = 0; i < head.lock_count; ++i) {
    Add(wire::Lock{.address = locks[i].address, .shared = locks[i].mode == LockMode::kShared ? 1u : 0u, .stacks = 2});
    AddStack(runtime, locks[i].context);
    AddStack(runtime, runtime.WhereMade(locks[i].address));
  }
}

void Account::AddSeen(Runtime& runtime, const Watched::Seen& seen) {
  const uint32_t named = seen.locks.count < LockLog::kMaxLocks ? seen.locks.count : LockLog::kMaxLocks;
  const wire::AccessHead head{.address = seen.addr,
                              .size = seen.bytes,
                              .thread = Raw(seen.thread),
                              .kind = seen.kind,
                              .origin = AccessOrigin::kProgram,
                              .flags = named < seen.locks.count ? wire::kLocksUnknown : uint16_t{0},
                              .lock_count = named,
                              .value = 0};
  AddStackAndLocks(runtime, head, seen.context, seen.locks.locks);
}

void Account::AddCalls() {
  Add(wire::Calls{.slot_count = calls_.slot_count, .return_count = calls_.return_count});
  for (uint32_t i = 0; i < calls_.slot_count; ++i) Add(calls_.slots[i]);
  for (uint32_t i = 0; i < calls_.return_count; ++i) Add(calls_.returns[i]);
}

void Account::AddRace(Runtime& runtime, Thread& t, uint64_t sequence, uint64_t addr, uint64_t bytes,
                      const Whereabouts& where) {
  const RaceRecord& record = t.record;
  Begin(wire::MessageType::kRace);
  Add(wire::Race{.sequence = sequence,
                 .address = where.first,
                 .bytes = static_cast<uint32_t>(__builtin_popcount(Raw(record.bytes))),
                 .access_count = record.earlier_count + 1,
                 .accesses_found = record.earlier_total + 1,
                 .parts = where.is_on_heap || where.is_owned || where.descriptor >= 0 ? wire::kHasBlock : 0});
  if (where.is_on_heap) {
    Add(wire::Block{.begin = where.block.begin,
                    .bytes = where.block.bytes,
                    .thread = Raw(where.block.thread),
                    .place = wire::Place::kHeap,
                    .freed = 0,
                    .has_stack = 1,
                    .has_calls = 0});
    AddStack(runtime, where.block.context);
  } else if (where.descriptor >= 0) {
    Add(wire::Block{.begin = static_cast<uint64_t>(where.descriptor),
                    .bytes = 0,
                    .thread = wire::kNoThread,
                    .place = wire::Place::kDescriptor,
                    .freed = 0,
                    .has_stack = 0,
                    .has_calls = 0});
  } else if (where.is_owned) {
    Add(wire::Block{.begin = where.owned.place == wire::Place::kTls ? where.owned.thread_pointer : 0,
                    .bytes = 0,
                    .thread = Raw(where.owned.thread),
                    .place = where.owned.place,
                    .freed = 0,
                    .has_stack = 0,
                    .has_calls = has_calls_ ? uint8_t{1} : uint8_t{0}});
    if (has_calls_) AddCalls();
  }
  AddAccess(runtime, t, record, record.access, addr, bytes, true);
  for (uint32_t i = 0; i < record.earlier_count; ++i) {
    AddAccess(runtime, t, record, record.earlier[i], addr, bytes, false);
  }
}

void Account::AddWaiter(Runtime& runtime, const Waiter& waiter) {
  Add(wire::Waiter{.held = waiter.held.address,
                   .wanted = waiter.wanted.address,
                   .thread = Raw(waiter.when.thread),
                   .held_shared = waiter.held.mode == LockMode::kShared ? uint8_t{1} : uint8_t{0},
                   .wanted_shared = waiter.wanted.mode == LockMode::kShared ? uint8_t{1} : uint8_t{0},
                   .reserved = {}});
  AddStack(runtime, runtime.flags().second_deadlock_stack ? waiter.held.taken_at : kNoContext);
  AddStack(runtime, waiter.wanted.taken_at);
  AddStack(runtime, runtime.WhereMade(waiter.held.address));
}

}  // namespace redflag::rt
