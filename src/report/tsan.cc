#include "report/tsan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "report/own_code.h"
#include "report/printable.h"

namespace redflag {
namespace {

constexpr uint64_t kFreedBytes = 8;  // what it says of every free
constexpr std::string_view kEndsIgnoring = "thread finished with ignores enabled";
constexpr std::string_view kRule = "==================\n";

std::string Place(const Frame& frame) {
  if (frame.file.empty()) return "<null>";
  if (frame.column == 0) return fmt::format("{}:{}", frame.file, frame.line);
  return fmt::format("{}:{}:{}", frame.file, frame.line, frame.column);
}

std::string_view FunctionOf(const Frame& frame) {
  return frame.function.empty() ? "<null>" : std::string_view(frame.function);
}

std::string ModuleOf(const std::string& module, uint64_t offset) {
  return fmt::format("{}+{:#x}", std::filesystem::path(module).filename().string(), offset);
}

// A function of libc, or one that the program says something with; not the compiler's call before an access.
bool IsStoodInFor(std::string_view called) {
  return !called.empty() && (!called.starts_with("__tsan_") || called.starts_with("__tsan_mem") ||
                             called == "__tsan_check_no_mutexes_held");
}

// It looks at a lock, or counts itself in: an atomic access of the lock's first byte.
bool UsesLock(const AccessSite& site) {
  if (IsWrite(site.kind) || site.stack.empty()) return false;
  const std::string_view called = site.stack.front().called;
  return called.starts_with("pthread_mutex_") || called.starts_with("pthread_rwlock_") ||
         called.starts_with("pthread_spin_");
}

std::string Pointer(Addr address) { return fmt::format("{:#014x}", Raw(address)); }

class TsanRenderer {
 public:
  explicit TsanRenderer(const RaceReport& report) : report_(report) {}

  std::string Render() {
    text_ = kRule;
    Line("WARNING: ThreadSanitizer: {} (pid={})", Kind(), report_.pid);
    Site(report_.access, "");
    for (const AccessSite& earlier : report_.earlier) Site(earlier, "Previous ");
    if (report_.block) Location(*report_.block);
    for (size_t i = 0; i < mutexes_.size(); ++i) {
      const HeldLockInfo& mutex = *mutexes_[i];
      const bool is_known = !mutex.made_at.empty();
      Line("  Mutex M{} ({}) {} at:", i, is_known ? Pointer(mutex.addr) : mutex.name, is_known ? "created" : "taken");
      Stack(is_known ? mutex.made_at : mutex.taken_at);
    }
    for (const ThreadInfo& thread : report_.threads) Thread(thread);
    Summary();
    text_ += kRule;
    return std::move(text_);
  }

  std::string RenderMisuse(std::string_view title) {
    title_ = title;
    text_ = kRule;
    if (title == kEndsIgnoring) return RenderIgnoring();
    Line("WARNING: ThreadSanitizer: {} (pid={})", Kind(), report_.pid);
    if (!report_.earlier.empty()) return RenderCircle();
    if (report_.size != 0 && !report_.access.stack.empty()) Line("  Signal {} handler invoked at:", report_.size);
    if (!report_.access.stack.empty()) Stack(report_.access.stack);
    for (const HeldLockInfo& lock : report_.access.locks) {
      if (lock.taken_at.empty()) continue;
      Line("  and:");
      Stack(lock.taken_at);
    }
    if (report_.block && !report_.block->thread.empty()) Location(*report_.block);
    if (report_.block && !report_.access.locks.empty()) {
      Line("  Mutex M0 ({}) created at:", Pointer(report_.addr));
      Stack(report_.block->allocated_at);
    }
    for (const ThreadInfo& thread : report_.threads) Thread(thread);
    if (report_.size != 0 && report_.access.stack.empty()) {
      Line("  And {} more similar thread leaks.\n", report_.size);
    }
    Summary();
    text_ += kRule;
    return std::move(text_);
  }

