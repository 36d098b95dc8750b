#include "cli/run_records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace redflag::cli {
namespace {

constexpr useconds_t kStep = 10'000;
constexpr int kPatience = 500;  // steps

}  // namespace

RunRecords::RunRecords(const std::string& path) {
  if (path.empty()) {
    fd_ = memfd_create("redflag-reports", 0);
    path_ = fmt::format("/proc/{}/fd/{}", getpid(), fd_);
    if (fd_ < 0) error_ = fmt::format("no memory for reports: {}", std::strerror(errno));
    return;
  }
  path_ = std::filesystem::absolute(path).string();
  fd_ = open(path_.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  struct stat status{};
  if (fd_ < 0 || fstat(fd_, &status) != 0) {
    error_ = fmt::format("cannot write {}: {}", path, std::strerror(errno));
  } else if (!S_ISREG(status.st_mode)) {
    error_ = fmt::format("{} is not a file: no other form can be made of what is written there", path);
  }
  begin_ = status.st_size;
}

RunRecords::~RunRecords() {
  if (fd_ >= 0) close(fd_);
}

bool RunRecords::Read(Records& records, bool has_reports) const {
  struct stat status{};
  for (int i = 0; has_reports && i < kPatience; ++i) {
    if (fstat(fd_, &status) != 0 || status.st_size > begin_) break;
    usleep(kStep);
  }
  bool is_complete = false;
  for (int i = 0; !is_complete && i < kPatience; ++i) {
    is_complete = flock(fd_, LOCK_EX | LOCK_NB) == 0;
    if (!is_complete) usleep(kStep);
  }
  if (is_complete) flock(fd_, LOCK_UN);
  std::ifstream file(path_, std::ios::binary);
  file.seekg(begin_);
  records.Read(file, path_);
  return is_complete;
}

bool RenderRun(const RunRecords& file, const Rendering& rendering, bool has_reports, const char* command) {
  Records records;
  if (!file.Read(records, has_reports)) {
    fmt::print(stderr,
               "redflag {}: a process of the program goes on; reports of it may be missing in what is written\n",
               command);
  }
  std::vector<std::string> problems = records.complaints();
  const std::vector<std::string> unread = ConfirmByWarnings(rendering, records);
  problems.insert(problems.end(), unread.begin(), unread.end());
  const std::vector<std::string> failures = Render(records.TakeRanked(), records.TakeMisuses(), rendering);
  problems.insert(problems.end(), failures.begin(), failures.end());
  for (const std::string& problem : problems) fmt::print(stderr, "redflag: {}\n", problem);
  return problems.empty();
}

}  // namespace redflag::cli
