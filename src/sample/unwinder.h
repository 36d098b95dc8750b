// Stacks of threads that were stopped for a moment and have gone on since: from their registers and a copy of what was on the stack, by the tables
// for unwinding in the files. Needs neither frame pointers nor debug information.
#pragma once

#include <elfutils/libdwfl.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "collect/wire_reader.h"
#include "events/sample_page.h"

namespace redflag {

class Unwinder {
 public:
  explicit Unwinder(pid_t pid) : pid_(pid) {}

  // What the process has mapped is not what it was.
  void Refresh();

  // As wire::Stack wants it: the innermost is the address behind the access, the others are where calls return to. `first`: that address.
  RawStack Unwind(const SampleStop& stop, uint64_t first);

 private:
  using Session = std::unique_ptr<Dwfl, decltype(&dwfl_end)>;

  static pid_t NextThread(Dwfl* dwfl, void* argument, void** thread);
  static bool GetThread(Dwfl* dwfl, pid_t tid, void* argument, void** thread);
  static bool ReadMemory(Dwfl* dwfl, Dwarf_Addr address, Dwarf_Word* result, void* argument);
  static bool SetRegisters(Dwfl_Thread* thread, void* argument);
  static int OnFrame(Dwfl_Frame* frame, void* argument);

  pid_t pid_;
  Session session_{nullptr, dwfl_end};
  const SampleStop* stop_ = nullptr;
  std::vector<uint64_t> frames_;
  bool truncated_ = false;
};

}  // namespace redflag
