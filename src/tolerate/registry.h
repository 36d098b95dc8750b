// Which sections are tolerated in this process, and how much is told of them: the option `tolerate` of REDFLAG_OPTIONS, or what the program said with
// tolerate::configure(). Sections are looked up when they are entered for the first time, and listed from then on, so that they can be looked up again.
//
// Any thread; a lock of its own, under which nothing of the program is called.
#pragma once

#include <mutex>
#include <redflag/tolerate/section.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace redflag::tolerate {

// The value of the option: words with semicolons in between. testing, deployment, off; everything else is the name of a section, with * for any text.
struct Selection {
  mode told = mode::deployment;
  std::vector<std::string> names;  // none: all sections

  static Selection Parse(std::string_view text);
  mode ModeOf(std::string_view title) const;
};

class Registry {
 public:
  static Registry& Get();

  mode ModeOf(std::string_view title);
  bool Choose(section& section);
  void Remove(section& section);
  void Configure(std::string_view text);
  const std::string& log_path() const { return log_path_; }  // of the option `tolerate_log`; may be empty

 private:
  Registry();
  void Set(section& section);

  std::mutex lock_;
  Selection selection_;
  std::string log_path_;
  section* first_ = nullptr;
};

}  // namespace redflag::tolerate
