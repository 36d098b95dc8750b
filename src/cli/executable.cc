#include "cli/executable.h"

#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace redflag::cli {
namespace {

template <class T>
bool ReadAt(std::ifstream& file, uint64_t offset, T& to) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&to), sizeof to));
}

}  // namespace

std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

bool IsStaticallyLinked(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file || !ReadAt(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!ReadAt(file, header.e_phoff + i * sizeof part, part) || part.p_type == PT_INTERP) return false;
  }
  // The dynamic loader may be asked by name to load a program.
  const std::string_view base = std::string_view(path).substr(path.rfind('/') + 1);
  return !base.starts_with("ld-") && !base.starts_with("ld.so");
}

}  // namespace redflag::cli
