// The helper process, `redflag collect` (cli/collect.cc): reads the ring, and the recording if there is one. Found and started from inside
// the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "events/ring.h"

namespace redflag::rt {

// The path of this command. False: there is none.
bool FindCommand(char* path, size_t capacity);

// A child that the program does not notice, forked while this lives. If the program can have no children yet it is made as fork() does it, or
// debuggers take it for a thread; otherwise it makes no signal.
class QuietChild {
 public:
  explicit QuietChild(bool is_first);
  ~QuietChild();
  QuietChild(const QuietChild&) = delete;
  QuietChild& operator=(const QuietChild&) = delete;

  // As fork() answers.
  int64_t Fork();
  // In the child.
  void RestoreSignals() const;
  // In the parent: until the child has ended. Its status as wait() tells it.
  int Wait(int64_t child);

 private:
  const int end_signal_;
  bool has_ended_ = false;
  uint64_t child_signal_;
  uint64_t mask_before_ = 0;
};

// Starts it as a grandchild in a session of its own: the program's wait() never sees it, nor do the program's signals reach it. It inherits the
// descriptor of the ring. `is_forked`: this process was forked from one that is watched. False: there is no such command, or no process.
bool StartHelper(int64_t ring_fd, RingHeader& ring, bool is_forked);

}  // namespace redflag::rt
