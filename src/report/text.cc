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
    for (const ThreadInfo& thread : report.threads) Thread(thread);
    if (!report.why.empty()) Line("  {} {}", Paint(kBold, "why:"), report.why);
    Line("  {} {}:{}, found by {}", Paint(kDim, "at:"), report.trace, report.trace_line, report.detector);
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

  static std::string Place(const Frame& frame) {
    std::string place = frame.function.empty() ? "" : frame.function + "  ";
    place += fmt::format("{}:{}", frame.file, frame.line);
    if (frame.column != 0) place += fmt::format(":{}", frame.column);
    return place;
  }

  void Stack(const std::vector<Frame>& stack, std::string_view indent) {
    for (size_t i = 0; i < stack.size(); ++i) Line("{}#{} {}", indent, i, Place(stack[i]));
  }

  void Site(std::string_view when, const AccessSite& site) {
    Line("  {}{} of {} byte{} by thread {}", when, Describe(site), site.size, site.size == 1 ? "" : "s",
         Paint(kName, site.thread));
    Stack(site.stack, "    ");
    if (site.locks.empty()) {
      Line("    locks held: none");
      return;
    }
    for (const HeldLockInfo& lock : site.locks) {
      Line("    holds {}{}{}", Paint(kName, lock.name), lock.mode == LockMode::kShared ? " for reading" : "",
           lock.taken_at.empty() ? "" : ", taken at " + Place(lock.taken_at.front()));
    }
  }

  void Thread(const ThreadInfo& thread) {
    const std::string title = thread.title.empty() ? "" : fmt::format(" \"{}\"", thread.title);
    if (thread.creator.empty()) {
      Line("  thread {}{} exists from the start", Paint(kName, thread.name), title);
    } else {
      Line("  thread {}{} was created by {}{}", Paint(kName, thread.name), title, Paint(kName, thread.creator),
           thread.created_at.empty() ? "" : " at " + Place(thread.created_at.front()));
    }
  }

  Colour colour_;
  std::string text_;
};

}  // namespace

std::string RenderText(const RaceReport& report, Colour colour) { return TextRenderer(colour).Render(report); }

}  // namespace redflag
