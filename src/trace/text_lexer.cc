#include "trace/text_lexer.h"

#include <algorithm>

namespace redflag {
namespace {

constexpr size_t kChunk = 65536;

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c) || c == '.' || c == '$' || c == '-'; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void CheckCharacters(std::string_view line) {
  for (size_t at = 0; at < line.size();) {
    char c = line[at];
    if ((c >= ' ' && c <= '~') || c == '\t') {
      ++at;
      continue;
    }
    if (c == '\0') throw LineError{at, "a NUL byte: this is not a text file"};
    std::optional<Character> character = DecodeCharacter(line, at);
    if (!character) Fail(at, "byte {:#04x} is not valid UTF-8", static_cast<uint8_t>(c));
    if (IsControl(character->code)) {
      Fail(at, "control character U+{:04X}", static_cast<uint32_t>(character->code));
    }
    at += character->length;
  }
}

// The offset behind the quote that closes the one at text[open]; nothing if none does.
std::optional<size_t> BehindQuoted(std::string_view text, size_t open) {
  for (size_t at = open + 1; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return std::nullopt;
}

// Takes ":N" off the end of `text`; nothing, and `text` as it was, if it does not end so.
std::optional<uint32_t> TakeTrailingNumber(std::string_view& text) {
  size_t digits = text.size();
  while (digits > 0 && IsDigit(text[digits - 1])) --digits;
  if (digits == text.size() || digits == 0 || text[digits - 1] != ':') return std::nullopt;
  std::optional<uint64_t> number = ParseNumber(text.substr(digits));
  if (!number || *number > UINT32_MAX) return std::nullopt;
  text = text.substr(0, digits - 1);
  return static_cast<uint32_t>(*number);
}

}  // namespace

LineSource::LineSource(std::istream& in, size_t max_line)
    : in_(in), max_line_(std::min(max_line, SIZE_MAX - 1)), chunk_(kChunk) {}

bool LineSource::Refill() {
  in_.read(chunk_.data(), static_cast<std::streamsize>(chunk_.size()));
  begin_ = 0;
  end_ = static_cast<size_t>(in_.gcount());
  if (in_.bad()) throw LineError{0, "the file cannot be read"};
  return end_ > 0;
}

bool LineSource::Next() {
  partial_.clear();
  line_ = {};
  if (begin_ == end_ && !Refill()) return false;
  if (number_ == UINT32_MAX) Fail(0, "more than {} lines", UINT32_MAX);
  ++number_;
  bool fits = true;
  bool complete = false;
  do {
    std::string_view chunk(chunk_.data() + begin_, end_ - begin_);
    size_t length = std::min(chunk.find('\n'), chunk.size());
    complete = length < chunk.size();
    begin_ += length + (complete ? 1 : 0);
    // One byte more than a line may have, in case that it is the CR of a CRLF.
    size_t room = max_line_ + 1 - partial_.size();
    fits = length <= room;
    if (complete && fits && partial_.empty()) {
      line_ = chunk.substr(0, length);
    } else {
      partial_.append(chunk.substr(0, std::min(length, room)));
      line_ = partial_;
    }
  } while (fits && !complete && Refill());
  if (fits && line_.ends_with('\r')) line_.remove_suffix(1);
  if (line_.size() > max_line_) Fail(max_line_, "the line has more than {} bytes", max_line_);
  CheckCharacters(line_);
  return true;
}

Token Cursor::Peek() const {
  size_t begin = used_;
  while (begin < line_.size() && IsBlank(line_[begin])) ++begin;
  if (begin == line_.size() || line_[begin] == '#') return Token{{}, used_};
  size_t end = begin;
  size_t quote = line_[begin] == '@' ? begin + 1 : begin;
  if (quote < line_.size() && line_[quote] == '"') {
    std::optional<size_t> behind = BehindQuoted(line_, quote);
    if (!behind) throw LineError{quote, "the quote is not closed"};
    end = *behind;
  }
  while (end < line_.size() && !IsBlank(line_[end]) && line_[end] != '#') ++end;
  return Token{line_.substr(begin, end - begin), begin};
}

Token Cursor::Next() {
  Token token = Peek();
  used_ = token.offset + token.text.size();
  return token;
}

size_t NameLength(std::string_view text) {
  if (text.empty() || !IsNameStart(text[0])) return 0;
  size_t at = 1;
  while (at < text.size()) {
    if (IsNamePart(text[at])) {
      ++at;
    } else if (text.substr(at).starts_with("::") && at + 2 < text.size() && IsNameStart(text[at + 2])) {
      at += 3;
    } else {
      break;
    }
  }
  return at;
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameLength && NameLength(text) == text.size();
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  if (text.empty()) return std::nullopt;
  uint64_t number = 0;
  for (char c : text) {
    int digit = HexDigit(c);
    if (digit < 0 || static_cast<uint64_t>(digit) >= base) return std::nullopt;
    if (number > (UINT64_MAX - static_cast<uint64_t>(digit)) / base) return std::nullopt;
    number = number * base + static_cast<uint64_t>(digit);
  }
  return number;
}

bool IsQuoted(std::string_view token) { return token.starts_with('"') && BehindQuoted(token, 0) == token.size(); }

std::string Unquote(const Token& token) {
  std::string_view text = token.text;
  std::string plain;
  for (size_t at = 1; at + 1 < text.size();) {
    std::string_view rest = text.substr(at, text.size() - 1 - at);
    char escaped = rest.size() > 1 ? rest[1] : '\0';
    size_t length = 2;
    if (rest[0] != '\\') {
      plain += rest[0];
      length = 1;
    } else if (escaped == '"' || escaped == '\\') {
      plain += escaped;
    } else if (escaped == 'n') {
      plain += '\n';
    } else if (escaped == 't') {
      plain += '\t';
    } else if (escaped == 'x' && rest.size() >= 4 && HexDigit(rest[2]) >= 0 && HexDigit(rest[3]) >= 0) {
      plain += static_cast<char>(HexDigit(rest[2]) * 16 + HexDigit(rest[3]));
      length = 4;
    } else {
      Fail(token.offset + at, "unknown escape: there are \\\" \\\\ \\n \\t and \\xHH");
    }
    at += length;
  }
  if (plain.size() > kMaxTextLength) Fail(token.offset, "the text has more than {} bytes", kMaxTextLength);
  return plain;
}

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (size_t at = 0; at < text.size();) {
    std::optional<Character> character = DecodeCharacter(text, at);
    size_t length = character ? character->length : 1;
    if (text[at] == '"' || text[at] == '\\') {
      quoted += '\\';
      quoted += text[at];
    } else if (text[at] == '\n') {
      quoted += "\\n";
    } else if (text[at] == '\t') {
      quoted += "\\t";
    } else if (character && !IsControl(character->code)) {
      quoted += text.substr(at, length);
    } else {
      for (char c : text.substr(at, length)) quoted += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
    at += length;
  }
  return quoted + '"';
}

SourcePosition ParsePosition(const Token& token) {
  std::string_view rest = token.text.substr(1);
  std::string_view quoted;
  if (rest.starts_with('"')) {
    quoted = rest.substr(0, BehindQuoted(rest, 0).value_or(0));
    rest.remove_prefix(quoted.size());
  }
  std::optional<uint32_t> last = TakeTrailingNumber(rest);
  std::optional<uint32_t> first = last ? TakeTrailingNumber(rest) : std::nullopt;
  if (!last || rest.empty() == quoted.empty()) {
    throw LineError{token.offset, "a position is written @FILE:LINE or @FILE:LINE:COLUMN"};
  }
  SourcePosition position;
  position.line = first.value_or(*last);
  position.column = first ? *last : 0;
  position.file = quoted.empty() ? std::string(rest) : Unquote(Token{quoted, token.offset + 1});
  if (position.file.size() > kMaxTextLength) {
    Fail(token.offset, "the file name has more than {} bytes", kMaxTextLength);
  }
  return position;
}

std::string SpellPosition(const SourcePosition& position) {
  std::string_view ending = position.file;
  // Quoted if it would end early, or if part of the file name would be taken for a line.
  bool plain = !position.file.empty() && position.file[0] != '"' && !TakeTrailingNumber(ending) &&
               position.file.find_first_of(" #") == std::string::npos;
  for (size_t at = 0; plain && at < position.file.size();) {
    std::optional<Character> character = DecodeCharacter(position.file, at);
    plain = character && !IsControl(character->code);
    at += character ? character->length : 1;
  }
  std::string spelled = "@" + (plain ? position.file : Quote(position.file));
  spelled += fmt::format(":{}", position.line);
  if (position.column != 0) spelled += fmt::format(":{}", position.column);
  return spelled;
}

std::string Shown(std::string_view word) {
  constexpr size_t kShown = 40;
  if (word.size() <= kShown) return fmt::format("'{}'", word);
  size_t cut = kShown;
  while (cut > 0 && (static_cast<uint8_t>(word[cut]) & 0xc0) == 0x80) --cut;
  return fmt::format("'{}...'", word.substr(0, cut));
}

std::optional<Character> DecodeCharacter(std::string_view text, size_t at) {
  auto byte = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  uint8_t lead = byte(at);
  if (lead < 0x80) return Character{lead, 1};
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || length > text.size() - at) return std::nullopt;
  char32_t code = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(at + i) & 0x3fu);
  }
  // Longer than needed, a surrogate, or past the last plane.
  bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return std::nullopt;
  return Character{code, length};
}

bool IsControl(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

}  // namespace redflag
