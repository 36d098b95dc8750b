// Sampling sets that were found before, kept by the build-id of the file: a large program takes seconds to look through. In a folder that is the
// user's alone; a file there that does not make sense is as good as none.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "collider/sampling_set.h"

namespace redflag {

class SiteCache {
 public:
  // $XDG_CACHE_HOME/redflag/sites, or that in ~/.cache; made if it is not there. If it cannot be had, or others could write there, nothing is
  // kept.
  SiteCache();
  explicit SiteCache(const std::filesystem::path& folder);

  std::optional<SamplingSet> Find(const std::string& build_id) const;
  void Keep(const std::string& build_id, const SamplingSet& set) const;

 private:
  std::filesystem::path folder_;  // empty: there is none
};

// From the cache, or from the file and then kept.
SamplingSet SitesOf(const CodeFile& file, const SiteCache& cache);

}  // namespace redflag
