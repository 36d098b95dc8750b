#include "runtime/stack_calls.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>

#include "base/arch.h"
#include "base/hash_map.h"
#include "runtime/environment.h"
#include "runtime/local.h"
#include "runtime/thread.h"

namespace redflag::rt {
namespace {

constexpr uint64_t kUpwards = uint64_t{1} << 20;  // so far from the address, in bytes
constexpr uint64_t kDownwards = uint64_t{1} << 16;
constexpr uint32_t kMostRanges = 1024;
constexpr uint32_t kReturnPlaces = 1u << 13;

// Reads memory of this process that may be gone. The kernel has a call for that, which containers and emulators may refuse; then by way of a file
// in memory.
class CarefulReader {
 public:
  CarefulReader() = default;
  ~CarefulReader() {
    if (file_ >= 0) arch::Syscall(SYS_close, file_);
  }
  CarefulReader(const CarefulReader&) = delete;
  CarefulReader& operator=(const CarefulReader&) = delete;

  bool Read(void* to, uint64_t from, uint64_t bytes) {
    if (file_ >= 0) return ReadByFile(to, from, bytes);
    iovec mine = {.iov_base = to, .iov_len = bytes};
    iovec theirs = {.iov_base = reinterpret_cast<void*>(from), .iov_len = bytes};
    const int64_t got = arch::Syscall(SYS_process_vm_readv, arch::Syscall(SYS_getpid), reinterpret_cast<int64_t>(&mine),
                                      1, reinterpret_cast<int64_t>(&theirs), 1, 0);
    if (got != -ENOSYS && got != -EPERM) return got == static_cast<int64_t>(bytes);
    return OpenFile() && ReadByFile(to, from, bytes);
  }

 private:
  bool OpenFile() {
    const int64_t low = arch::Syscall(SYS_memfd_create, reinterpret_cast<int64_t>("redflag"), MFD_CLOEXEC);
    if (low < 0) return false;
    file_ = arch::Syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 500);  // away from the numbers that programs count on
    arch::Syscall(SYS_close, low);
    return file_ >= 0;
  }
  bool ReadByFile(void* to, uint64_t from, uint64_t bytes) const {
    const auto size = static_cast<int64_t>(bytes);
    return arch::Syscall(SYS_pwrite64, file_, static_cast<int64_t>(from), size, 0) == size &&
           arch::Syscall(SYS_pread64, file_, reinterpret_cast<int64_t>(to), size, 0) == size;
  }

  int64_t file_ = -1;
};

// Where the calls return to that are on a thread's stack: a set.
class ReturnPlaces {
 public:
  void Fill(CarefulReader& reader, Frame* top) {
    for (uint64_t& place : places_) place = 0;
    used_ = 0;
    for (uint32_t seen = 0; seen < Thread::kFrames && used_ < kReturnPlaces / 2; seen += kChunk) {
      top -= kChunk;  // below the outermost there is something else of the thread's, and much of it
      if (!reader.Read(frames_, reinterpret_cast<uint64_t>(top), sizeof frames_)) return;
      for (uint32_t i = kChunk; i-- > 0;) {
        if (frames_[i].pc == 0) return;  // below the outermost call
        Add(frames_[i].pc);
      }
    }
  }
  bool Has(uint64_t place) const { return places_[IndexOf(place)] == place && place != 0; }
  bool is_empty() const { return used_ == 0; }

 private:
  uint32_t IndexOf(uint64_t place) const {
    uint32_t index = HashKey(place) % kReturnPlaces;
    while (places_[index] != 0 && places_[index] != place) index = (index + 1) % kReturnPlaces;
    return index;
  }
  void Add(uint64_t place) {
    uint64_t& there = places_[IndexOf(place)];
    if (there != 0) return;
    there = place;
    ++used_;
  }

  static constexpr uint32_t kChunk = 64;

