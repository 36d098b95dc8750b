#include "runtime/environment.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/mem.h"
#include "runtime/abi.h"

namespace redflag::rt {

TextFile::TextFile(const char* path)
    : fd_(arch::Syscall(SYS_openat, AT_FDCWD, reinterpret_cast<int64_t>(path), O_RDONLY | O_CLOEXEC, 0, 0, 0)) {}

TextFile::~TextFile() {
  if (fd_ >= 0) arch::Syscall(SYS_close, fd_, 0, 0, 0, 0, 0);
}

bool TextFile::Fill() {
  if (fd_ < 0) return false;
  filled_ = arch::Syscall(SYS_read, fd_, reinterpret_cast<int64_t>(buffer_), sizeof buffer_, 0, 0, 0);
  at_ = 0;
  if (filled_ < 0) filled_ = 0;
  return filled_ != 0;
}

namespace {

int HexDigit(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// A number in hexadecimal; `c` is its first character, and afterwards the one behind it.
uint64_t ReadHex(TextFile& file, int& c) {
  uint64_t value = 0;
  for (int digit = HexDigit(c); digit >= 0; digit = HexDigit(c)) {
    value = value * 16 + static_cast<uint64_t>(digit);
    c = file.Next();
  }
  return value;
}

bool IsSame(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

uint64_t BiasOf(uint64_t image) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  return header->e_type == ET_EXEC ? 0 : image;
}

void CopyPath(const char* from, char (&to)[512]) {
  size_t length = 0;
  for (; from[length] != '\0' && length < sizeof to - 1; ++length) to[length] = from[length];
  to[length] = '\0';
}

extern "C" void* __libc_stack_end;  // NOLINT: the dynamic loader's: where the kernel put arguments and environment

// As the kernel handed it over: the number of arguments, these, a null, the variables, a null.
bool FindInMemory(const char* name, char* value, size_t capacity) {
  const auto* count = static_cast<const uint64_t*>(__libc_stack_end);
  auto* const* arguments = reinterpret_cast<char* const*>(count + 1);
  if (arguments[*count] != nullptr) return false;
  for (char* const* variable = arguments + *count + 1; *variable != nullptr; ++variable) {
    size_t same = 0;
    while (name[same] != '\0' && name[same] == (*variable)[same]) ++same;
    if (name[same] != '\0' || (*variable)[same] != '=') continue;
    const char* from = *variable + same + 1;
    size_t length = 0;
    for (; from[length] != '\0' && length < capacity; ++length) value[length] = from[length];
    if (length == capacity) return false;
    value[length] = '\0';
    return true;
  }
  return false;
}

// Where there is no /proc: what the dynamic loader knows. Files that come and go later are in the same list, which others may change
// meanwhile: so it is read once, at the start.
class LoadedFiles {
 public:
  void Read() {
    for (const link_map* at = _r_debug.r_map; at != nullptr && count_ < kMost; at = at->l_next) {
      const bool is_program = at == _r_debug.r_map;
      const auto* header = reinterpret_cast<const Elf64_Ehdr*>(at->l_addr);
      if (!is_program && at->l_addr == 0) continue;
      const auto* parts =
          reinterpret_cast<const Elf64_Phdr*>(is_program ? getauxval(AT_PHDR) : at->l_addr + header->e_phoff);
      const uint64_t part_count = is_program ? getauxval(AT_PHNUM) : header->e_phnum;
      const char* path = is_program ? reinterpret_cast<const char*>(getauxval(AT_EXECFN)) : at->l_name;
      if (path == nullptr || path[0] == '\0') continue;
      for (uint64_t i = 0; i < part_count; ++i) {
        if (parts[i].p_type != PT_LOAD || (parts[i].p_flags & PF_X) == 0) continue;
        const uint64_t begin = at->l_addr + parts[i].p_vaddr;
        files_[count_++] = {.begin = begin, .end = begin + parts[i].p_memsz, .bias = at->l_addr, .path = path};
        break;
      }
    }
  }

  void ForEach(bool (*visit)(const MappedFile& file, void* data), void* data) const {
    for (uint32_t i = 0; i < count_; ++i) {
      MappedFile file{.begin = files_[i].begin, .end = files_[i].end, .bias = files_[i].bias, .path = {}};
      CopyPath(files_[i].path, file.path);
      if (!visit(file, data)) return;
    }
  }

 private:
  static constexpr uint32_t kMost = 256;
  struct Loaded {
    uint64_t begin, end, bias;
    const char* path;
  };
  Loaded files_[kMost] = {};
  uint32_t count_ = 0;
};

constinit LoadedFiles loaded_files;

}  // namespace

void ReadLoadedFiles() {
  if (!TextFile("/proc/self/maps").is_open()) loaded_files.Read();
}

// Lines: begin-end perms offset device inode path. A file's first part (offset 0) comes before its executable one.
void ForEachMappedFile(bool (*visit)(const MappedFile& file, void* data), void* data) {
  TextFile maps("/proc/self/maps");
  if (!maps.is_open()) return loaded_files.ForEach(visit, data);
  uint64_t image = 0;
  for (int c = maps.Next(); c >= 0; c = maps.Next()) {
    MappedFile file;
    file.begin = ReadHex(maps, c);
    c = maps.Next();
    file.end = ReadHex(maps, c);
    const bool readable = maps.Next() == 'r';
    maps.Next();
    const bool executable = maps.Next() == 'x';
    maps.Next();
    maps.Next();
    c = maps.Next();
    const uint64_t offset = ReadHex(maps, c);
    for (int spaces = 0; c >= 0 && c != '\n'; c = maps.Next()) {  // device, inode
      if (c == ' ' && ++spaces > 2) break;
    }
    while (c == ' ') c = maps.Next();
    size_t length = 0;
    for (; c >= 0 && c != '\n'; c = maps.Next()) {
      if (length < sizeof file.path - 1) file.path[length++] = static_cast<char>(c);
    }
    file.path[length] = '\0';
    if (file.path[0] != '/') continue;
    if (offset == 0 && readable) image = file.begin;
    if (!executable || image == 0) continue;
    file.bias = BiasOf(image);
    if (!visit(file, data)) return;
  }
}

void ForEachWritableMapping(void (*visit)(uint64_t begin, uint64_t end, void* data), void* data) {
  TextFile maps("/proc/self/maps");
  for (int c = maps.Next(); c >= 0; c = maps.Next()) {
    const uint64_t begin = ReadHex(maps, c);
    c = maps.Next();
    const uint64_t end = ReadHex(maps, c);
    maps.Next();
    const bool writable = maps.Next() == 'w';
    while (c >= 0 && c != '\n') c = maps.Next();
    if (writable) visit(begin, end, data);
  }
}

// The second number of statm, in pages.
uint64_t ResidentBytes() {
  TextFile statm("/proc/self/statm");
  int c = statm.Next();
  while (c >= '0' && c <= '9') c = statm.Next();
  uint64_t pages = 0;
  for (c = statm.Next(); c >= '0' && c <= '9'; c = statm.Next()) pages = pages * 10 + static_cast<uint64_t>(c - '0');
  return pages * 4096;
}

// Of the lines "Name:\tvalue", the one of TracerPid.
bool IsTraced() {
  static constexpr char kLine[] = "\nTracerPid:\t";
  TextFile status("/proc/self/status");
  size_t same = 0;
  for (int c = status.Next(); c >= 0; c = status.Next()) {
    if (kLine[same] == '\0') return c != '0';
    same = c == kLine[same] ? same + 1 : c == kLine[0] ? 1 : 0;
  }
  return false;
}

bool IsPrivileged() { return getauxval(AT_SECURE) != 0; }

bool GetEnvironment(const char* name, char* value, size_t capacity) {
  if (IsPrivileged()) return false;
  TextFile environment("/proc/self/environ");
  if (!environment.is_open()) return FindInMemory(name, value, capacity);
  for (int c = environment.Next(); c >= 0; c = environment.Next()) {
    const char* expected = name;
    while (*expected != '\0' && c == *expected) {
      ++expected;
      c = environment.Next();
    }
    if (*expected == '\0' && c == '=') {
      size_t length = 0;
      for (c = environment.Next(); c > 0; c = environment.Next()) {
        if (length + 1 >= capacity) return false;
        value[length++] = static_cast<char>(c);
      }
      value[length] = '\0';
      return true;
    }
    while (c > 0) c = environment.Next();
  }
  return false;
}

bool HasTsanForm() {
  char text[8];
  return GetEnvironment("REDFLAG_TEXT", text, sizeof text) && IsSame(text, "tsan");
}

Flags FlagsFromEnvironment() {
  Flags flags;
  static char text[4096];
  // As ThreadSanitizer does it: what the program prints after a race comes after the report.
  if (HasTsanForm()) {
    flags.sync_reports = true;
    flags.watch_ms = 0;
    flags.report_thread_leaks = true;
    flags.deadlocks_by_order = true;
    flags.second_deadlock_stack = false;
    flags.report_barrier_in_use = true;
    flags.ignore_noninstrumented_modules = false;
    flags.longest_deadlock = 20;
    flags.die_after_fork = true;
    flags.strict_called_from_lib = true;
  }
  // What the program wants unless the user says otherwise. It may name options of other tools, so nobody complains.
  if (__tsan_default_options != nullptr) {
    ParseFlags(__tsan_default_options(), flags, [](const char*, const char*) {});
  }
  // Likewise, by the user of another tool.
  if (GetEnvironment("TSAN_OPTIONS", text, sizeof text)) ParseFlags(text, flags, [](const char*, const char*) {});
  if (!GetEnvironment("REDFLAG_OPTIONS", text, sizeof text)) return flags;
  ParseFlags(text, flags, [](const char* word, const char* nearest) {
    if (nearest != nullptr) {
      Complain("REDFLAG_OPTIONS: there is no option '", word, "'; did you mean ", nearest);
    } else {
      Complain("REDFLAG_OPTIONS: can't read '", word, "'");
    }
  });
  return flags;
}

Line& Line::Add(const char* text) {
  while (*text != '\0' && length_ < sizeof text_ - 1) text_[length_++] = *text++;
  return *this;
}

Line& Line::Add(uint64_t number, unsigned base) {
  char digits[24];
  size_t at = sizeof digits;
  digits[--at] = '\0';
  do {
    digits[--at] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  return Add(digits + at);
}

const char* Line::text() {
  text_[length_] = '\0';
  return text_;
}

void Line::Print() const {
  arch::Syscall(SYS_write, 2, reinterpret_cast<int64_t>(text_), static_cast<int64_t>(length_), 0, 0, 0);
}

void Complain(const char* first, const char* second, const char* third, const char* fourth) {
  const auto pid = static_cast<uint64_t>(arch::Syscall(SYS_getpid, 0, 0, 0, 0, 0, 0));
  Line line;
  line.Add("==").Add(pid).Add("== ").Add(first).Add(second).Add(third).Add(fourth).Add("\n").Print();
}

}  // namespace redflag::rt
