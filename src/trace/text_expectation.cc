#include "trace/text_expectation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "trace/text_lexer.h"
#include "trace/text_verbs.h"

namespace redflag {
namespace {

constexpr size_t kMaxDetectorNameLength = 64;
constexpr std::string_view kWords[] = {"race", "norace", "miss"};  // by Verdict

}  // namespace

size_t ParseExpectation(std::string_view text, size_t offset, Expectation& expectation) {
  size_t at = 1 + NameLength(text.substr(1));
  std::string_view word = text.substr(1, at - 1);
  auto found = std::find(std::begin(kWords), std::end(kWords), word);
  if (found == std::end(kWords)) {
    Fail(offset, "unknown expectation {}{}", Shown(text.substr(0, at)), Suggestion(word, kWords));
  }
  expectation.verdict = Expectation::Verdict{static_cast<uint8_t>(found - std::begin(kWords))};
  auto skip_blanks = [&] { at = std::min(text.find_first_not_of(" \t", at), text.size()); };
  if (text.substr(at).starts_with('(')) {
    do {
      ++at;
      skip_blanks();
      size_t length = NameLength(text.substr(at));
      if (length == 0 || length > kMaxDetectorNameLength) Fail(offset + at, "expected a detector's name");
      expectation.detectors.emplace_back(text.substr(at, length));
      at += length;
      skip_blanks();
    } while (text.substr(at).starts_with(','));
    if (!text.substr(at).starts_with(')')) Fail(offset + at, "expected ',' or ')'");
    ++at;
  }
  if (expectation.verdict == Expectation::Verdict::kMiss) {
    if (expectation.detectors.empty()) Fail(offset + at, "expected '(DETECTOR)' after '!miss'");
    if (!text.substr(at).starts_with(':')) Fail(offset + at, "expected ': REASON' after '!miss(...)'");
    ++at;
    skip_blanks();
    if (at == text.size()) Fail(offset + at, "expected the reason why the race is missed");
    size_t last = text.find_last_not_of(" \t");
    expectation.reason = text.substr(at, last + 1 - at);
    if (expectation.reason.size() > kMaxTextLength) {
      Fail(offset + at, "the reason has more than {} bytes", kMaxTextLength);
    }
    return text.size();
  }
  if (at < text.size() && text[at] != ' ' && text[at] != '\t' && text[at] != '#') {
    Fail(offset + at, "expected a blank after the expectation");
  }
  return at;
}

std::string SpellExpectation(const Expectation& expectation) {
  std::string spelled = fmt::format("!{}", kWords[Raw(expectation.verdict)]);
  if (!expectation.detectors.empty()) spelled += fmt::format("({})", fmt::join(expectation.detectors, ","));
  if (expectation.verdict == Expectation::Verdict::kMiss) spelled += ": " + expectation.reason;
  return spelled;
}

}  // namespace redflag