 private:
  // Of a thread that ends while it ignores accesses: where it began to, once or twice.
  std::string RenderIgnoring() {
    const bool has_creation = !report_.threads.empty() && !report_.threads.front().created_at.empty();
    std::string who = ThreadOf(report_.access.thread);
    if (has_creation && who == "thread " + report_.access.thread) who += ' ';  // where its name would be
    Line("ThreadSanitizer: {} finished with ignores enabled{}", who, has_creation ? ", created at:" : "");
    if (has_creation) Stack(report_.threads.front().created_at);
    Line("  One of the following ignores was not ended (in order of probability)");
    Line("  Ignore was enabled at:");
    Stack(report_.access.stack);
    if (report_.block && !report_.block->declared_at.empty()) {
      Line("  Ignore was enabled at:");
      Stack(report_.block->declared_at);
    }
    text_ += kRule;
    return std::move(text_);
  }

  // The threads of a deadlock, each a site with what it holds and what it wants; they are numbered in this order.
  std::string RenderCircle() {
    const std::vector<AccessSite>& sites = report_.earlier;
    std::string cycle;
    for (size_t i = 0; i < sites.size(); ++i) cycle += fmt::format("M{} ({}) => ", i, Pointer(sites[i].locks[0].addr));
    Line("  Cycle in lock order graph: {}M0\n", cycle);
    for (size_t i = 0; i < sites.size(); ++i) {
      const HeldLockInfo& held = sites[i].locks[0];
      Line("  Mutex M{} acquired here while holding mutex M{} in {}:", (i + 1) % sites.size(), i,
           ThreadOf(sites[i].thread));
      Stack(sites[i].stack);
      if (!held.taken_at.empty()) {
        Line("  Mutex M{} previously acquired by the same thread here:", i);
        Stack(held.taken_at);
      } else if (i == 0) {
        Line("    Hint: use TSAN_OPTIONS=second_deadlock_stack=1 to get more informative warning message\n");
      }
    }
    for (const ThreadInfo& thread : report_.threads) Thread(thread);
    Summary();
    text_ += kRule;
    return std::move(text_);
  }

  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  std::string_view Kind() const {
    if (!title_.empty()) return title_;
    const bool after_free = !report_.earlier.empty() && report_.earlier.front().origin == AccessOrigin::kFree;
    if (report_.access.vptr && after_free) return "heap-use-after-free (virtual call vs free)";
    if (report_.access.vptr) return "data race on vptr (ctor/dtor vs virtual call)";
    return after_free ? "heap-use-after-free" : "data race";
  }

  // The main thread is "main" in programs and traces alike.
  std::string ThreadOf(std::string_view name) const {
    if (name == "main") return "main thread";
    const auto info = std::find_if(report_.threads.begin(), report_.threads.end(),
                                   [&](const ThreadInfo& thread) { return thread.name == name; });
    if (info == report_.threads.end() || info->title.empty()) return fmt::format("thread {}", name);
    return fmt::format("thread {} '{}'", name, info->title);
  }

  size_t NumberOf(const HeldLockInfo& lock) {
    const auto found = std::find_if(mutexes_.begin(), mutexes_.end(),
                                    [&](const HeldLockInfo* mutex) { return mutex->name == lock.name; });
    if (found != mutexes_.end()) return static_cast<size_t>(found - mutexes_.begin());
    mutexes_.push_back(&lock);
    return mutexes_.size() - 1;
  }

  // Followed by a blank line, as every paragraph.
  void Stack(std::vector<Frame> stack) {
    // It stands in for operator new as a whole.
    const auto is_new = [](const Frame& frame) { return frame.function.starts_with("operator new"); };
    if (!stack.empty() && is_new(stack.front())) stack.front().called.clear();
    while (stack.size() > 1 && is_new(stack[0]) && is_new(stack[1])) stack.erase(stack.begin());
    if (stack.empty()) Line("    [failed to restore the stack]");
    const bool has_called = !stack.empty() && IsStoodInFor(stack.front().called);
    if (has_called) Line("    #0 {} <null> ({})", stack.front().called, ModuleOf(stack.front().module, 0));
    for (size_t i = 0; i < stack.size(); ++i) {
      const Frame& frame = stack[i];
      const std::string module =
          frame.module.empty() ? fmt::format("{:#x}", frame.offset) : ModuleOf(frame.module, frame.offset);
      Line("    #{} {} {} ({})", i + (has_called ? 1 : 0), FunctionOf(frame), Place(frame), module);
    }
    text_ += '\n';
  }

