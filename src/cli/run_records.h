// The reports of the processes of a run, in lines of JSON that their helpers write, for what is made of them at its end.
#pragma once

#include <sys/types.h>

#include <string>

#include "cli/rendering.h"
#include "report/records.h"

namespace redflag::cli {

class RunRecords {
 public:
  // `path`: where the user wants the lines; they come behind what is there. "": nowhere, and they are gone with this object.
  explicit RunRecords(const std::string& path);
  ~RunRecords();
  RunRecords(const RunRecords&) = delete;
  RunRecords& operator=(const RunRecords&) = delete;

  // What stands against it; empty: nothing.
  const std::string& error() const { return error_; }
  // For the helpers.
  const std::string& path() const { return path_; }

  // What this run wrote. Waits for the helpers, each of which has the file locked until its process has ended and all is written.
  // `has_reports`: there are some to come, of a helper that may only just have started. False: a process of the run goes on, and its
  // reports may be missing.
  bool Read(Records& records, bool has_reports) const;

 private:
  std::string path_;
  std::string error_;
  int fd_ = -1;
  off_t begin_ = 0;
};

// What the user wants besides the reports as they come, of the run of a command. False: it is not all there.
bool RenderRun(const RunRecords& file, const Rendering& rendering, bool has_reports, const char* command);

}  // namespace redflag::cli
