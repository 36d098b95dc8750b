#include "trace/trace_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "trace/text_lexer.h"

namespace redflag {

TraceError ErrorAt(uint32_t line_number, std::string_view line, size_t offset, std::string_view message) {
  constexpr size_t kWidth = 120;
  constexpr size_t kBefore = 80;
  constexpr std::string_view kCut = "...";
  std::vector<std::string_view> characters;  // bytes that cannot be shown are a '?' each
  size_t before = 0;
  for (size_t at = 0; at < line.size();) {
    if (at < offset) ++before;
    std::optional<Character> character = DecodeCharacter(line, at);
    bool good = character && (character->code == '\t' || !IsControl(character->code));
    characters.push_back(good ? line.substr(at, character->length) : "?");
    at += character ? character->length : 1;
  }
  size_t begin = characters.size() > kWidth && before > kBefore ? before - kBefore : 0;
  size_t end = std::min(characters.size(), begin + kWidth);
  TraceError error;
  error.line = line_number;
  error.column = static_cast<uint32_t>(before + 1);
  error.message = message;
  error.source_column = static_cast<uint32_t>(before - begin + 1);
  if (begin > 0) {
    error.source = kCut;
    error.source_column += static_cast<uint32_t>(kCut.size());
  }
  for (size_t i = begin; i < end; ++i) error.source += characters[i];
  if (end < characters.size()) error.source += kCut;
  return error;
}

std::string FormatError(const TraceError& error, std::string_view name) {
  std::string text = fmt::format("{}:{}:{}: error: {}\n", name, error.line, error.column, error.message);
  if (error.source.empty()) return text;
  std::string caret;
  for (size_t at = 0, column = 1; column < error.source_column; ++column) {
    std::optional<Character> character = at < error.source.size() ? DecodeCharacter(error.source, at) : std::nullopt;
    caret += character && character->code == '\t' ? '\t' : ' ';
    at += character ? character->length : 1;
  }
  return text + fmt::format("  {}\n  {}^\n", error.source, caret);
}

}  // namespace redflag
