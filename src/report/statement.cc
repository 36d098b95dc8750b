#include "report/statement.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace redflag {
namespace {

constexpr uint32_t kMaxLinesBefore = 3;
constexpr uint32_t kMaxLinesBehind = 4;

constexpr std::array<std::string_view, 22> kSigns = {
    "<<=", ">>=", "->*", "...", "<=>", "++", "--", "+=", "-=", "*=", "/=",
    "|=",  "&=",  "^=",  "%=",  "==",  "!=", "<=", ">=", "&&", "->", "::"};
constexpr std::array<std::string_view, 11> kAssignments = {
    "=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="};
// Words that may stand before a variable and declare nothing.
constexpr std::array<std::string_view, 8> kKeywords = {"return",    "else",     "do",    "case",
                                                       "co_return", "co_yield", "throw", "delete"};
// Functions and words whose argument is what the condition is about.
constexpr std::array<std::string_view, 7> kTransparent = {
    "likely", "unlikely", "__builtin_expect", "READ_ONCE", "constexpr", "ACCESS_ONCE", "bool"};

template <class Array>
bool Contains(const Array& array, std::string_view word) {
  return std::find(array.begin(), array.end(), word) != array.end();
}

bool IsWordLetter(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }
bool IsName(const std::string& token) {
  return IsWordLetter(token[0]) && std::isdigit(static_cast<unsigned char>(token[0])) == 0;
}

// Words and signs, without comments; a text in quotes is one token.
std::vector<std::string> Tokenize(std::string_view text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    const char letter = text[at];
    const std::string_view rest = text.substr(at);
    size_t length = 1;
    if (std::isspace(static_cast<unsigned char>(letter)) != 0) {
      ++at;
      continue;
    }
    if (rest.starts_with("//")) {
      at += std::min(rest.find('\n'), rest.size());
      continue;
    }
    if (rest.starts_with("/*")) {
      const size_t end = rest.find("*/", 2);
      at += end == std::string_view::npos ? rest.size() : end + 2;
      continue;
    }
    if (letter == '"' || letter == '\'') {
      while (length < rest.size() && rest[length] != letter) length += rest[length] == '\\' ? 2 : 1;
      length = std::min(length + 1, rest.size());
    } else if (IsWordLetter(letter)) {
      const auto end = std::find_if_not(rest.begin(), rest.end(), [](char c) { return IsWordLetter(c) || c == '\''; });
      length = static_cast<size_t>(end - rest.begin());
    } else if (const auto sign = std::find_if(kSigns.begin(), kSigns.end(),
                                              [&](std::string_view known) { return rest.starts_with(known); });
               sign != kSigns.end()) {
      length = sign->size();
    }
    tokens.emplace_back(rest.substr(0, length));
    at += length;
  }
  return tokens;
}

std::string CodeOf(const std::string& line) {
  std::string code = line.substr(0, line.find("//"));
  while (!code.empty() && std::isspace(static_cast<unsigned char>(code.back())) != 0) code.pop_back();
  return code;
}

bool EndsStatement(const std::string& line) {
  const std::string code = CodeOf(line);
  return code.empty() || std::string_view(";{}:").find(code.back()) != std::string_view::npos || code.front() == '#';
}

// The token behind the bracket that closes the one at `at`.
size_t BehindBracket(const std::vector<std::string>& tokens, size_t at, std::string_view open, std::string_view close) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    if (tokens[at] == open) ++depth;
    if (tokens[at] == close && --depth == 0) return at + 1;
  }
  return tokens.size();
}

std::string Join(const std::vector<std::string>& tokens, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) text += (i == begin ? "" : " ") + tokens[i];
  return text;
}

}  // namespace

Statement Statement::At(const std::vector<std::string>& lines, uint32_t line) {
  if (line == 0 || line > lines.size()) return {};
  uint32_t begin = line - 1;
  uint32_t end = line;
  while (begin > 0 && line - 1 - begin < kMaxLinesBefore && !EndsStatement(lines[begin - 1])) --begin;
  while (end < lines.size() && end - line < kMaxLinesBehind && !EndsStatement(lines[end - 1])) ++end;
  std::string text;
  for (uint32_t i = begin; i < end; ++i) text += lines[i] + "\n";
  return Of(text);
}

Statement Statement::Of(std::string_view text) {
  Statement statement;
  statement.tokens_ = Tokenize(text);
  statement.Parse();
  return statement;
}

// -> the token behind the path.
size_t Statement::PathAt(size_t token, Path& path) const {
  path = {tokens_[token++]};
  while (token < tokens_.size()) {
    if (tokens_[token] == "[") {
      token = BehindBracket(tokens_, token, "[", "]");
    } else if (token + 1 < tokens_.size() && IsName(tokens_[token + 1]) &&
               (tokens_[token] == "." || tokens_[token] == "->" || tokens_[token] == "::")) {
      path.push_back(tokens_[token + 1]);
      token += 2;
    } else {
      break;
    }
  }
  if (path.size() > 1 && path.front() == "this") path.erase(path.begin());
  return token;
}

