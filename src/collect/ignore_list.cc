#include "collect/ignore_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "collect/suppressions.h"

namespace redflag {
namespace {

using Type = SuppressionRule::Type;

bool IsIdentifier(std::string_view word) {
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) == 0 &&
         std::all_of(word.begin(), word.end(), is_letter);
}

// `^ns::Box::Put$` -> ns, Box, Put. Nothing, if it is not a whole name.
std::optional<std::vector<std::string_view>> NameParts(std::string_view pattern) {
  if (pattern.starts_with('^')) pattern.remove_prefix(1);
  if (pattern.ends_with('$')) pattern.remove_suffix(1);
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t colons = pattern.find("::");
    const std::string_view part = pattern.substr(0, colons);
    if (!IsIdentifier(part)) return std::nullopt;
    parts.push_back(part);
    if (colons == std::string_view::npos) return parts;
    pattern.remove_prefix(colons + 2);
  }
}

// Its linker's names: of C, of C++ with any parameters, static or in the unnamed namespace, a template's too.
void AddFunction(const std::vector<std::string_view>& parts, std::string& text) {
  constexpr std::string_view kUnnamed = "12_GLOBAL__N_1";
  std::string coded;
  for (const std::string_view part : parts) coded += fmt::format("{}{}", part.size(), part);
  if (parts.size() == 1) text += fmt::format("fun:{}\nfun:_Z{}*\nfun:_ZL{}*\n", parts[0], coded, coded);
  for (const std::string_view scope : {std::string_view(), kUnnamed}) {
    if (parts.size() == 1 && scope.empty()) continue;
    for (const std::string_view qualifier : {"", "K"}) {
      for (const char behind : {'E', 'I'}) text += fmt::format("fun:_ZN{}{}{}{}*\n", qualifier, scope, coded, behind);
    }
  }
}

// Found anywhere in the name of the file, unless it is tied.
void AddSource(std::string_view pattern, std::string& text) {
  const bool from_begin = pattern.starts_with('^');
  const bool to_end = pattern.ends_with('$');
  pattern = pattern.substr(from_begin ? 1 : 0);
  pattern = pattern.substr(0, pattern.size() - (to_end ? 1 : 0));
  text += fmt::format("src:{}{}{}\n", from_begin ? "" : "*", pattern, to_end ? "" : "*");
}

}  // namespace

ClangIgnoreList ClangIgnoreListOf(std::string_view rules) {
  ClangIgnoreList list;
  Suppressions parsed;
  list.problems = parsed.Add(rules);
  for (const SuppressionRule& rule : parsed.rules()) {
    const std::string& pattern = rule.patterns.front();
    if (rule.type == Type::kSource) {
      AddSource(pattern, list.text);
    } else if (rule.type == Type::kFunction) {
      if (const auto parts = NameParts(pattern)) {
        AddFunction(*parts, list.text);
      } else {
        list.problems.push_back(fmt::format("'{}' is not the name of a function: left to `redflag run`", rule.text));
      }
    }
  }
  return list;
}

}  // namespace redflag
