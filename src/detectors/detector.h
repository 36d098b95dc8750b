// The detector contract. Read this to write one; docs/adding-a-detector.md walks through it with an example.
//
// A detector watches one run of a program and says which accesses race. It is a class template over the memory policy
// (base/mem.h) and is compiled, from one header, into its own runtime library, into the offline replayer and into the
// tests. It never sees raw events: an *engine* (the runtime online, offline/replay.h offline) turns events into the
// calls below, and owns what is the same for all detectors. So the contract is a division of labour:
//
//   The engine                                            The detector
//   finds the Thread, Sync and Cell objects               says what is in them
//   splits accesses into granules of 8 bytes              decides, byte by byte, whether they race
//   counts re-entrant locks; only the outermost arrives   draws edges, or keeps locksets, or both
//   keeps each thread's HeldLocks                         uses them if its algorithm does; puts them into records
//   knows C++ atomics and fences (detectors/atomics.h)    gives a meaning to eight small steps
//   drops ignored and benign accesses, honours            knows nothing of annotations
//     annotations, matches barrier phases
//   ends lifetimes: alloc, free, reuse of addresses       gives a stamp for "began here", revives cells from it
//   turns RaceRecords into reports                        fills RaceRecords
//
// Premises, which every detector may rely on
//   P1  A Thread is passed only by the thread it stands for, or while that thread cannot run (fork, join).
//   P2  A Sync is passed under a lock of the engine's: calls on one Sync are totally ordered, and that order is the
//       modification order of the atomic, the order of critical sections of the lock.
//   P3  The cell protocol is the detector's: OnAccess may be called for one cell by several threads at once. All-zero
//       memory is a valid fresh Cell. (hb takes a lock in the cell; one that can do with compare-exchange may.)
//   P4  Tables, spilled history and slots are reclaimed while the program runs, without stopping it.
//   P5  Nothing in here allocates with malloc, throws, or calls into libstdc++. Arena (base/arena.h) is the allocator.
//   P6  Calls come in an order the program really took. Online, an access and the synchronization around it are
//       ordered by the program's own happens-before, if by anything.
//
// Types a detector D<Mem> has
//   Thread   derives from ThreadBase<Mem>; built by Thread(D&, Tid), before OnStart or OnFork
//   Sync     built by Sync(D&); one per lock, signal, barrier phase, atomic variable
//   Cell     one per granule, or one per object (kMap); all zeroes is a fresh one
//   Stamp    how a lifetime began: trivially copyable
//
// Calls. Every call on synchronization answers with a Tag: whether accesses that the thread already made in its current
// segment may be told apart from those it makes from now on. If kKept, the engine's filter (one compare before
// OnAccess) may go on dropping repetitions; if kChanged it must forget them.
//
//   OnStart(t)                        a thread that nobody created
//   OnFork(parent, child)  OnJoin(t, child)  OnEnd(t)
//   OnLock(t, s, mode)                t.held already shows the state after the call
//   OnUnlock(t, s, mode)              the same
//   OnPureHbLock(t, s)                annotation: this lock's critical sections order what is around them; for
//                                     detectors that take no edges from locks
//   OnAcquire(t, s)                   t reads what s carries: WAIT, acquire load
//   OnReleaseMerge(t, s)              s carries t's past as well: SIGNAL, releasing read-modify-write
//   OnReleaseStore(t, s)              s carries t's past and nothing else: release store
//   OnRelaxedLoad/Store/Merge(t, s)   the same three with relaxed order: they matter to fences
//   OnAcquireFence(t)  OnReleaseFence(t)
//   OnCommitBegin(t, footprint, n)    t's transaction takes place now; its accesses follow as OnAccess calls
//   OnCommitEnd(t, footprint, n)
//   OnAccess(t, cell, access, record) the bytes of `access` on which it completes a first race (kNoBytes: none). If
//                                     any, `record` names the access and 1..k earlier ones that conflict with it
//   OnLifetime(t, addr, size, origin, context)
//                                     these bytes begin a new life; a free was checked against the old one already.
//                                     Answers with the Stamp of the new one
//   Revive(cell, bytes, stamp)        these bytes of the cell are in the lifetime that the stamp began
//   Forget(cell)                      the engine drops the cell: give back what it owns
//   Forget(cell, bytes)               if cells stand for granules: these bytes are as if never touched
//   locksets()                        the table behind AccessRecord::locks
//   arena()                           where its memory comes from; for statistics
//
// What a detector declares (constants)
//   kName, kSummary                   for `redflag list`
//   kWhyMore, kWhyLess                in one line each: why it may report what a precise detector does not, and why it may
//                                     be silent where a precise one reports. Empty: it does not
//   kMap                              what a cell stands for: a granule of 8 bytes, or an object (an allocation or a
//                                     variable; Access::object says which) whose parts the detector tells apart itself
//   kFilter                           which repetition filter is sound for it
//   kAfterRace                        what becomes of a byte after its first race
//   kReports                          false: counts only (null)
//   kClaim                            what it says of the accesses that it reports. Those that take no order from locks
//                                     are told of what threads wait for besides: signals of condition variables
//   kRules                            one RuleInfo for each rule of its paper; Thread::counts is indexed by it
//   IsEffort(rule)                    may be left out. The rule counts work that depends on what was asked of other addresses before
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/arena.h"
#include "base/ids.h"
#include "clocks/commit_clocks.h"
#include "clocks/lockset.h"
#include "events/access.h"
#include "events/event.h"
#include "events/race_record.h"

