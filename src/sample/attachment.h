// A running process, sampled from outside for a while (`redflag attach`): a session, whose handler of breakpoints is a tracer.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "collider/site_cache.h"
#include "sample/options.h"
#include "sample/session.h"
#include "sample/tracer.h"

namespace redflag {

class Attachment {
 public:
  Attachment(pid_t pid, const SampleOptions& options, Collector& collector);

  // Of the page of breakpoints, for RunGuarded; -1: there is no memory.
  int page_fd() const { return session_.page_fd(); }

  // For RunGuarded; before it runs.
  void SetShield(TrapShield* shield) { tracer_.SetShield(shield); }

  // Until the time is over, the process has ended, or `stop` says so. An error in words, and nothing was done; empty: none.
  std::string Run(const std::function<bool()>& stop);

  std::vector<std::string> Statistics() const;

 private:
  void Say(uint32_t severity, const std::string& text);

  pid_t pid_;
  const SampleOptions& options_;
  Collector& collector_;
  SiteCache cache_;
  Session session_;
  Tracer tracer_;
};

}  // namespace redflag
