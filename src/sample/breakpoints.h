// The breakpoints of one process: which places it has, which of them have a breakpoint now, and which get theirs back next. Writes them into the
// process through /proc/PID/mem, which private copies of its pages take, never the file.
//
// Every byte that is replaced was seen to be what the file has there.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "collider/code_file.h"
#include "collider/sampling_set.h"
#include "events/sample_page.h"
#include "sample/process_maps.h"

namespace redflag {

class Breakpoints {
 public:
  Breakpoints();
  ~Breakpoints();
  Breakpoints(const Breakpoints&) = delete;
  Breakpoints& operator=(const Breakpoints&) = delete;

  // The page that is shared, and its descriptor; an empty page: there is no memory.
  SamplePage* page() const { return page_; }
  int fd() const { return fd_; }

  // To be called before modules are added; `sites`: of those that are known now. An error in words; empty: none.
  std::string Open(pid_t pid, size_t sites);

  // The places of a file; how many were added. Those whose code is not what the file says are left out. Those of
  // them that are a matter of special interest have `focus` set.
  size_t AddModule(const MappedFile& mapped, const CodeFile& file, const std::vector<Site>& sites,
                   const std::vector<bool>& focus);

  // Everything that has none gets one. Only while the process waits: whole pages are written.
  void ArmAll();
  // So many of those that were met, at random, each as likely as any other; half of them of special interest if there are such.
  void Rearm(uint64_t count);
  // This one before others, the next few times: what it is shows if it is met again soon.
  void Hasten(uint32_t site);
  void DisarmAll();

  // Takes note of those that were met since. How many.
  uint64_t TakeFired();
  // This one never again: it is not an access of data.
  void Ban(uint32_t site);

  size_t size() const { return count_; }
  size_t armed() const;
  const SampleSite* SiteAt(uint32_t index) const;

 private:
  SampleSite* Sites() const;
  uint8_t* States() const;
  uint32_t* ArmedAt() const;
  bool Write(uint32_t index, bool breakpoint);
  bool Pick(std::vector<uint32_t>& from, uint32_t& picked);
  uint64_t RearmHastened(uint64_t count);

  int fd_ = -1;
  int memory_ = -1;
  SamplePage* page_ = nullptr;
  size_t mapped_ = 0;
  size_t count_ = 0;
  uint32_t tail_ = 0;
  std::vector<uint32_t> idle_;        // that were met, or never had one
  std::vector<uint32_t> idle_focus_;  // the same, of special interest
  std::vector<bool> is_idle_, is_banned_, is_focus_;
  static constexpr uint32_t kHastened = 8;
  std::map<uint32_t, uint32_t> hastened_;  // how many times more
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace redflag
