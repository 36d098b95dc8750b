#include "cli/executable.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace redflag::cli {
namespace {

template <class T>
bool ReadAt(std::ifstream& file, uint64_t offset, T& to) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&to), sizeof to));
}

bool ReadHeader(std::ifstream& file, Elf64_Ehdr& header) {
  return file && ReadAt(file, 0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64;
}

template <class T>
std::vector<T> ReadSection(std::ifstream& file, const Elf64_Shdr& section, uint64_t file_bytes) {
  if (section.sh_offset > file_bytes || section.sh_size > file_bytes - section.sh_offset) return {};
  std::vector<T> content(section.sh_size / sizeof(T));
  file.seekg(static_cast<std::streamoff>(section.sh_offset));
  const auto bytes = static_cast<std::streamsize>(content.size() * sizeof(T));
  if (!file.read(reinterpret_cast<char*>(content.data()), bytes)) return {};
  return content;
}

bool Defines(const std::vector<Elf64_Sym>& symbols, const std::vector<char>& names, std::string_view name) {
  for (const Elf64_Sym& symbol : symbols) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
    const std::string_view rest(names.data() + symbol.st_name, names.size() - symbol.st_name);
    if (rest.starts_with(name) && rest.size() > name.size() && rest[name.size()] == '\0') return true;
  }
  return false;
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
  if (!ReadHeader(file, header) || header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!ReadAt(file, header.e_phoff + i * sizeof part, part) || part.p_type == PT_INTERP) return false;
  }
  // The dynamic loader may be asked by name to load a program.
  const std::string_view base = std::string_view(path).substr(path.rfind('/') + 1);
  return !base.starts_with("ld-") && !base.starts_with("ld.so");
}

bool HasOwnRaceDetector(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto file_bytes = static_cast<uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
  Elf64_Ehdr header{};
  if (!ReadHeader(file, header) || header.e_shentsize != sizeof(Elf64_Shdr)) return false;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (uint64_t i = 0; i < sections.size(); ++i) {
    if (!ReadAt(file, header.e_shoff + i * sizeof(Elf64_Shdr), sections[i])) return false;
  }
  return std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& section) {
    const bool has_symbols = section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB;
    if (!has_symbols || section.sh_link >= sections.size()) return false;
    return Defines(ReadSection<Elf64_Sym>(file, section, file_bytes),
                   ReadSection<char>(file, sections[section.sh_link], file_bytes), "__tsan_init");
  });
}

}  // namespace redflag::cli
