#include "runtime/flags.h"

#include <cstddef>
#include <initializer_list>

namespace redflag::rt {
namespace {

bool IsSeparator(char c) { return c == ':' || c == ' ' || c == ',' || c == '\n' || c == '\t'; }

size_t Length(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

bool Equal(const char* text, size_t length, const char* word) {
  size_t i = 0;
  while (i < length && word[i] == text[i] && word[i] != '\0') ++i;
  return i == length && word[i] == '\0';
}

bool ParseInt(const char* text, size_t length, int& value) {
  int sign = 1;
  size_t i = 0;
  if (length > 1 && text[0] == '-') {
    sign = -1;
    i = 1;
  }
  if (i == length || length > 10) return false;
  int64_t parsed = 0;
  for (; i < length; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    parsed = parsed * 10 + (text[i] - '0');
  }
  if (parsed > INT32_MAX) return false;
  value = static_cast<int>(sign * parsed);
  return true;
}

bool ParseValue(const char* text, size_t length, int& value) { return ParseInt(text, length, value); }

bool ParseValue(const char* text, size_t length, bool& value) {
  for (const char* word : {"1", "true", "yes"}) {
    if (Equal(text, length, word)) return value = true;
  }
  for (const char* word : {"0", "false", "no"}) {
    if (Equal(text, length, word)) {
      value = false;
      return true;
    }
  }
  return false;
}

bool ParseValue(const char* text, size_t length, OnRace& value) {
  static constexpr const char* kWords[] = {"report", "stop",  "core",        "abort",
                                           "end",    "throw", "stop-thread", "callback"};  // as OnRace
  for (size_t i = 0; i < sizeof kWords / sizeof *kWords; ++i) {
    if (!Equal(text, length, kWords[i])) continue;
    value = OnRace{static_cast<uint8_t>(i)};
    return true;
  }
  return false;
}

bool ParseValue(const char* text, size_t length, Transactions& value) {
  if (Equal(text, length, "all")) {
    value = Transactions::kAll;
  } else if (Equal(text, length, "common")) {
    value = Transactions::kCommon;
  } else if (Equal(text, length, "reads")) {
    value = Transactions::kReads;
  } else {
    return false;
  }
  return true;
}

bool ParseValue(const char* text, size_t length, Path& value) {
  const size_t before = Length(value.text);
  const size_t begin = before == 0 ? 0 : before + 1;  // behind a semicolon
  if (length == 0 || begin + length >= sizeof value.text) return false;
  if (before != 0) value.text[before] = ';';
  for (size_t i = 0; i < length; ++i) value.text[begin + i] = text[i];
  value.text[begin + length] = '\0';
  return true;
}

// Levenshtein distance, up to 31 characters.
size_t Distance(const char* a, size_t a_length, const char* b, size_t b_length) {
  constexpr size_t kMax = 32;
  if (a_length >= kMax || b_length >= kMax) return kMax;
  size_t row[kMax];
  for (size_t j = 0; j <= b_length; ++j) row[j] = j;
  for (size_t i = 1; i <= a_length; ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_length; ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      size_t least = row[j] + 1;
      if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
      row[j] = change < least ? change : least;
    }
  }
  return row[b_length];
}

const char* Nearest(const char* name, size_t length) {
  const char* nearest = nullptr;
  size_t least = length / 2 + 1;
#define REDFLAG_NEAREST(type, flag, initial, help)                                              \
  if (const size_t distance = Distance(name, length, #flag, Length(#flag)); distance < least) { \
    least = distance;                                                                           \
    nearest = #flag;                                                                            \
  }
  REDFLAG_FLAGS(REDFLAG_NEAREST)
#undef REDFLAG_NEAREST
  return nearest;
}

}  // namespace

void ParseFlags(const char* text, Flags& flags, void (*complain)(const char* word, const char* nearest)) {
  while (text != nullptr && *text != '\0') {
    if (IsSeparator(*text)) {
      ++text;
      continue;
    }
    const char* name = text;
    while (*text != '\0' && *text != '=' && !IsSeparator(*text)) ++text;
    const auto name_length = static_cast<size_t>(text - name);
    const char* value = *text == '=' ? ++text : text;
    const char quote = *text == '\'' || *text == '"' ? *text : '\0';
    if (quote != '\0') value = ++text;
    while (*text != '\0' && (quote != '\0' ? *text != quote : !IsSeparator(*text))) ++text;
    const auto value_length = static_cast<size_t>(text - value);
    if (quote != '\0' && *text == quote) ++text;

    bool known = false;
    bool good = false;
#define REDFLAG_PARSE(type, flag, initial, help)        \
  if (Equal(name, name_length, #flag)) {                \
    known = true;                                       \
    good = ParseValue(value, value_length, flags.flag); \
  }
    REDFLAG_FLAGS(REDFLAG_PARSE)
#undef REDFLAG_PARSE
    if (good) continue;
    char word[64];
    const auto whole = static_cast<size_t>(text - name);
    const size_t shown = whole < sizeof word - 1 ? whole : sizeof word - 1;
    for (size_t i = 0; i < shown; ++i) word[i] = name[i];
    word[shown] = '\0';
    complain(word, known ? nullptr : Nearest(name, name_length));
  }
}

}  // namespace redflag::rt
