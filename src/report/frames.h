// Frames in words: what functions and files are called, and an access in one phrase.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/race_report.h"

namespace redflag {

// Without what the standard library calls its strings, which says nothing to a reader.
std::string ShortName(std::string name);

// The folder that names of files are relative to, where they can be.
class SourceRoot {
 public:
  // `folder` is absolute; "": there is none.
  explicit SourceRoot(std::string_view folder);

  // "/home/me/app/src/x.cc" -> "src/x.cc" below /home/me/app. Without . and .. where these can be taken away.
  std::string NameOf(const std::string& file) const;

  const std::string& folder() const { return folder_; }  // ends in a slash, or is empty

 private:
  std::string folder_;
};

// FILE:LINE:COLUMN of the innermost frame of own code, as far as they are known; the module where there is no source.
std::string PlaceOf(const std::vector<Frame>& stack, const SourceRoot& root);

// "write of 4 bytes by thread T1 in Cache::Add(int), holding no lock".
std::string SiteText(const AccessSite& site);

}  // namespace redflag
