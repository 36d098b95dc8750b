// What leaves the program under test: messages of plain bytes, written by the runtime into a ring of shared memory
// (events/ring.h) and read by the host side. A message is complete in itself: whatever it refers to inside the process is spelled
// out, because the process may be gone when it is read.
//
// Layout of a message: MessageHeader, then the structs named at its type, one after the other, each 8-byte aligned. Counts
// come before what they count. Strings are bytes without a terminator, padded to 8. Native byte order: both sides are one machine.
//
// In-process rules; the reader must not trust a single byte of it (a crashing program may have scribbled on the ring).
#pragma once

#include <cstdint>

#include "events/access.h"

namespace redflag::wire {

inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kMaxMessage = 1u << 18;
inline constexpr uint32_t kMaxFrames = 512;

enum class MessageType : uint16_t {
  kProcess = 1,  // Process, text command: the first message
  kModule,       // Module, text path: a file mapped into the process, before anything refers to it
  kModuleGone,   // Module, text path: unmapped. An empty path: every module whose code is in the range
  kThread,  // Thread, text name, Stack of its creation: before anything refers to it, and again if the name changes
  kRace,  // Race, Observed?, Block?, Calls?, and for each access, the completing one first: AccessHead, Stack, Lock[] with a Stack each, Known?, Weak?
  kCounters,      // Counters: before the end
  kNote,          // Note, text: something the user should know (a limit reached, a fallback taken)
  kEnd,           // the process ends in an orderly way
  kSuppressions,  // Suppressions, text: reports that are not wanted; before the first race
  kTag,           // Tag, text object type, text header: a kind of object that accesses are labelled with (AccessHead)
  kDetector,      // text name: which detector watched. Of recordings: said by the host side
  kRepeats,       // Repeats: how often a race that was told was found again; before the end
  kWatched,  // Watched, AccessHead + Stack + Lock[] for each access: what was done to a variable after its race was told
  kFlush,    // somebody waits until all that was told is written
  kMisuse,  // Misuse, three Stacks: where it happened, where the lock was taken, where it was made or first used; empty: not known; and Waiter[]
  // with three Stacks each: where it took what it holds, where it wants the other, where the lock that it holds was made
  kTolerated,  // Tolerated, text: what a tolerant section found; before the race that it belongs to
};

struct MessageHeader {
  uint32_t bytes;  // of the whole message, this header included; a multiple of 8
  MessageType type;
  uint16_t version;
};

struct Text {
  uint32_t bytes;  // the bytes follow
  uint32_t reserved;
};

struct Process {
  uint32_t pid;
  uint32_t watch_ms;    // how long to wait for kWatched before a race is reported
  uint64_t start_time;  // nanoseconds of CLOCK_REALTIME
};

struct Module {
  uint64_t begin, end;  // addresses of its executable segment
  uint64_t bias;        // what to subtract from an address to get that of the file
};

// Return addresses, the innermost first; the first is the access or call itself (the address after the instruction).
struct Stack {
  uint32_t frames;     // as many uint64_t follow
  uint32_t truncated;  // 1: outer frames are missing
};

inline constexpr uint32_t kNoThread = UINT32_MAX;

struct Thread {
  uint32_t id;       // in order of creation; 0 is the main thread
  uint32_t creator;  // kNoThread: unknown
  uint32_t os_id;
  uint32_t flags;  // kFinished, kDetached
};
inline constexpr uint32_t kFinished = 1, kDetached = 2;

struct AccessHead {
  uint64_t address;
  uint32_t size;
  uint32_t thread;
  AccessKind kind;
  AccessOrigin origin;
  uint16_t flags;       // kVptr and so on; from kTagShift on: the number of a tag, 0: none
  uint32_t lock_count;  // Lock structs follow the stack
  uint64_t value;       // if kValueKnown: what the memory held after the access
};
inline constexpr uint16_t kVptr = 1, kBitField = 2, kValueKnown = 4, kLocksUnknown = 8, kHasKnown = 16, kHasWeak = 32;
inline constexpr uint16_t kOrdered = 64;  // it frees what the completing access uses later
inline constexpr uint16_t kHasOwners = 128;
inline constexpr int kTagShift = 8;

struct Lock {
  uint64_t address;
  uint32_t shared;  // 1: held for reading
  uint32_t stacks;  // 1: a Stack follows: where it was acquired. 2: and one where it was made, or first used
};

// How a thread hands on what it knows.
enum class Handover : uint8_t { kNothing, kForgotten, kUnlock, kCreate, kSignal, kStore, kFence, kBarrier };

// The latest that the completing thread knows of the thread of an earlier access: what it did to hand on what it knew, before that access.
// kNothing: it has handed on nothing that came to the completing thread. kForgotten: there was something.
struct Known {
  uint64_t object;  // a lock, an atomic variable, ...
  uint64_t place;   // the return address
  uint64_t caller;  // that of the function; 0: not known
  Handover how;
  uint8_t reserved[7];
};

// The thread of an earlier access has since stored to an atomic variable that the completing thread has loaded, and one of the two
// was too weak to order them.
struct Weak {
  uint64_t object;
  uint64_t store_place, load_place;
  uint8_t store_order, load_order;  // MemoryOrder
  uint8_t reserved[6];
};

// Who may access what an earlier access has touched, by Goldilocks; not the completing thread. kThread: a thread. Others: whoever locks it, locks it for
// writing, reads an atomic variable or takes a signal; commits a transaction that has a byte in common with one that was.
enum class OwnerKind : uint8_t { kThread, kLock, kWriteLock, kSignal, kTransaction };
struct Owner {
  uint64_t object;  // the number of a thread, or an address; 0: none
  uint64_t giver;   // from whom it came, likewise
  OwnerKind kind, giver_kind;
  uint8_t has_giver;  // 0: it is the thread that made the access, or that is not known
  uint8_t reserved[5];
};
struct Owners {
  uint32_t count;  // Owner structs follow
  uint32_t more;   // that are not told
};
inline constexpr uint32_t kMaxOwners = 8;

enum class Place : uint8_t { kUnknown, kHeap, kStack, kTls, kGlobal, kMapped, kDescriptor };

// What the racy bytes belong to, as far as the process knows.
struct Block {
  uint64_t begin;  // of a heap block; kTls: the thread pointer of the thread; kDescriptor: its number
  uint64_t bytes;
  uint32_t thread;  // who allocated it, or whose stack it is
  Place place;
  uint8_t freed;
  uint8_t has_stack;  // 1: a Stack follows: where it was allocated
  uint8_t has_calls;  // 1: Calls follow: whose frame it is in
};

// What lies on a stack next to the bytes, from which the reader works out which function's frame they are in. Words at addresses of that
// stack that are divisible by 8.
struct Calls {
  uint32_t slot_count;  // that many uint64_t follow: addresses that hold where a call that is on this stack returns to
  uint32_t return_count;  // and then that many Return
};
inline constexpr uint32_t kMaxSlots = 8, kMaxReturns = 64;

// A word below the bytes that is an address in code: it may be where a call returns to.
struct Return {
  uint64_t address;
  uint64_t value;
  uint64_t below;  // the word before it: of some calls, the caller's frame pointer
};

struct Race {
  uint64_t sequence;
  uint64_t address;  // of the first racy byte
  uint32_t bytes;
  uint32_t access_count;
  uint32_t accesses_found;  // more than access_count if some did not fit
  uint32_t parts;           // kHasBlock, kHasObserved
};
inline constexpr uint32_t kHasBlock = 1, kHasObserved = 2;

// What the name of a harmless pattern (DataCollider 3.3) would be, from the instructions of both accesses.
enum class Looks : uint8_t { kNothing, kStatistics, kSafeFlag, kMixed };

// Of a race that was caught by stopping a thread right before its access, which is then the second one of the race.
struct Observed {
  uint64_t before, after;  // the bytes, as many as fit, when it was stopped and when it went on
  uint64_t paused_ns;
  uint32_t size;  // of the access
  uint8_t flags;  // kUnknownWriter, kUnwatched
  Looks looks;
  uint16_t reserved;
};
inline constexpr uint8_t kUnknownWriter = 1;  // the first access is nobody's: only the value tells of it
inline constexpr uint8_t kUnwatched = 2;  // without data breakpoints: readers cannot be seen, nor can writers be named

// What is wrong besides races.
enum class Flaw : uint8_t {
  kUnlockNotHeld,
  kDestroyHeld,
  kDoubleLock,
  kInvalidLock,
  kReadLockOfWritten,
  kReadUnlockOfWritten,
  kHeldInWrongContext,
  kThreadLeak,
  kSpoiltErrno,
  kLockOrder,        // threads that may wait for one another in a circle: `object` is what the last of them wants
  kUnsafeInHandler,  // a call that a signal handler may not make
  kEndsIgnoring,     // a thread that ends while it has its accesses ignored
};
inline constexpr Flaw kLastFlaw = Flaw::kEndsIgnoring;

struct Misuse {
  uint64_t sequence;  // of reports
  uint64_t object;    // the lock; 0: it is about none
  uint32_t thread;    // that did it, or is leaked
  Flaw flaw;
  Place place;  // what the lock is part of: kStack, kTls, or kUnknown
  uint16_t waiter_count;
  uint32_t place_thread;  // whose that is
  uint32_t number;        // of a signal; of leaked threads like this one, how many more there are
};

// A thread of a deadlock: holds a lock, and wants the one that the next of them holds; the last of them, the one of the first.
struct Waiter {
  uint64_t held;  // addresses
  uint64_t wanted;
  uint32_t thread;
  uint8_t held_shared, wanted_shared;  // 1: for reading
  uint8_t reserved[2];
};

struct Counters {
  uint64_t races, duplicates, dropped_messages, contexts, contexts_lost, threads, slots, flushes;
};

struct Suppressions {
  uint32_t is_file;      // 1: the text names the files that have them, with semicolons in between
  uint32_t wants_usage;  // 1: at the end, list which of them were of use
};

struct Repeats {
  uint64_t sequence;  // of the race
  uint64_t count;
};

struct Watched {
  uint64_t sequence;  // of the race
  uint64_t access_count;
};

struct Tolerated {
  uint64_t sequence;       // of the race
  uint64_t local, global;  // what the section made of the word, and what somebody else did
};

struct Tag {
  uint32_t number;  // from 1
  uint32_t reserved;
};

struct Note {
  uint32_t severity;  // 0: for information, 1: a warning, 2: an error
  uint32_t reserved;
};

}  // namespace redflag::wire
