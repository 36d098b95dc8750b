// Where the reports of a running program go: its own standard error, a file, or the standard error of this process. Opened for
// each report and closed after it, so that the program's terminal, pipe or file is free as soon as the program lets go of it.
//
// Writing waits for a reader that is slow, but not for ever, and never makes the program wait.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "collect/collector.h"

namespace redflag {

class Destination : public TextOutput {
 public:
  // `target`: a path; "fd2" for our own standard error; "" for that of the process `victim`.
  Destination(std::string target, pid_t victim, bool colours);
  ~Destination() override;
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  void Print(const Render& render) override;

  // To be called now and then. If our own standard error is the program's, which it inherited to us, and the program has closed
  // or replaced it, we let go of it too.
  void LetGo();

 private:
  struct Opened {
    int fd;
    bool is_ours;  // do not close
  };

  bool PrintTo(Opened opened, const Render& render);
  Opened OpenVictim() const;
  Opened Open() const;
  bool VictimHasOurs() const;

  std::string target_;
  std::string victim_stderr_;
  int pidfd_;
  bool colours_;
  bool has_complained_ = false;
  bool shares_ours_;  // our standard error is what the program started with
};

// All of `text` to `fd`, in one piece where that can be done without blocking. False: it gave up.
bool WriteAll(int fd, std::string_view text);

// Appends to a file, made if it is not there.
bool AppendToFile(const std::string& path, std::string_view text);

}  // namespace redflag
