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

  // So many of those that never had one get theirs, at random, those of special interest first. While the process waits, whole pages are written.
  void ArmFirst(uint64_t count, bool is_waiting);
  // So many of those that have none, at random, each as likely as any other; half of them of special interest if there are such.
  void Rearm(uint64_t count);
  // This one before others, the next few times: what it is shows if it is met again soon.
  void Hasten(uint32_t site);
  void DisarmAll();

  // Takes note of those that were met since. How many, and how many of them were armed by ArmFirst, and never met before.
  struct Fired {
    uint64_t all = 0, first = 0;
  };
  Fired TakeFired();
  // This one never again: it is not an access of data.
  void Ban(uint32_t site);

  size_t size() const { return count_; }
  size_t fresh() const { return focus_.fresh.size() + others_.fresh.size(); }  // that never had one
  size_t armed() const;
  const SampleSite* SiteAt(uint32_t index) const;

 private:
  SampleSite* Sites() const;
  uint8_t* States() const;
  uint32_t* ArmedAt() const;
  // Places that have no breakpoint.
  struct Idle {
    std::vector<uint32_t> met, fresh;  // fresh: that never had one
  };
  Idle& IdleOf(uint32_t site) { return is_focus_[site] ? focus_ : others_; }

  bool Write(uint32_t index, bool breakpoint, bool never_met = false);
  void WritePages(std::vector<uint32_t> sites);
  static bool TakeOut(std::vector<uint32_t>& from, uint32_t site);
  bool Pick(std::vector<uint32_t>& from, uint32_t& picked);
  bool Pick(Idle& from, uint32_t& picked);
  uint64_t RearmHastened(uint64_t count);

  int fd_ = -1;
  int memory_ = -1;
  SamplePage* page_ = nullptr;
  size_t mapped_ = 0;
  size_t count_ = 0;
  uint32_t tail_ = 0;
  Idle focus_, others_;
  std::vector<bool> is_idle_, is_banned_, is_focus_, is_first_;
  static constexpr uint32_t kHastened = 8;
  std::map<uint32_t, uint32_t> hastened_;  // how many times more
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace redflag