  void Site(const AccessSite& site, std::string_view when) {
    std::string what = IsWrite(site.kind) ? "write" : "read";
    if (IsAtomic(site.kind) || UsesLock(site)) what.insert(0, "atomic ");
    if (when.empty()) what[0] = static_cast<char>(what[0] - 'a' + 'A');
    std::string mutexes;
    for (const HeldLockInfo& lock : site.locks) {
      mutexes += mutexes.empty() ? " (mutexes: " : ", ";
      mutexes += fmt::format("{} M{}", lock.mode == LockMode::kShared ? "read" : "write", NumberOf(lock));
    }
    if (!mutexes.empty()) mutexes += ')';
    const uint64_t size = site.origin == AccessOrigin::kFree ? kFreedBytes : site.size;
    Line("  {}{} of size {} at {} by {}{}:", when, what, size, Pointer(site.addr), ThreadOf(site.thread), mutexes);
    Stack(site.stack);
  }

  void Location(const RacyBlock& block) {
    switch (block.place) {
      case RacyBlock::Place::kHeap:
        Line("  Location is heap block of size {} at {} allocated by {}:", block.size, Pointer(block.begin),
             block.thread.empty() ? "an unknown thread" : ThreadOf(block.thread));
        return Stack(block.allocated_at);
      case RacyBlock::Place::kStack:
        Line("  Location is stack of {}.\n", block.thread.empty() ? "an unknown thread" : ThreadOf(block.thread));
        return;
      case RacyBlock::Place::kThreadLocal:
        Line("  Location is TLS of {}.\n", block.thread.empty() ? "an unknown thread" : ThreadOf(block.thread));
        return;
      case RacyBlock::Place::kGlobal:
        Line("  Location is global '{}' of size {} at {} ({})\n",
             report_.variable.empty() ? "<null>" : report_.variable, block.size, Pointer(block.begin),
             ModuleOf(block.module, block.module_offset));
        return;
      case RacyBlock::Place::kMapped:
        Line("  Location is mapped memory of size {} at {}\n", block.size, Pointer(block.begin));
        return;
      case RacyBlock::Place::kDescriptor:
        Line("  Location is {}\n", report_.variable);
        return;
    }
  }

  void Thread(const ThreadInfo& thread) {
    if (thread.creator.empty()) return;
    const std::string state = fmt::format(" (tid={}, {})", thread.os_id, thread.finished ? "finished" : "running");
    const std::string title = thread.title.empty() ? "" : fmt::format(" '{}'", thread.title);
    if (thread.created_at.empty()) {
      Line("  Thread {}{}{} created by {}\n", thread.name, title, state, ThreadOf(thread.creator));
      return;
    }
    Line("  Thread {}{}{} created by {} at:", thread.name, title, state, ThreadOf(thread.creator));
    // A function that ends in that call may have left it to its caller's frame.
    std::vector<Frame> stack = thread.created_at;
    if (stack.front().called.empty() && !stack.front().module.empty()) stack.front().called = "pthread_create";
    Stack(std::move(stack));
  }

  void Summary() {
    const bool is_of_thread = report_.access.stack.empty() && !report_.threads.empty();
    const Frame* frame = InnermostOwn(is_of_thread ? report_.threads.front().created_at : report_.access.stack);
    if (frame == nullptr) return Line("SUMMARY: ThreadSanitizer: {}", Kind());
    const std::string place = !frame->file.empty() || frame->module.empty()
                                  ? Place(*frame)
                                  : fmt::format("({})", ModuleOf(frame->module, frame->offset));
    Line("SUMMARY: ThreadSanitizer: {} {} in {}", Kind(), place, FunctionOf(*frame));
  }

  const RaceReport& report_;
  std::string_view title_;                    // if it is no race
  std::vector<const HeldLockInfo*> mutexes_;  // M0, M1, ...
  std::string text_;
};

}  // namespace

std::string RenderTsan(const RaceReport& report) {
  const RaceReport printable = Printable(report);
  return TsanRenderer(printable).Render();
}

std::string RenderTsanMisuse(std::string_view title, const RaceReport& report) {
  return TsanRenderer(report).RenderMisuse(title);
}

std::string TsanSummary(uint64_t reports) {
  return reports == 0 ? "" : fmt::format("ThreadSanitizer: reported {} warnings\n", reports);
}

}  // namespace redflag
