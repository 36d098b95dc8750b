#include "collider/site_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace redflag {
namespace {

// Changed whenever the same code would give another set.
constexpr uint64_t kMagic = 0x3373657469736672;  // "rfsites3"

struct Header {
  uint64_t magic = kMagic;
  uint64_t count = 0;
  uint64_t sum = 0;
  SamplingSet::Counts counts;
};

uint64_t SumOf(const std::vector<Site>& sites) {
  uint64_t sum = 0xcbf29ce484222325;
  for (const Site& site : sites) {
    uint64_t words[3];
    static_assert(sizeof words == sizeof site);
    std::memcpy(words, &site, sizeof words);
    for (const uint64_t word : words) sum = (sum ^ word) * 0x100000001b3;
  }
  return sum;
}

std::filesystem::path DefaultFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::filesystem::path(cache) / "redflag" / "sites";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::filesystem::path(home) / ".cache" / "redflag" / "sites";
  }
  return {};
}

bool IsHexadecimal(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

SiteCache::SiteCache() : SiteCache(DefaultFolder()) {}

SiteCache::SiteCache(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder.parent_path(), error);
  mkdir(folder.c_str(), S_IRWXU);
  struct stat status{};
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
      (status.st_mode & kOthersWrite) != 0) {
    return;
  }
  folder_ = folder;
}

std::optional<SamplingSet> SiteCache::Find(const std::string& build_id) const {
  if (folder_.empty() || !IsHexadecimal(build_id)) return std::nullopt;
  std::ifstream stream(folder_ / build_id, std::ios::binary);
  Header header;
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof header) || header.magic != kMagic) return std::nullopt;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(folder_ / build_id, error);
  if (error || header.count > size || size != sizeof header + header.count * sizeof(Site)) return std::nullopt;
  SamplingSet set;
  set.counts = header.counts;
  set.sites.resize(header.count);
  if (!stream.read(reinterpret_cast<char*>(set.sites.data()),
                   static_cast<std::streamsize>(header.count * sizeof(Site)))) {
    return std::nullopt;
  }
  if (SumOf(set.sites) != header.sum) return std::nullopt;
  return set;
}

// Written beside it and renamed: another process sees all of it or nothing.
void SiteCache::Keep(const std::string& build_id, const SamplingSet& set) const {
  if (folder_.empty() || !IsHexadecimal(build_id)) return;
  Header header;
  header.count = set.sites.size();
  header.sum = SumOf(set.sites);
  header.counts = set.counts;
  const std::filesystem::path fresh = folder_ / fmt::format(".{}.{}", build_id, getpid());
  std::ofstream stream(fresh, std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  stream.write(reinterpret_cast<const char*>(set.sites.data()),
               static_cast<std::streamsize>(set.sites.size() * sizeof(Site)));
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(fresh, folder_ / build_id, error);
  if (!stream || error) std::filesystem::remove(fresh, error);
}

SamplingSet SitesOf(const CodeFile& file, const SiteCache& cache) {
  if (auto known = cache.Find(file.build_id())) return std::move(*known);
  SamplingSet set = FindSites(file);
  cache.Keep(file.build_id(), set);
  return set;
}

}  // namespace redflag
