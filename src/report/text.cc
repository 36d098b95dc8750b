#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/frames.h"
#include "report/own_code.h"
#include "report/printable.h"

namespace redflag {
namespace {

class TextRenderer {
 public:
  TextRenderer(Colour colour, Detail detail, SourceLines* sources)
      : colour_(colour), detail_(detail), sources_(sources) {}

  std::string Render(const RaceReport& report) {
    Line("{}", Paint(kBold, fmt::format("{} {}", IsUseAfterFree(report) ? "USE AFTER FREE of" : "DATA RACE on",
                                        Target(report))));
    if (report.judgement) Rank(*report.judgement);
    Site("", report.access);
    for (const AccessSite& earlier : report.earlier) Site("earlier ", earlier);
    if (report.earlier_omitted != 0) Line("  and {} more earlier accesses", report.earlier_omitted);
    if (report.block) Block(*report.block, report);
    for (const ThreadInfo& thread : report.threads) Thread(thread);
    for (const std::string& note : report.notes) Line("  {} {}", Paint(kDim, "note:"), note);
    if (!report.why.empty()) Line("  {} {}", Paint(kBold, "why:"), report.why);
    for (const std::string& seen : report.evidence) Line("  {} {}", Paint(kBold, "seen:"), seen);
    if (report.judgement && !report.judgement->suggestion.empty()) {
      Line("  {} {}", Paint(kBold, "suggestion:"), report.judgement->suggestion);
    }
    if (!report.confirmed_by.empty()) Line("  confirmed by {}", fmt::join(report.confirmed_by, ", "));
    if (report.repeated != 0) Line("  seen {} more time{}", report.repeated, report.repeated == 1 ? "" : "s");
    if (!report.fingerprint.empty()) Line("  {} {}", Paint(kDim, "fingerprint:"), report.fingerprint);
    Line("  {}{}", Origin(report), report.detector.empty() ? "" : ", found by " + report.detector);
    return std::move(text_);
  }

 private:
  static constexpr std::string_view kBold = "1;31";
  static constexpr std::string_view kName = "36";
  static constexpr std::string_view kDim = "2";

  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  std::string Paint(std::string_view code, std::string_view text) const {
    if (colour_ == Colour::kNo) return std::string(text);
    return fmt::format("\033[{}m{}\033[0m", code, text);
  }

  static std::string Target(const RaceReport& report) {
    if (report.variable.empty() || report.access.descriptor) return DescribeTarget(report);
    return fmt::format("{} ({} byte{} at {:#x})", DescribeTarget(report), report.size, report.size == 1 ? "" : "s",
                       Raw(report.addr));
  }

  void Rank(const Judgement& judgement) {
    std::string reasons;
    for (const std::string& reason : judgement.reasons) reasons += (reasons.empty() ? ": " : "; ") + reason;
    Line("  {} {}{}", Paint(kDim, "rank:"), RankName(judgement.rank), reasons);
    if (!judgement.pattern.empty()) Line("  {} {}", Paint(kDim, "pattern:"), judgement.pattern);
  }

  std::string Origin(const RaceReport& report) const {
    if (report.pid != 0) return fmt::format("{} {} (process {})", Paint(kDim, "in:"), report.command, report.pid);
    return fmt::format("{} {}:{}", Paint(kDim, "at:"), report.trace, report.trace_line);
  }

  // Which frames of a stack are shown. The innermost one of an access is, whatever it is in.
  std::vector<size_t> Shown(const std::vector<Frame>& stack, bool is_access) const {
    constexpr size_t kMost = 12;
    constexpr size_t kOutermost = 3;
    const bool has_own = std::any_of(stack.begin(), stack.end(), IsOwnCode);
    std::vector<size_t> shown;
    for (size_t i = 0; i < stack.size(); ++i) {
      const bool is_unknown = stack[i].file.empty() && stack[i].module.empty();  // and may be anybody's
      const bool matters = (i == 0 && is_access) || is_unknown || IsOwnCode(stack[i]);
      if (detail_ == Detail::kFull || !has_own || matters) shown.push_back(i);
    }
    if (detail_ == Detail::kShort && shown.size() > kMost) {
      shown.erase(shown.begin() + (kMost - kOutermost), shown.end() - kOutermost);
    }
    return shown;
  }

  std::string Describe(const Frame& frame) const {
    return detail_ == Detail::kShort ? ShortName(DescribeFrame(frame)) : DescribeFrame(frame);
  }

  void Stack(const std::vector<Frame>& stack, std::string_view indent) {
    const std::vector<size_t> shown = Shown(stack, false);
    for (const size_t i : shown) Line("{}#{} {}", indent, i, Describe(stack[i]));
    Hidden(stack.size() - shown.size(), indent);
  }

  void Hidden(size_t count, std::string_view indent) {
    if (count == 0) return;
    Line("{}{}", indent, Paint(kDim, fmt::format("({} frame{} not shown: --full)", count, count == 1 ? "" : "s")));
  }

  // With the source line of the access itself and, if that is in a library, of the code that called it.
  void AccessStack(const std::vector<Frame>& stack) {
    const std::vector<size_t> shown = Shown(stack, true);
    const Frame* const own = InnermostOwn(stack);
    for (const size_t i : shown) {
      Line("    #{} {}", i, Describe(stack[i]));
      if (sources_ == nullptr || (i != 0 && &stack[i] != own)) continue;
      if (const std::string source = sources_->LineOf(stack[i]); !source.empty()) {
        Line("    {}", Paint(kDim, fmt::format("{:>5} | {}", stack[i].line, source)));
      }
    }
    Hidden(stack.size() - shown.size(), "    ");
  }

