// RenamedLocks: a lock that was created or destroyed is another lock, although the trace goes on to call it the same. Detectors know it by a
// new name.
//
// Used by Replay, one thread, host side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace redflag {

class RenamedLocks {
 public:
  void Rename(SyncId lock) {
    names_[lock] = SyncId{kFirst + static_cast<uint32_t>(originals_.size())};
    originals_.push_back(lock);
  }

  SyncId Of(SyncId lock) const {
    if (names_.empty()) return lock;
    const auto name = names_.find(lock);
    return name == names_.end() ? lock : name->second;
  }

  // What the trace calls it.
  SyncId OriginalOf(SyncId lock) const {
    const size_t renamed = size_t{Raw(lock)} - kFirst;
    return Raw(lock) < kFirst || renamed >= originals_.size() ? lock : originals_[renamed];
  }

 private:
  static constexpr uint32_t kFirst = 1u << 30;

  std::unordered_map<SyncId, SyncId> names_;  // of locks that are not known by their own id any more
  std::vector<SyncId> originals_;             // by name, from kFirst on
};

}  // namespace redflag
