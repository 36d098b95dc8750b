// TraceDrain: takes the blocks that a program under test writes down (events/trace_block.h) and puts them into a trace file. A thread of
// its own does that while the program runs. Now and then it also copies the blocks that are not full yet, and says up to which stamp
// everything is there: so a recording that ends for whatever reason can be read up to that moment.
//
// The memory is shared with a program that may scribble on it: sizes are checked, and contents are copied before they are looked at.
//
// One file for a process: the one that was named, unless something is in it already or another process is recorded there; then the
// same with a dot and the process id behind it. It is locked (flock) until it is whole, and made when the first event comes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "events/trace_block.h"
#include "trace/binary_file.h"

namespace redflag {

class TraceDrain {
 public:
  // Maps what `fd` refers to; the descriptor may be closed then. An error in words if that is not what a program records into.
  static std::variant<std::unique_ptr<TraceDrain>, std::string> Open(int fd, std::string path, pid_t pid);
  ~TraceDrain();
  TraceDrain(const TraceDrain&) = delete;
  TraceDrain& operator=(const TraceDrain&) = delete;

  // A message of the program (events/wire.h). Races are left out: a recording is for finding them again.
  void AddMessage(std::span<const std::byte> message);

  // The program writes nothing more: takes what is left, and ends the file. `ending`: for those who read it.
  void Finish(const std::string& ending);

  // Why there is no file, or not a whole one; empty: there is nothing to complain of. After Finish.
  const std::string& error() const { return error_; }

 private:
  struct Copied {
    uint32_t bytes = 0;
    uint64_t first_stamp = 0;
  };

  TraceDrain(std::byte* memory, size_t mapped, uint32_t slots, std::string path, pid_t pid);

  TraceShare& share() const { return *reinterpret_cast<TraceShare*>(memory_); }
  TraceSlot& SlotAt(uint32_t index) const {
    return *reinterpret_cast<TraceSlot*>(memory_ + kTraceShareBytes + size_t{index} * kTraceSlotBytes);
  }
  uint32_t SlotsInUse() const;
  void Work();
  bool TakeFull();
  void Checkpoint(bool is_last);
  void CopyUnfinished(uint32_t index);
  bool Add(const TraceSlot& slot, uint32_t bytes, bool is_full);
  bool HasFile();
  void Fail(std::string why);

  std::byte* memory_;
  size_t mapped_;
  uint32_t slots_;
  std::string path_;
  pid_t pid_;

  std::mutex lock_;  // of what follows, up to the thread
  std::unique_ptr<BinaryWriter> file_;
  std::vector<std::vector<std::byte>> waiting_;  // messages that came before the file was there
  std::string error_;

  uint64_t next_ticket_ = 1;
  std::vector<Copied> copied_;  // by slot: what was copied of it while it was being filled
  std::vector<std::byte> buffer_;
  uint64_t checkpoint_ = 0;
  std::chrono::steady_clock::time_point last_checkpoint_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace redflag
