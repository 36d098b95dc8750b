// The lexical layer of the text trace format (docs/trace-format.md): bytes to lines, lines to tokens, and the
// spelling of names, numbers, quoted text and positions. Used by the reader and, for spelling, by the writer.
//
// Invariants:
// - At most one line is in memory, and of a line that is too long no more than the limit.
// - A line that LineSource hands out is valid UTF-8 without control characters other than tab, so that every
//   part of it can be shown to a user.
// - Whatever Quote() and SpellPosition() write, Unquote() and ParsePosition() read back.
//
// One thread at a time.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace redflag {

// Bytes. They keep every line that the writer makes under the reader's limit for a line.
inline constexpr size_t kMaxNameLength = 1024;
inline constexpr size_t kMaxTextLength = 4096;  // function names, thread texts, file names, reasons

// Thrown within the reader at the first thing that is wrong with a line; `offset` is a byte of that line.
struct LineError {
  size_t offset;
  std::string message;
};

template <class... Args>
[[noreturn]] void Fail(size_t offset, fmt::format_string<Args...> format, Args&&... args) {
  throw LineError{offset, fmt::format(format, std::forward<Args>(args)...)};
}

class LineSource {
 public:
  LineSource(std::istream& in, size_t max_line);

  // Moves to the next line; false at the end of the input. Throws LineError.
  bool Next();

  // The current line without its LF or CRLF; valid until the next call of Next().
  std::string_view line() const { return line_; }
  uint32_t number() const { return number_; }  // from 1

 private:
  bool Refill();

  std::istream& in_;
  const size_t max_line_;
  std::vector<char> chunk_;
  size_t begin_ = 0;  // the part of chunk_ that is not used up
  size_t end_ = 0;
  std::string partial_;  // a line that began in an earlier chunk
  std::string_view line_;
  uint32_t number_ = 0;
};

struct Token {
  std::string_view text;  // empty: the line has ended
  size_t offset = 0;      // where it starts; at the end of a line, right behind the last token
};

// The tokens of one line. A `#` starts a comment except inside quotes; quotes open at the start of a token,
// or behind its leading `@`.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : line_(line) {}

  // Both throw LineError at a quote that is not closed.
  Token Peek() const;
  Token Next();

  // For what is not made of tokens: the rest of the line from the next token on, comments included.
  std::string_view Rest() const { return line_.substr(Peek().offset); }
  // Moves behind the first `count` bytes of Rest().
  void SkipInRest(size_t count) { used_ = Peek().offset + count; }

 private:
  std::string_view line_;
  size_t used_ = 0;
};

// How many leading bytes of `text` are a name: [A-Za-z_][A-Za-z0-9_.$-]*, with `::` between two such parts.
size_t NameLength(std::string_view text);
bool IsName(std::string_view text);

// Decimal, or hexadecimal with 0x. Nothing if it is not a number or does not fit.
std::optional<uint64_t> ParseNumber(std::string_view text);

// Whether a token is quoted text and nothing else.
bool IsQuoted(std::string_view token);
// `token` is quoted. Throws LineError.
std::string Unquote(const Token& token);
std::string Quote(std::string_view text);

// `token` begins with `@`. Throws LineError.
SourcePosition ParsePosition(const Token& token);
std::string SpellPosition(const SourcePosition& position);

// A word of the input in quotes for a message, no longer than a reader of the message cares for.
std::string Shown(std::string_view word);

// The character at text[at], and how many bytes it has; nothing if it is not valid UTF-8.
struct Character {
  char32_t code;
  size_t length;
};
std::optional<Character> DecodeCharacter(std::string_view text, size_t at);
bool IsControl(char32_t code);

}  // namespace redflag
