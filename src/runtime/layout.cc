#include "runtime/layout.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/arena.h"
#include "runtime/shadow.h"

namespace redflag::rt {
namespace {

constexpr uint64_t kWindow = uint64_t{1} << Shadow::kWindowBits;
constexpr uint64_t kToGrow = uint64_t{1} << 39;  // 512 GiB
constexpr uint64_t kNearby = uint64_t{1} << 35;  // 32 GiB: what else the kernel puts beside

// Part of the window, which is round.
struct Arc {
  uint64_t begin;
  uint64_t length;
  bool IsApartFrom(const Arc& other) const {
    return (other.begin - begin) % kWindow >= length && (begin - other.begin) % kWindow >= other.length;
  }
};

// A file of /proc as a whole, with a null behind it; null if it is longer than `capacity` or can't be read.
char* ReadWhole(const char* path, uint64_t capacity, uint64_t& length) {
  const int64_t fd = arch::Syscall(SYS_openat, AT_FDCWD, reinterpret_cast<int64_t>(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  auto* text = static_cast<char*>(MapPages(capacity));
  length = 0;
  int64_t read = 0;
  do {
    read = arch::Syscall(SYS_read, fd, reinterpret_cast<int64_t>(text + length),
                         static_cast<int64_t>(capacity - 1 - length));
    if (read > 0) length += static_cast<uint64_t>(read);
  } while (read > 0 && length < capacity - 1);
  arch::Syscall(SYS_close, fd);
  return read == 0 ? text : nullptr;
}

// The strings of such a file, as exec takes them.
char** WordsOf(const char* path) {
  constexpr uint64_t kCapacity = uint64_t{4} << 20;
  uint64_t length = 0;
  char* text = ReadWhole(path, kCapacity, length);
  if (text == nullptr) return nullptr;
  auto** words = static_cast<char**>(MapPages((length + 1) * sizeof(char*)));
  uint64_t count = 0;
  for (uint64_t i = 0; i < length; ++i) {
    if (i == 0 || text[i - 1] == '\0') words[count++] = text + i;
  }
  return words;
}

}  // namespace

bool Layout::FoldsApart() const {
#ifdef REDFLAG_SMALL_WINDOW
  return true;  // the emulator sees to it
#endif
  const Arc program{.begin = image % kWindow, .length = heap_end - image + kToGrow};
  const uint64_t above = stack > libraries && stack - libraries < kNearby ? stack - libraries : kNearby;
  const Arc mapped{.begin = (libraries - kToGrow) % kWindow, .length = kToGrow + above};
  const Arc first_stack{.begin = (stack - kNearby) % kWindow, .length = kNearby + 4096};
  return program.IsApartFrom(mapped) && program.IsApartFrom(first_stack) &&
         // The stack often lies directly above what is mapped: that is one place.
         (mapped.IsApartFrom(first_stack) || stack - libraries < kWindow / 2);
}

Layout CurrentLayout() {
  // The dynamic linker is where libraries are. Without one (it was started as the program itself, or there is none) this one is, unless it is part of the program.
  const uint64_t linker = getauxval(AT_BASE);
  Layout layout{.image = getauxval(AT_PHDR),
                .heap_end = static_cast<uint64_t>(arch::Syscall(SYS_brk, 0)),
                .libraries = linker != 0 ? linker : reinterpret_cast<uint64_t>(&CurrentLayout),
                .stack = getauxval(AT_EXECFN)};
  if (layout.heap_end < layout.image) layout.heap_end = layout.image;
  return layout;
}

void StartWithoutRandomization() {
  const int64_t now = arch::Syscall(SYS_personality, 0xffffffff);
  if (now < 0 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  char** arguments = WordsOf("/proc/self/cmdline");
  char** environment = WordsOf("/proc/self/environ");
  if (arguments == nullptr || environment == nullptr || arguments[0] == nullptr) return;
  if (arch::Syscall(SYS_personality, now | ADDR_NO_RANDOMIZE) < 0) return;
  arch::Syscall(SYS_execve, reinterpret_cast<int64_t>("/proc/self/exe"), reinterpret_cast<int64_t>(arguments),
                reinterpret_cast<int64_t>(environment));
  arch::Syscall(SYS_personality, now);
}

}  // namespace redflag::rt
