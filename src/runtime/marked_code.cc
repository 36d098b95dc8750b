#include "runtime/marked_code.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstddef>

#include "base/arch.h"
#include "events/place.h"
#include "runtime/environment.h"
#include "runtime/helper.h"

namespace redflag::rt {

constinit MarkedCodeHeader* MarkedCode::table_ = nullptr;
constinit bool MarkedCode::has_locks_ = false;

namespace {

// The types of rules that are about code.
constexpr const char* kTypes[] = {"fun",    "function",        "fun_r", "type",   "src",     "file",      "obj",
                                  "object", "called_from_lib", "lock",  "rdlock", "trylock", "tryrdlock", "unlock"};

bool IsSameWord(const char* word, const char* type) {
  while (*word != '\0' && *word == *type) ++word, ++type;
  return *word == *type;
}

// Does a line of the file begin with one of them? No line is read further than to its colon.
bool HasRules(const char* path) {
  TextFile file(path);
  for (int c = file.Next(); c >= 0; c = file.Next()) {
    char word[20];
    size_t length = 0;
    while (c == ' ' || c == '\t') c = file.Next();
    for (; c >= 0 && c != '\n' && c != ':' && length < sizeof word - 1; c = file.Next())
      word[length++] = static_cast<char>(c);
    word[length] = '\0';
    if (c == ':') {
      for (const char* type : kTypes) {
        if (IsSameWord(word, type)) return true;
      }
    }
    while (c >= 0 && c != '\n') c = file.Next();
  }
  return false;
}

// Names with semicolons in between.
bool AnyHasRules(const char* names) {
  while (*names != '\0') {
    char path[sizeof(Path::text)];
    size_t length = 0;
    while (*names != '\0' && *names != ';') path[length++] = *names++;
    path[length] = '\0';
    if (length != 0 && HasRules(path)) return true;
    if (*names == ';') ++names;
  }
  return false;
}

const MarkedRange* FindIn(const MarkedRange* ranges, uint64_t count, uint64_t address) {
  uint64_t low = 0;
  uint64_t high = count;  // the first that begins behind the address
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (ranges[middle].begin <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return high != 0 && address < ranges[high - 1].end ? &ranges[high - 1] : nullptr;
}

const MarkedRange* RangesOf(const MarkedCodeHeader* table) { return reinterpret_cast<const MarkedRange*>(table + 1); }

// Runs `redflag mark` to its end; "no" if it has nothing to tell.
bool Ask(int64_t fd, const char* rules, bool is_first) {
  static char command[512];
  if (IsPrivileged() || !FindCommand(command, sizeof command)) return false;
  Line number;
  Line pid;
  number.Add(static_cast<uint64_t>(fd));
  pid.Add(static_cast<uint64_t>(arch::Syscall(SYS_getpid)));
  const char* arguments[] = {command, "mark", "--fd", number.text(), "--pid", pid.text(), "--rules", rules, nullptr};
  const char* environment[] = {nullptr};
  QuietChild quiet(is_first);
  const int64_t child = quiet.Fork();
  if (child == 0) {
    quiet.RestoreSignals();
    arch::Syscall(SYS_execve, reinterpret_cast<int64_t>(command), reinterpret_cast<int64_t>(arguments),
                  reinterpret_cast<int64_t>(environment));
    arch::Syscall(SYS_exit_group, 127);
  }
  return child > 0 && quiet.Wait(child) == 0;
}

MarkedCodeHeader* Make(const char* rules, bool is_first) {
  const int64_t fd =
      arch::Syscall(SYS_memfd_create, reinterpret_cast<int64_t>("redflag-marks"), 0);  // stays open in the child
  if (fd < 0) return nullptr;
  MarkedCodeHeader* table = nullptr;
  const bool is_made = Ask(fd, rules, is_first);
  const int64_t bytes = arch::Syscall(SYS_lseek, fd, 0, 2 /* SEEK_END */);
  if (is_made && bytes >= static_cast<int64_t>(sizeof *table)) {
    const int64_t at = arch::Syscall(SYS_mmap, 0, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at > 0) table = reinterpret_cast<MarkedCodeHeader*>(at);
  }
  arch::Syscall(SYS_close, fd);
  if (table == nullptr) {
    Complain("the rules about code take no effect in the program, only in reports: `redflag mark` failed");
    return nullptr;
  }
  const uint64_t whole = sizeof *table + (table->ranges + table->modules) * sizeof(MarkedRange);
  const bool is_whole = table->magic == MarkedCodeHeader::kMagic && whole == static_cast<uint64_t>(bytes);
  return is_whole ? table : nullptr;
}

}  // namespace

const MarkedRange* MarkedCode::At(uint64_t place) {
  const MarkedCodeHeader* table = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
  return table == nullptr ? nullptr : FindIn(RangesOf(table), table->ranges, (place & kPlaceMask) - 1);
}

void MarkedCode::Load(const Flags& flags, uint64_t place) {
  static constinit int wanted = -1;  // not known yet
  if (wanted < 0) wanted = AnyHasRules(flags.suppressions.text) ? 1 : 0;
  if (wanted == 0) return;
  if (const MarkedCodeHeader* table = table_;
      table != nullptr && FindIn(RangesOf(table) + table->ranges, table->modules, place) != nullptr) {
    return;
  }
  if (MarkedCodeHeader* table = Make(flags.suppressions.text, table_ == nullptr); table != nullptr) {
    __atomic_store_n(&table_, table, __ATOMIC_RELEASE);
    __atomic_store_n(&has_locks_, (table->all_marks & Raw(kAnyLockMark)) != 0, __ATOMIC_RELEASE);
  } else {
    wanted = 0;
  }
}

}  // namespace redflag::rt