  // A place that is part of a sentence: a single frame ends its line, a stack follows below it.
  static std::string At(std::string_view words, const std::vector<Frame>& stack) {
    if (stack.empty()) return "";
    return stack.size() == 1 ? fmt::format("{} {}", words, DescribeFrame(stack.front())) : fmt::format("{}:", words);
  }
  void Below(const std::vector<Frame>& stack, std::string_view indent) {
    if (stack.size() > 1) Stack(stack, indent);
  }

  void Site(std::string_view when, const AccessSite& site) {
    Line("  {}{}{} by thread {}{}{}", when, redflag::Describe(site),
         site.descriptor ? "" : fmt::format(" of {} byte{}", site.size, site.size == 1 ? "" : "s"),
         Paint(kName, site.thread), site.vptr ? ", a pointer to a virtual table" : "",
         site.bit_field ? ", of a bit-field" : "");
    AccessStack(site.stack);
    if (site.stack_truncated) Line("    (outer frames are missing)");
    if (site.value) Line("    the memory held {:#x} then", *site.value);
    if (site.locks.empty()) {
      Line("    locks held: {}", site.locks_known ? "none" : "not known");
      return;
    }
    for (const HeldLockInfo& lock : site.locks) {
      Line("    holds {}{}{}", Paint(kName, lock.name), lock.mode == LockMode::kShared ? " for reading" : "",
           At(", taken at", lock.taken_at));
      Below(lock.taken_at, "      ");
    }
    if (!site.locks_known) Line("    other locks held: not known");
  }

  void Block(const RacyBlock& block, const RaceReport& report) {
    std::string size = block.size == 0 ? "" : fmt::format(" of {} byte{}", block.size, block.size == 1 ? "" : "s");
    if (block.begin != Addr{}) size += fmt::format(" at {:#x}", Raw(block.begin));
    const std::string thread = block.thread.empty() ? "" : " by thread " + Paint(kName, block.thread);
    switch (block.place) {
      case RacyBlock::Place::kHeap:
        Line("  the bytes are at offset {} of a{} heap block{}, allocated{}{}", report.addr - block.begin,
             block.freed ? " freed" : "", size, thread, At(" at", block.allocated_at));
        Below(block.allocated_at, "    ");
        return;
      case RacyBlock::Place::kStack:
        Line("  the bytes are {}on the stack{}", Local(block, report),
             block.thread.empty() ? "" : " of thread " + Paint(kName, block.thread));
        return;
      case RacyBlock::Place::kThreadLocal:
        Line("  the bytes are thread-local{}", block.thread.empty() ? "" : ", of thread " + Paint(kName, block.thread));
        return;
      case RacyBlock::Place::kGlobal:
        Line("  the bytes are global{}",
             block.module.empty() ? "" : fmt::format(", in the data of {}+{:#x}", block.module, block.module_offset));
        return;
      case RacyBlock::Place::kMapped:
        Line("  the bytes are in memory{} that was mapped{}{}", size, thread, At(" at", block.allocated_at));
        Below(block.allocated_at, "    ");
        return;
      case RacyBlock::Place::kDescriptor:
        return;
    }
  }

  // "local variable 'total' of main (x.cc:12), ".
  static std::string Local(const RacyBlock& block, const RaceReport& report) {
    if (block.function.empty()) return "";
    const std::string function = ShortName(block.function);
    if (report.variable.empty()) return fmt::format("in the frame of {}, ", function);
    std::string place;
    if (!block.declared_at.empty()) {
      place = fmt::format(" ({}:{})", block.declared_at.front().file, block.declared_at.front().line);
    }
    return fmt::format("{} '{}' of {}{}, ", block.parameter ? "parameter" : "local variable", report.variable, function,
                       place);
  }

  void Thread(const ThreadInfo& thread) {
    std::string title = thread.title.empty() ? "" : fmt::format(" \"{}\"", thread.title);
    if (thread.os_id != 0) title += fmt::format(" ({}{})", thread.os_id, thread.finished ? ", finished" : "");
    if (thread.creator.empty()) {
      Line("  thread {}{} exists from the start", Paint(kName, thread.name), title);
    } else {
      Line("  thread {}{} was created by {}{}", Paint(kName, thread.name), title, Paint(kName, thread.creator),
           At(" at", thread.created_at));
      Below(thread.created_at, "    ");
    }
  }

  Colour colour_;
  Detail detail_;
  SourceLines* sources_;
  std::string text_;
};

}  // namespace

std::string DescribeFrame(const Frame& frame) {
  std::string place = frame.function.empty() ? "" : frame.function + "  ";
  if (!frame.file.empty()) {
    place += fmt::format("{}:{}", frame.file, frame.line);
    if (frame.column != 0) place += fmt::format(":{}", frame.column);
  } else if (!frame.module.empty()) {
    place += fmt::format("{}+{:#x}", frame.module, frame.offset);
  } else {
    place += fmt::format("{:#x}", frame.offset);
  }
  if (frame.inlined) place += " (inlined)";
  return place;
}

std::string RenderText(const RaceReport& report, Colour colour, Detail detail, SourceLines* sources) {
  return TextRenderer(colour, detail, sources).Render(Printable(report));
}

}  // namespace redflag
