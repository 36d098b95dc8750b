#include "collect/marked_code.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <unordered_map>
#include <variant>

#include "report/own_code.h"

namespace redflag {
namespace {

using Type = SuppressionRule::Type;

// What every module that was compiled for race detection calls first.
constexpr std::string_view kInitialization = "__tsan_init";

// `unlock` contains `lock`: who names functions that take locks by a part of their names does not mean those that give them back. So the
// more special type wins.
constexpr std::array<std::pair<Type, CodeMark>, 5> kLockTypes = {
    {{Type::kUnlock, CodeMark::kGivesBackLock},
     {Type::kTryReadLock, CodeMark::kTakesLock | CodeMark::kForReading | CodeMark::kMayFail},
     {Type::kTryLock, CodeMark::kTakesLock | CodeMark::kMayFail},
     {Type::kReadLock, CodeMark::kTakesLock | CodeMark::kForReading},
     {Type::kLock, CodeMark::kTakesLock}}};

uint64_t ParseHex(std::string_view& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

MarkedCode::MarkedCode(const std::vector<SuppressionRule>& rules) {
  for (const SuppressionRule& rule : rules) {
    if (!IsAboutCode(rule.type)) continue;
    rules_.push_back(rule);
    needs_functions_ |= rule.type != Type::kObject && rule.type != Type::kCalledFromLib;
  }
}

MarkedCode::Verdict MarkedCode::Judge(const Frame& frame) const {
  Verdict verdict;
  verdict.is_own = IsOwnCode(frame);
  size_t most_special = kLockTypes.size();
  for (const SuppressionRule& rule : rules_) {
    if (!MatchesCode(rule, frame)) continue;
    if (IsAboutLocks(rule.type)) {
      const auto is_it = [&](const auto& each) { return each.first == rule.type; };
      const auto found = std::find_if(kLockTypes.begin(), kLockTypes.end(), is_it);
      most_special = std::min(most_special, static_cast<size_t>(found - kLockTypes.begin()));
    } else if (rule.type == Type::kFunctionTree) {
      verdict.is_tree = true;
    } else if (rule.type != Type::kObject && rule.type != Type::kCalledFromLib) {
      verdict.is_ignored = true;
    }
  }
  if (most_special != kLockTypes.size()) verdict.lock_marks = Raw(kLockTypes[most_special].second);
  return verdict;
}

// As suppressions.cc has it for stacks: `fun`, `type` and `src` are about the innermost function of the user's own, `fun_r` about any.
MarkedCode::State MarkedCode::StateIn(const State& around, const Verdict& verdict, bool is_inlined) {
  constexpr uint32_t kOfFunction = Raw(CodeMark::kIgnored) | Raw(CodeMark::kLibrary);
  State state = around;
  if (verdict.is_own) {
    state.marks = (around.marks & ~kOfFunction) | (verdict.is_ignored ? Raw(CodeMark::kIgnored) : 0);
  } else if (!is_inlined) {
    state.marks |= Raw(CodeMark::kLibrary);
  }
  if (verdict.is_tree) state.marks |= Raw(CodeMark::kIgnoredTree);
  if (verdict.lock_marks != 0 && around.instance == 0) {
    state.marks |= verdict.lock_marks;
    state.instance = ++instances_;
  }
  return state;
}

void MarkedCode::Paint(uint64_t begin, uint64_t end, const State& state) {
  if (begin >= end) return;
  const auto state_at = [&](uint64_t address) {
    const auto behind = from_.upper_bound(address);
    return behind == from_.begin() ? State{} : std::prev(behind)->second;
  };
  const State after = state_at(end);
  from_.erase(from_.lower_bound(begin), from_.upper_bound(end));
  from_[begin] = state;
  from_[end] = after;
}

void MarkedCode::PaintFunctions(SymbolFile& file, const Frame& module, uint64_t begin, uint64_t end, uint64_t bias) {
  std::unordered_map<const Frame*, Verdict> inlined;
  std::vector<State> around;  // by depth
  file.ForEachFunction([&](const FunctionCode& code) {
    const auto judge = [&] {
      Frame frame = *code.frame;
      frame.module = module.module;
      return Judge(frame);
    };
    Verdict verdict;
    if (code.depth == 0) {
      verdict = judge();
    } else {
      const auto [found, is_new] = inlined.try_emplace(code.frame);
      if (is_new) found->second = judge();
      verdict = found->second;
    }
    const auto depth = static_cast<size_t>(code.depth);
    around.resize(std::min(depth, around.size()));
    const State state = StateIn(depth == 0 || around.empty() ? State{} : around.back(), verdict, depth != 0);
    around.push_back(state);
    for (const auto& [from, to] : code.ranges) {
      Paint(std::max(from + bias, begin), std::min(to + bias, end), state);
    }
  });
}

void MarkedCode::Add(const std::string& path, uint64_t begin, uint64_t end, uint64_t bias) {
  modules_.push_back({.begin = begin, .end = end, .marks = 0, .instance = 0});
  Frame module;
  module.module = path;
  const bool is_ignored = std::any_of(rules_.begin(), rules_.end(), [&](const SuppressionRule& rule) {
    return (rule.type == Type::kObject || rule.type == Type::kCalledFromLib) && MatchesCode(rule, module);
  });
  if (is_ignored) Paint(begin, end, {.marks = Raw(CodeMark::kIgnored), .instance = 0});
  if (!IsOwnCode(module)) {
    if (!is_ignored) Paint(begin, end, {.marks = Raw(CodeMark::kLibrary), .instance = 0});
    return;
  }
  if (!needs_functions_) return;
  auto opened = SymbolFile::Open(path, IdentityOf(path));
  auto* file = std::get_if<std::unique_ptr<SymbolFile>>(&opened);
  if (file == nullptr || !(*file)->Calls(kInitialization)) return;
  PaintFunctions(**file, module, begin, end, bias);
  if (!is_ignored) return;
  for (auto at = from_.lower_bound(begin); at != from_.end() && at->first < end; ++at) {
    at->second.marks |= Raw(CodeMark::kIgnored);
  }
}

std::vector<MarkedRange> MarkedCode::ranges() const {
  std::vector<MarkedRange> ranges;
  for (auto at = from_.begin(); at != from_.end(); ++at) {
    const auto next = std::next(at);
    const auto& [begin, state] = *at;
    if (state.marks == 0 || next == from_.end()) continue;
    if (!ranges.empty() && ranges.back().end == begin && ranges.back().marks == state.marks &&
        ranges.back().instance == state.instance) {
      ranges.back().end = next->first;
    } else {
      ranges.push_back({.begin = begin, .end = next->first, .marks = state.marks, .instance = state.instance});
    }
  }
  return ranges;
}

std::string MarkedCode::Encode() const {
  const std::vector<MarkedRange> marked = ranges();
  std::vector<MarkedRange> modules = modules_;
  std::sort(modules.begin(), modules.end(),
            [](const MarkedRange& a, const MarkedRange& b) { return a.begin < b.begin; });
  MarkedCodeHeader header{
      .magic = MarkedCodeHeader::kMagic, .ranges = marked.size(), .modules = modules.size(), .all_marks = 0};
  for (const MarkedRange& range : marked) header.all_marks |= range.marks;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(marked.data()), marked.size() * sizeof(MarkedRange));
  bytes.append(reinterpret_cast<const char*>(modules.data()), modules.size() * sizeof(MarkedRange));
  return bytes;
}

// Lines: begin-end perms offset device inode path. A file's first part (offset 0) comes before its executable one.
std::vector<MappedCode> MappedCodeOf(std::string_view maps) {
  std::vector<MappedCode> found;
  uint64_t image = 0;
  while (!maps.empty()) {
    std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    MappedCode code;
    code.begin = ParseHex(line);
    line.remove_prefix(std::min<size_t>(1, line.size()));
    code.end = ParseHex(line);
    const bool is_readable = line.size() > 3 && line[1] == 'r';
    const bool is_executable = line.size() > 3 && line[3] == 'x';
    line.remove_prefix(std::min<size_t>(6, line.size()));
    const uint64_t offset = ParseHex(line);
    const size_t path = line.find('/');
    if (path == std::string_view::npos) continue;
    if (offset == 0 && is_readable) image = code.begin;
    if (!is_executable || image == 0) continue;
    code.path = line.substr(path);
    code.image = image;
    found.push_back(std::move(code));
  }
  return found;
}

}  // namespace redflag