void Statement::Parse() {
  for (size_t i = 0; i < tokens_.size();) {
    if (!IsName(tokens_[i])) {
      ++i;
      continue;
    }
    Path path;
    const size_t end = PathAt(i, path);
    paths_.push_back(path);
    path_ends_.push_back(end);
    const std::string before = i == 0 ? "" : tokens_[i - 1];
    const std::string behind = end < tokens_.size() ? tokens_[end] : "";
    Write write{.path = path, .sign = {}, .value = {}};
    if (behind == "++" || behind == "--") {
      write.sign = behind;
    } else if (before == "++" || before == "--") {
      write.sign = before;
    } else if (Contains(kAssignments, behind)) {
      write.sign = behind;
      size_t stop = end + 1;
      for (int depth = 0; stop < tokens_.size() && tokens_[stop] != ";"; ++stop) {
        if (tokens_[stop] == "(") ++depth;
        if (tokens_[stop] == ")" && depth-- == 0) break;
      }
      write.value = Join(tokens_, end + 1, stop);
      const bool is_pointer = before == "*" && (i < 2 || !(IsName(tokens_[i - 2]) || tokens_[i - 2] == ">"));
      write.dereferences = is_pointer;
      write.declares =
          behind == "=" && !is_pointer && !before.empty() &&
          ((IsName(before) && !Contains(kKeywords, before)) || before == "*" || before == "&" || before == ">");
    }
    if (!write.sign.empty()) writes_.push_back(std::move(write));
    i = end;
  }
}

bool Statement::Mentions(std::string_view name) const {
  return std::any_of(paths_.begin(), paths_.end(), [&](const Path& path) { return path.back() == name; });
}

// What is handed to a function there is not what is looked at, unless the function only says so.
bool Statement::InParenthesesOf(std::string_view keyword, std::string_view name) const {
  for (auto word = std::find(tokens_.begin(), tokens_.end(), keyword); word != tokens_.end();
       word = std::find(word + 1, tokens_.end(), keyword)) {
    std::vector<bool> calls;  // of the parentheses that are open: is it a call's?
    for (auto at = word + 1; at != tokens_.end(); ++at) {
      if (*at == "(") {
        calls.push_back(at - 1 != word && IsName(*(at - 1)) && !Contains(kTransparent, *(at - 1)));
      } else if (*at == ")") {
        if (!calls.empty()) calls.pop_back();
        if (calls.empty()) break;
      } else if (*at == name && !calls.empty() && std::find(calls.begin(), calls.end(), true) == calls.end()) {
        return true;
      }
    }
  }
  return false;
}

bool Statement::Checks(std::string_view name) const {
  if (InParenthesesOf("if", name)) return true;
  const auto question = std::find(tokens_.begin(), tokens_.end(), "?");
  if (question == tokens_.end()) return false;
  auto from = question;  // behind what is assigned to
  while (from != tokens_.begin() && !Contains(kAssignments, *(from - 1))) --from;
  return std::find(from, question, name) != question;
}

bool Statement::LoopsOn(std::string_view name) const {
  return InParenthesesOf("while", name) || InParenthesesOf("for", name);
}

std::string Statement::MaskOf(std::string_view name) const {
  for (size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].back() != name) continue;
    const size_t at = path_ends_[i];
    if (at + 1 >= tokens_.size() || tokens_[at] != "&") continue;
    return tokens_[at + 1];
  }
  return {};
}

bool Statement::Dereferences(std::string_view name) const {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i] != name) continue;
    if (i + 1 < tokens_.size() && (tokens_[i + 1] == "->" || tokens_[i + 1] == "[")) return true;
    if (i > 0 && tokens_[i - 1] == "*" && (i < 2 || !IsName(tokens_[i - 2]))) return true;
  }
  return false;
}

bool Decreases(const std::vector<std::string>& lines, std::string_view name) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    if (line.find(name) == std::string::npos || line.find('-') == std::string::npos) return false;
    const Statement statement = Statement::Of(line);
    return std::any_of(statement.writes().begin(), statement.writes().end(), [&](const Statement::Write& write) {
      return write.path.back() == name && (write.sign == "--" || write.sign == "-=");
    });
  });
}

bool DeclaresBitField(const std::vector<std::string>& lines, std::string_view name) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    if (line.find(name) == std::string::npos) return false;
    const std::vector<std::string> tokens = Tokenize(line);
    for (size_t i = 1; i + 2 < tokens.size(); ++i) {
      if (tokens[i] == name && tokens[i + 1] == ":" &&
          (std::isdigit(static_cast<unsigned char>(tokens[i + 2][0])) != 0)) {
        return true;
      }
    }
    return false;
  });
}

}  // namespace redflag