namespace redflag {

enum class Tag : uint8_t { kKept, kChanged };
constexpr Tag operator|(Tag a, Tag b) { return a == Tag::kChanged ? a : b; }

// Which earlier access makes a repetition redundant (docs/design.md, "The access path").
enum class Filter : uint8_t {
  kNone,
  kOwnSlot,    // a covering access of the same thread in its current segment, whatever others did since
  kExclusive,  // the same, while nobody else has touched the bytes
};

enum class Map : uint8_t { kGranule, kObject };

enum class AfterRace : uint8_t {
  kIgnoreByte,  // ThreadSanitizer 4.2: "once a data race is reported on ID, we ignore the consequent
                // accesses"
  kDisable,     // Goldilocks: checks on the variable are switched off
  kContinue,    // RaceTrack 3.6: goes on, for more stacks
};

// A rule of the paper, as shown by --stats. `tag` is the comment that marks its place in the code.
struct RuleInfo {
  const char* name;
  const char* tag;
};

template <class Mem>
struct ThreadBase {
  ThreadBase(Arena<Mem>& arena, LocksetTable<Mem>& locksets, Tid id) : tid(id), held(arena, locksets) {}

  Tid tid;
  HeldLocks<Mem> held;
};

template <class D>
concept Detector = requires(D d, typename D::Thread t, typename D::Sync s, typename D::Cell c, typename D::Stamp stamp,
                            Access access, RaceRecord record, const Footprint* footprint) {
  requires std::is_trivially_copyable_v<typename D::Stamp>;
  { D::kName } -> std::convertible_to<const char*>;
  { D::kSummary } -> std::convertible_to<const char*>;
  { D::kWhyMore } -> std::convertible_to<const char*>;
  { D::kWhyLess } -> std::convertible_to<const char*>;
  { D::kMap } -> std::convertible_to<Map>;
  { D::kFilter } -> std::convertible_to<Filter>;
  { D::kAfterRace } -> std::convertible_to<AfterRace>;
  { D::kReports } -> std::convertible_to<bool>;
  { D::kClaim } -> std::convertible_to<Claim>;
  { D::kRules[0] } -> std::convertible_to<RuleInfo>;
  { t.counts[0] } -> std::convertible_to<uint64_t>;
  { d.OnStart(t) } -> std::same_as<Tag>;
  { d.OnFork(t, t) } -> std::same_as<Tag>;
  { d.OnJoin(t, t) } -> std::same_as<Tag>;
  { d.OnEnd(t) } -> std::same_as<Tag>;
  { d.OnLock(t, s, LockMode{}) } -> std::same_as<Tag>;
  { d.OnUnlock(t, s, LockMode{}) } -> std::same_as<Tag>;
  { d.OnPureHbLock(t, s) } -> std::same_as<Tag>;
  { d.OnAcquire(t, s) } -> std::same_as<Tag>;
  { d.OnReleaseMerge(t, s) } -> std::same_as<Tag>;
  { d.OnReleaseStore(t, s) } -> std::same_as<Tag>;
  { d.OnRelaxedLoad(t, s) } -> std::same_as<Tag>;
  { d.OnRelaxedStore(t, s) } -> std::same_as<Tag>;
  { d.OnRelaxedMerge(t, s) } -> std::same_as<Tag>;
  { d.OnAcquireFence(t) } -> std::same_as<Tag>;
  { d.OnReleaseFence(t) } -> std::same_as<Tag>;
  { d.OnCommitBegin(t, footprint, size_t{}) } -> std::same_as<Tag>;
  { d.OnCommitEnd(t, footprint, size_t{}) } -> std::same_as<Tag>;
  { d.OnAccess(t, c, access, record) } -> std::same_as<ByteMask>;
  { d.OnLifetime(t, Addr{}, uint64_t{}, AccessOrigin{}, ContextId{}) } -> std::same_as<typename D::Stamp>;
  d.Revive(c, ByteMask{}, stamp);
  d.Forget(c);
  requires D::kMap == Map::kObject || requires(ByteMask bytes) { d.Forget(c, bytes); };
  d.locksets().View(LocksetId{});
  { d.arena().in_use() } -> std::convertible_to<size_t>;
};

}  // namespace redflag
