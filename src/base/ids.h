// Strong ids. Every number that names something has a type of its own, so that a thread cannot be passed
// where a lock is meant. They are plain enum classes: free to copy, usable in-process, no arithmetic unless
// this file grants it.
#pragma once

#include <cstdint>

namespace redflag {

// A thread of the program, numbered in order of creation; never reused. Tid{0} is the first thread.
enum class Tid : uint32_t {};
inline constexpr Tid kNoThread{UINT32_MAX};

// A synchronization object: mutex, condition variable, semaphore, barrier, annotation. Atomic variables are
// named by their address instead.
enum class SyncId : uint32_t {};
inline constexpr SyncId kNoSync{UINT32_MAX};

// An interned set of held locks (clocks/lockset.h). kEmptyLockset is the empty set in every table.
enum class LocksetId : uint32_t {};
inline constexpr LocksetId kEmptyLockset{0};

// A node of the calling-context tree: a whole call stack in 32 bits. kNoContext is the root.
enum class ContextId : uint32_t {};
inline constexpr ContextId kNoContext{0};

// A source position; which file, line and column it stands for is the host side's knowledge.
enum class PositionId : uint32_t {};
inline constexpr PositionId kNoPosition{UINT32_MAX};

// A function's name, likewise.
enum class FunctionId : uint32_t {};
inline constexpr FunctionId kNoFunction{UINT32_MAX};

// An interned piece of text, likewise.
enum class TextId : uint32_t {};

// An address of the program under test. Never dereferenced by offline code.
enum class Addr : uint64_t {};

template <class Id>
  requires __is_enum
(Id) constexpr auto Raw(Id id) {
  return static_cast<__underlying_type(Id)>(id);
}

constexpr Addr operator+(Addr addr, uint64_t bytes) { return Addr{Raw(addr) + bytes}; }
constexpr uint64_t operator-(Addr end, Addr begin) { return Raw(end) - Raw(begin); }

}  // namespace redflag
