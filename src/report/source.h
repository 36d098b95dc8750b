// The source of a program, as far as it is still there to be read. Behind an interface so that tests can bring their own.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace redflag {

class SourceText {
 public:
  virtual ~SourceText() = default;

  // All lines of a file, without their ends; empty: it cannot be had, or may say something else by now, being newer than the module that was
  // built from it, or that being gone. No module: whatever the file says. Valid as long as the SourceText is.
  virtual const std::vector<std::string>& Lines(const std::string& file, const std::string& module) = 0;
};

// From disk, each file once. Files that are too large for source, and those beyond the first 64 megabytes of them, count as not there.
class SourceFiles : public SourceText {
 public:
  const std::vector<std::string>& Lines(const std::string& file, const std::string& module) override;

 private:
  static constexpr size_t kMaxBytes = 8u << 20;   // of a file
  static constexpr size_t kMaxTotal = 64u << 20;  // of all
  static constexpr size_t kMaxFiles = 100'000;

  std::map<std::pair<std::string, std::string>, std::vector<std::string>> files_;  // by file and module
  size_t total_ = 0;
};

}  // namespace redflag
