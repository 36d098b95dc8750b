#include "runtime/library_rules.h"

#include <cstddef>

#include "runtime/abi.h"
#include "runtime/environment.h"
#include "runtime/giving_up.h"
#include "runtime/rule_pattern.h"

namespace redflag::rt {

constinit LibraryRules::Rule LibraryRules::rules_[kMost] = {};
constinit uint32_t LibraryRules::count_ = 0;
constinit bool LibraryRules::is_read_ = false;
constinit AtomicMem::Lock LibraryRules::lock_;

namespace {

bool IsSamePath(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

bool IsBlankIn(int c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

// Lines "type:pattern", with blanks around either; `next` has one character at a time, and -1 at the end.
template <class Next>
void LibraryRules::ReadLines(Next next) {
  static constexpr char kType[] = "called_from_lib:";
  for (int c = next(); c >= 0; c = next()) {
    while (IsBlankIn(c)) c = next();
    size_t same = 0;
    for (; kType[same] != '\0' && c == kType[same]; ++same) c = next();
    if (kType[same] == '\0' && count_ < kMost) {
      while (IsBlankIn(c)) c = next();
      Rule& rule = rules_[count_];
      size_t length = 0;
      for (; c >= 0 && c != '\n' && length < sizeof rule.pattern; c = next())
        rule.pattern[length++] = static_cast<char>(c);
      const bool fits = length < sizeof rule.pattern;
      while (fits && length != 0 && IsBlankIn(rule.pattern[length - 1])) --length;
      if (fits && length != 0) {
        rule.pattern[length] = '\0';
        __atomic_store_n(&count_, count_ + 1, __ATOMIC_RELEASE);
      }
    }
    while (c >= 0 && c != '\n') c = next();
    if (c < 0) break;
  }
}

void LibraryRules::Read(const Flags& flags) {
  is_read_ = true;
  if (!flags.strict_called_from_lib) return;
  if (__tsan_default_suppressions != nullptr) {
    const char* text = __tsan_default_suppressions();
    ReadLines([&] { return text == nullptr || *text == '\0' ? -1 : static_cast<unsigned char>(*text++); });
  }
  const char* names = flags.suppressions.text;
  while (*names != '\0') {
    char path[sizeof(Path::text)];
    size_t length = 0;
    while (*names != '\0' && *names != ';') path[length++] = *names++;
    path[length] = '\0';
    TextFile file(path);
    ReadLines([&] { return file.Next(); });
    if (*names == ';') ++names;
  }
}

void LibraryRules::Compare(Rule& rule, const char* path) {
  if (!MatchesRule(rule.pattern, path)) return;
  if (rule.library[0] == '\0') {
    for (size_t i = 0; i < sizeof rule.library - 1 && path[i] != '\0'; ++i) rule.library[i] = path[i];
  }
  if (IsSamePath(rule.library, path)) {
    rule.is_loaded = true;
    return;
  }
  Line line;
  line.Add("called_from_lib suppression '").Add(rule.pattern).Add("' is matched against 2 libraries: '");
  GiveUp(line.Add(rule.library).Add("' and '").Add(path).Add("'").text());
}

void LibraryRules::Check(const Flags& flags) {
  const ScopedLock guard(lock_);
  if (!is_read_) Read(flags);
  if (count_ == 0) return;
  for (uint32_t i = 0; i < count_; ++i) rules_[i].is_loaded = false;
  ForEachMappedFile(
      [](const MappedFile& file, void*) {
        for (uint32_t i = 0; i < count_; ++i) Compare(rules_[i], file.path);
        return true;
      },
      nullptr);
  for (uint32_t i = 0; i < count_; ++i) {
    const Rule& rule = rules_[i];
    if (rule.is_loaded || rule.library[0] == '\0') continue;
    Line line;
    line.Add("library '").Add(rule.library).Add("' that was matched against called_from_lib suppression '");
    GiveUp(line.Add(rule.pattern).Add("' is unloaded").text());
  }
}

}  // namespace redflag::rt
