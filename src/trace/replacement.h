// Replacement: a file that takes the place of another when it is complete, and is gone if it never is. So that nobody meets half a file.
//
// Host side, one thread.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace redflag {

class Replacement {
 public:
  // fd() is -1 if it cannot be made; errno says why.
  explicit Replacement(const std::string& path) {
    std::error_code none;
    path_ = std::filesystem::weakly_canonical(path, none).string();
    if (path_.empty()) path_ = path;
    temporary_ = path_ + ".XXXXXX";
    fd_ = mkostemp(temporary_.data(), O_CLOEXEC);
    if (fd_ < 0) return;
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd_, 0666 & ~mask);
  }
  ~Replacement() {
    if (fd_ >= 0 && !kept_) unlink(temporary_.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  int fd() const { return fd_; }  // whoever writes to it closes it
  const std::string& temporary() const { return temporary_; }
  bool Keep() {
    kept_ = std::rename(temporary_.c_str(), path_.c_str()) == 0;
    return kept_;
  }

 private:
  std::string path_;
  std::string temporary_;
  int fd_ = -1;
  bool kept_ = false;
};

}  // namespace redflag
