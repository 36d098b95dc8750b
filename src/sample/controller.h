// The sampling process: answers at the door (events/sample_page.h), and sees to each process that it lets in until that ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "collider/site_cache.h"
#include "events/sample_page.h"
#include "sample/options.h"
#include "sample/session.h"

namespace redflag {

class Controller {
 public:
  // Where reports go is up to the caller: one collector for each process, made when it comes.
  using MakeCollector = std::function<std::unique_ptr<Collector>(pid_t)>;

  Controller(const SampleOptions& options, MakeCollector make_collector);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // For REDFLAG_SAMPLE in the environment of the program; empty: there is no memory.
  std::string door_path() const;

  // Does its work until `ended` says so; `program` is sampled, others as the options say.
  void Run(pid_t program, const std::function<bool()>& ended);

  // Races that were reported, of all processes.
  uint64_t races() const;
  // Counts, in lines for the user.
  std::vector<std::string> Statistics() const;
  // Did any process come in?
  bool was_sampled() const { return !sessions_.empty(); }

 private:
  struct Guest {
    std::unique_ptr<Collector> collector;
    std::unique_ptr<Session> session;
    bool gone = false;
  };
  void Answer(pid_t program);
  void Leave(Guest& guest);

  const SampleOptions& options_;
  MakeCollector make_collector_;
  SiteCache cache_;
  int door_fd_ = -1;
  SampleDoor* door_ = nullptr;
  std::vector<Guest> sessions_;
};

}  // namespace redflag
