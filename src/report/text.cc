#include "report/text.h"

#include <fmt/format.h>

#include <string_view>

namespace redflag {
namespace {

class TextRenderer {
 public:
  explicit TextRenderer(Colour colour) : colour_(colour) {}

  std::string Render(const RaceReport& report) {
    Line("{}", Paint(kBold, fmt::format("DATA RACE on {}", Target(report))));
    Site("", report.access);
    for (const AccessSite& earlier : report.earlier) Site("earlier ", earlier);
    if (report.earlier_omitted != 0) Line("  and {} more earlier accesses", report.earlier_omitted);
    if (report.block) Block(*report.block, report);
    for (const ThreadInfo& thread : report.threads) Thread(thread);
    for (const std::string& note : report.notes) Line("  {} {}", Paint(kDim, "note:"), note);
    if (!report.why.empty()) Line("  {} {}", Paint(kBold, "why:"), report.why);
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
    const std::string bytes = report.size == 1 ? "1 byte" : fmt::format("{} bytes", report.size);
    if (report.variable.empty()) return fmt::format("{} at {:#x}", bytes, Raw(report.addr));
    if (report.offset == 0) return fmt::format("{} ({} at {:#x})", report.variable, bytes, Raw(report.addr));
    return fmt::format("{}+{} ({} at {:#x})", report.variable, report.offset, bytes, Raw(report.addr));
  }

  std::string Origin(const RaceReport& report) const {
    if (report.pid != 0) return fmt::format("{} {} (process {})", Paint(kDim, "in:"), report.command, report.pid);
    return fmt::format("{} {}:{}", Paint(kDim, "at:"), report.trace, report.trace_line);
  }

  void Stack(const std::vector<Frame>& stack, std::string_view indent) {
    for (size_t i = 0; i < stack.size(); ++i) Line("{}#{} {}", indent, i, DescribeFrame(stack[i]));
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
    Line("  {}{} of {} byte{} by thread {}{}{}", when, Describe(site), site.size, site.size == 1 ? "" : "s",
         Paint(kName, site.thread), site.vptr ? ", a pointer to a virtual table" : "",
         site.bit_field ? ", of a bit-field" : "");
    Stack(site.stack, "    ");
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
        Line("  the bytes are on the stack{}", block.thread.empty() ? "" : " of thread " + Paint(kName, block.thread));
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
    }
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

std::string RenderText(const RaceReport& report, Colour colour) { return TextRenderer(colour).Render(report); }

}  // namespace redflag