  Frame frames_[kChunk] = {};  // that are looked at
  uint64_t places_[kReturnPlaces] = {};
  uint32_t used_ = 0;
};

// All code that is mapped.
class CodeRanges {
 public:
  void Fill() {
    count_ = 0;
    ForEachMappedFile(
        [](const MappedFile& file, void* data) {
          auto& self = *static_cast<CodeRanges*>(data);
          self.ranges_[self.count_++] = {.begin = file.begin, .end = file.end};
          return self.count_ < kMostRanges;
        },
        this);
  }
  // May it be an address behind a call?
  bool Has(uint64_t place) const {
    for (uint32_t i = 0; i < count_; ++i) {
      if (place > ranges_[i].begin && place <= ranges_[i].end) return true;
    }
    return false;
  }

 private:
  struct Range {
    uint64_t begin, end;
  };
  Range ranges_[kMostRanges] = {};
  uint32_t count_ = 0;
};

constexpr uint32_t kWords = 512;  // that are read at once

// Not on the stack of the thread that tells the race: that may be a small one.
constinit ReturnPlaces return_places;
constinit CodeRanges code_ranges;
constinit uint64_t words[kWords + 1] = {};

void LookUpwards(CarefulReader& reader, uint64_t addr, uint64_t end, StackCalls& found) {
  for (uint64_t at = addr; at + sizeof(uint64_t) <= end;) {
    const uint64_t there = (end - at) / sizeof(uint64_t);
    const auto count = static_cast<uint32_t>(there < kWords ? there : kWords);
    if (!reader.Read(words, at, count * sizeof(uint64_t))) return;
    for (uint32_t i = 0; i < count; ++i) {
      if (!return_places.Has(words[i])) continue;
      found.slots[found.slot_count++] = at + i * sizeof(uint64_t);
      if (found.slot_count == wire::kMaxSlots) return;
    }
    at += count * sizeof(uint64_t);
  }
}

void LookDownwards(CarefulReader& reader, uint64_t addr, uint64_t begin, StackCalls& found) {
  for (uint64_t at = addr; at >= begin + 2 * sizeof(uint64_t) && found.return_count < wire::kMaxReturns;) {
    const uint64_t there = (at - begin) / sizeof(uint64_t) - 1;
    const auto count = static_cast<uint32_t>(there < kWords ? there : kWords);
    at -= count * sizeof(uint64_t);
    // The first is looked at in the next round.
    if (!reader.Read(words, at - sizeof(uint64_t), (count + 1) * sizeof(uint64_t))) return;
    for (uint32_t i = count; i > 0 && found.return_count < wire::kMaxReturns; --i) {
      const uint64_t place = at + (i - 1) * sizeof(uint64_t);
      if (found.slot_count < wire::kMaxSlots / 2 && return_places.Has(words[i])) {
        found.slots[found.slot_count++] = place;
      }
      if (!code_ranges.Has(words[i])) continue;
      found.returns[found.return_count++] = {.address = place, .value = words[i], .below = words[i - 1]};
    }
  }
}

}  // namespace

bool FindCalls(const OwnedMemory& stack, uint64_t addr, StackCalls& found) {
  found.slot_count = 0;
  found.return_count = 0;
  if (!stack.is_live) return false;
  CarefulReader reader;
  const uint64_t offset = reinterpret_cast<uint64_t>(&local) - arch::ThreadPointer();
  Local theirs;
  if (!reader.Read(&theirs, stack.thread_pointer + offset, sizeof theirs) || theirs.top == nullptr) return false;
  return_places.Fill(reader, theirs.top);
  if (return_places.is_empty()) return false;
  code_ranges.Fill();
  constexpr uint64_t kWord = sizeof(uint64_t);
  const uint64_t word = addr & ~(kWord - 1);
  const uint64_t begin = word - stack.begin > kDownwards ? word - kDownwards : stack.begin;
  const uint64_t end = stack.end - word > kUpwards ? word + kUpwards : stack.end;
  LookDownwards(reader, word, begin, found);
  LookUpwards(reader, word + kWord, end, found);
  return found.slot_count != 0 && found.return_count != 0;
}

}  // namespace redflag::rt
