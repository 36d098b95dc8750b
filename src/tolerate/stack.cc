#include "tolerate/stack.h"

#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>

namespace redflag::tolerate {
namespace {

constexpr int kMostFrames = 64;

struct Search {
  uint64_t address;
  CodePlace place;
};

int Visit(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const uint64_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || search.address < begin || search.address - begin >= header.p_memsz) continue;
    search.place.offset = search.address - info->dlpi_addr;
    search.place.module = info->dlpi_name;
    if (search.place.module.empty()) {  // the program itself
      char path[4096];
      const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
      if (length > 0) search.place.module.assign(path, static_cast<size_t>(length));
    }
    return 1;
  }
  return 0;
}

}  // namespace

std::vector<CodePlace> Callers() {
  void* frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  std::vector<CodePlace> places;
  for (int i = 3; i < count; ++i) {  // this function, Log and tell
    Search search{.address = reinterpret_cast<uint64_t>(frames[i]), .place = {}};
    search.place.offset = search.address;
    dl_iterate_phdr(Visit, &search);
    places.push_back(search.place);
  }
  return places;
}

// It calls what it does not come back from: the return address is within it, or just behind its end.
bool IsExiting() {
  constexpr uint64_t kLongest = 64;
  const auto begin = reinterpret_cast<uint64_t>(&std::exit);
  void* frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  for (int i = 0; i < count; ++i) {
    const uint64_t call = reinterpret_cast<uint64_t>(frames[i]) - 1;
    if (call >= begin && call - begin < kLongest) return true;
  }
  return false;
}

}  // namespace redflag::tolerate
