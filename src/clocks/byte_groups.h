// ByteGroups: a state for each byte of a granule, stored once for bytes that have always been touched together. Detectors
// whose papers speak of "the state of a variable" keep that state here and stay exact to the byte: a group is split when
// an access covers a part of it, and groups whose states have become equal are merged again.
//
// A byte that was never touched has the state State{}. An all-zero ByteGroups has no groups, so zeroed memory is valid
// shadow; State{} need not be all zeroes. State is trivially copyable and comparable; a state that owns something is
// told of copies and ends through the Hooks that the calls take.
//
// Not thread-safe: the detector locks the cell.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/arena.h"
#include "events/access.h"

namespace redflag {

// For states that own nothing.
struct NoHooks {
  template <class State>
  void OnCopy(State&) {}
  template <class State>
  void OnDrop(State&) {}
};

template <class State, class Mem>
class ByteGroups {
  static_assert(std::is_trivially_copyable_v<State>);

 public:
  // Calls visit(bytes, state) for each group of `bytes`; the groups passed cover `bytes` exactly.
  template <class Visitor, class Hooks = NoHooks>
  void Visit(Arena<Mem>& arena, ByteMask bytes, Visitor visit, Hooks&& hooks = {}) {
    Cut(arena, bytes, hooks);
    ForEach([&](Group& group) {
      if (Contains(bytes, group.bytes)) visit(group.bytes, group.state);
    });
    Merge(arena, hooks);
  }

  // Calls visit(bytes, state) for each group that exists. The state must not be changed.
  template <class Visitor>
  void ForEachGroup(Visitor visit) const {
    ForEach([&](const Group& group) { visit(group.bytes, group.state); });
  }

  // These bytes are as if they were never touched.
  template <class Hooks = NoHooks>
  void Forget(Arena<Mem>& arena, ByteMask bytes, Hooks&& hooks = {}) {
    ForEach([&](Group& group) {
      const bool was_there = Any(group.bytes);
      group.bytes = group.bytes & ~bytes;
      if (was_there && !Any(group.bytes)) hooks.OnDrop(group.state);
    });
    FreeIfPossible(arena);
  }

 private:
  static constexpr uint32_t kMore = kGranule - 1;  // 8 bytes make at most 8 groups

  // bytes == kNoBytes: the place is free, and its state means nothing.
  struct Group {
    ByteMask bytes;
    State state;
  };
  struct More {
    Group groups[kMore];
  };

  template <class Visitor>
  void ForEach(Visitor visit) const {
    if (Any(first_.bytes)) visit(first_);
    if (more_ == nullptr) return;
    for (const Group& group : more_->groups) {
      if (Any(group.bytes)) visit(group);
    }
  }
  template <class Visitor>
  void ForEach(Visitor visit) {
    if (Any(first_.bytes)) visit(first_);
    if (more_ == nullptr) return;
    for (Group& group : more_->groups) {
      if (Any(group.bytes)) visit(group);
    }
  }

  Group& FreePlace(Arena<Mem>& arena) {
    if (!Any(first_.bytes)) return first_;
    if (more_ == nullptr) {
      more_ = static_cast<More*>(arena.Allocate(sizeof(More)));
      for (Group& group : more_->groups) group.bytes = kNoBytes;
    }
    Group* place = more_->groups;
    while (Any(place->bytes)) ++place;
    return *place;
  }

  // Makes every group lie wholly inside or wholly outside `bytes`, and gives untouched bytes a group.
  template <class Hooks>
  void Cut(Arena<Mem>& arena, ByteMask bytes, Hooks& hooks) {
    ByteMask fresh = bytes;
    Group cut[kGranule];
    uint32_t cut_count = 0;
    ForEach([&](Group& group) {
      fresh = fresh & ~group.bytes;
      const ByteMask outside = group.bytes & ~bytes;
      if (!Any(outside) || outside == group.bytes) return;
      group.bytes = group.bytes & bytes;
      cut[cut_count] = Group{.bytes = outside, .state = group.state};
      hooks.OnCopy(cut[cut_count++].state);
    });
    for (uint32_t i = 0; i < cut_count; ++i) FreePlace(arena) = cut[i];
    if (Any(fresh)) FreePlace(arena) = Group{.bytes = fresh, .state = State{}};
  }

  template <class Hooks>
  void Merge(Arena<Mem>& arena, Hooks& hooks) {
    if (more_ == nullptr) return;
    ForEach([&](Group& keep) {
      ForEach([&](Group& other) {
        if (&other == &keep || !(other.state == keep.state)) return;
        keep.bytes = keep.bytes | other.bytes;
        other.bytes = kNoBytes;
        hooks.OnDrop(other.state);
      });
    });
    FreeIfPossible(arena);
  }

  // Everything in one group: the group moves in, the rest goes back.
  void FreeIfPossible(Arena<Mem>& arena) {
    if (more_ == nullptr) return;
    Group* only = nullptr;
    uint32_t count = 0;
    ForEach([&](Group& group) {
      only = &group;
      ++count;
    });
    if (count > 1) return;
    if (count == 1) first_ = Group(*only);
    arena.Free(more_, sizeof(More));
    more_ = nullptr;
  }

  Group first_;
  More* more_;
};

}  // namespace redflag
