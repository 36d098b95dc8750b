// The source of a program, as far as it is still there to be read. Behind an interface so that tests can bring their own.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace redflag {

class SourceText {
 public:
  virtual ~SourceText() = default;

  // All lines of a file, without their ends; empty: it cannot be had, or is newer than the module that was built from it and may say
  // something else by now. Valid as long as the SourceText is.
  virtual const std::vector<std::string>& Lines(const std::string& file, const std::string& module) = 0;
};

// From disk, each file once. Files that are too large for source, and files beyond the first thousand, count as not there.
class SourceFiles : public SourceText {
 public:
  const std::vector<std::string>& Lines(const std::string& file, const std::string& module) override;

 private:
  static constexpr size_t kMaxFiles = 1000;
  static constexpr size_t kMaxBytes = 8u << 20;

  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace redflag
