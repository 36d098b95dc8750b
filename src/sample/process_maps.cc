#include "sample/process_maps.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace redflag {
namespace {

// The address in the file of what is at an offset in it.
bool FileAddress(const std::string& path, uint64_t offset, uint64_t& address) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof part));
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return false;
    constexpr uint64_t kPage = 4096;
    const uint64_t begin = part.p_offset & ~(kPage - 1);
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 || offset < begin ||
        offset >= part.p_offset + part.p_filesz)
      continue;
    address = part.p_vaddr - part.p_offset + offset;
    return true;
  }
  return false;
}

}  // namespace

std::vector<MappedFile> ReadMaps(pid_t pid) {
  std::vector<MappedFile> files;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, rights, device;
    uint64_t offset = 0, inode = 0;
    words >> range >> rights >> std::hex >> offset >> device >> std::dec >> inode;
    std::string path;
    std::getline(words >> std::ws, path);
    const size_t dash = range.find('-');
    if (path.empty() || path[0] != '/' || rights.find('x') == std::string::npos || dash == std::string::npos) continue;
    MappedFile file{.path = path,
                    .code_begin = std::stoull(range.substr(0, dash), nullptr, 16),
                    .code_end = std::stoull(range.substr(dash + 1), nullptr, 16)};
    uint64_t address = 0;
    if (!FileAddress(path, offset, address)) continue;
    file.bias = file.code_begin - address;
    if (!files.empty() && files.back().path == path && files.back().bias == file.bias) {
      files.back().code_end = file.code_end;
    } else {
      files.push_back(std::move(file));
    }
  }
  return files;
}

MappedRange FindKernelCode(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    MappedRange range;
    char dash = 0;
    std::istringstream words(line);
    if (line.ends_with("[vdso]") && words >> std::hex >> range.begin >> dash >> range.end) return range;
  }
  return {};
}

uint64_t SignalsOf(pid_t pid, const std::string& name) {
  return std::strtoull(StatusOf(pid, name).c_str(), nullptr, 16);
}

std::string StatusOf(pid_t pid, const std::string& name) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(name)) continue;
    const size_t begin = line.find_first_not_of(" \t", name.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace redflag
