#include "sample/session.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "collect/wire_writer.h"
#include "sample/focus.h"
#include "sample/static_code.h"

namespace redflag {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMapsEvery{500};
constexpr milliseconds kThreadsEvery{50};
constexpr milliseconds kCounterPatience{1000};
constexpr double kLongestTick = 0.05;  // seconds: what is due for more, because we did not run, is not made up for
constexpr double kMostOfOne = 2;       // times its share may one thread be stopped, if others leave it so much
constexpr std::string_view kNever[] = {"libc.so",          "ld-linux",     "ld-musl", "libredflag_sample.so",
                                       "libredflag_rt.so", "libpthread.so"};

template <class T>
std::atomic_ref<T> Atomic(T& word) {
  return std::atomic_ref<T>(word);
}

void Wake(uint32_t& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

double ProcessorSeconds(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::string NameOf(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

Session::Session(pid_t pid, const SampleOptions& options, const SiteCache& cache, Collector& collector)
    : pid_(pid),
      options_(options),
      cache_(cache),
      collector_(collector),
      conflicts_(pid),
      rate_(options.rate),
      first_(options.rate),
      budget_(options.budget) {
  SamplePage* page = breakpoints_.page();
  if (page == nullptr) return;
  page->most_delay_us = options.most_delay_us;
  page->pause_price =
      options.budget > 0
          ? static_cast<uint64_t>(static_cast<double>(SamplePage::kPriceUnit) / (kMostOfOne * options.budget))
          : 0;
  page->self_check = options.self_check ? 1 : 0;
  page->hold_second = options.on_race == "report" ? 0 : 1;
  page->repeated_read_only = options.repeated_read_only ? 1 : 0;
}

void Session::SetOutside(uint32_t watches, int error) {
  SamplePage* page = breakpoints_.page();
  outside_ = true;
  page->pid = static_cast<uint32_t>(pid_);
  page->watches = watches;
  page->watch_error = error;
  Atomic(page->phase).store(SamplePage::kReady, std::memory_order_release);
}

void Session::Say(uint32_t severity, const std::string& text) {
  collector_.Consume(EncodeMessage(NoteMessage{.severity = severity, .text = text}));
}

bool Session::IsWanted(const MappedFile& mapped, const std::string& program) const {
  const std::string name = NameOf(mapped.path);
  for (const std::string_view never : kNever) {
    if (name.starts_with(never)) return false;
  }
  if (options_.modules.empty()) return mapped.path == program;
  return std::any_of(options_.modules.begin(), options_.modules.end(), [&](const std::string& wanted) {
    return wanted == "all" || wanted == mapped.path || wanted == name || name.starts_with(wanted + ".") ||
           (wanted == "main" && mapped.path == program);
  });
}

// The process waits in its library, with one thread; or it runs, and is traced.
void Session::Begin() {
  SamplePage* page = breakpoints_.page();
  std::vector<MappedFile> maps = ReadMaps(pid_);
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid_), error).string();
  collector_.Consume(EncodeMessage(ProcessMessage{.pid = static_cast<uint32_t>(pid_), .command = program}));
  size_t total = 0;
  std::vector<const MappedFile*> wanted;
  for (const MappedFile& mapped : maps) {
    collector_.Consume(EncodeMessage(
        ModuleMessage{.begin = mapped.code_begin, .end = mapped.code_end, .bias = mapped.bias, .path = mapped.path}));
    if (!IsWanted(mapped, program)) continue;
    wanted.push_back(&mapped);
    const auto opened = CodeFile::Open(mapped.path);
    if (const auto* file = std::get_if<CodeFile>(&opened)) total += SitesOf(*file, cache_).sites.size();
  }
  const std::string problem = breakpoints_.Open(pid_, total);
  page = breakpoints_.page();
  if (!problem.empty()) Say(1, fmt::format("process {} is not sampled: {}", pid_, problem));
  if (problem.empty()) AddModules(maps);
  conflicts_.SetMaps(std::move(maps));
  if (options_.repeated_read_only) {
    Say(1, "without data breakpoints, as you wish: only changes of values are seen, and not whose they are");
  } else if (page->watches == 0) {
    Say(1, fmt::format("no data breakpoints ({}): only changes of values are seen, and not whose they are",
                       page->watch_error == 0 ? "they can be set, and never fire" : std::strerror(page->watch_error)));
  } else if (page->watches < SamplePage::kWatches) {
    Say(0, fmt::format("{} data breakpoints of {}: somebody else has the others", page->watches, SamplePage::kWatches));
  }
  if (problem.empty() && breakpoints_.size() == 0) Say(1, fmt::format("{} has no code that can be sampled", program));
  // For a beginning, unless nobody may be stopped at all.
  const int64_t first_pause = options_.budget > 0 ? static_cast<int64_t>(options_.most_delay_us) * 1000 : 0;
  page->pause_left_ns = page->shared_left_ns = first_pause;
  if (options_.rate > 0 && problem.empty() && !outside_) {
    breakpoints_.ArmFirst(FirstMeetings::kAtOnce, true);
  }
  last_tick_ = last_maps_ = last_threads_ = Clock::now();
  Atomic(page->phase).store(SamplePage::kGo, std::memory_order_release);
  Wake(page->phase);
}

void Session::AddModules(const std::vector<MappedFile>& maps) {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid_), error).string();
  for (const MappedFile& mapped : maps) {
    const std::string key = fmt::format("{} {:x}", mapped.path, mapped.bias);
    if (!IsWanted(mapped, program) || std::find(added_.begin(), added_.end(), key) != added_.end()) continue;
    added_.push_back(key);
    const auto opened = CodeFile::Open(mapped.path);
    if (const auto* file = std::get_if<CodeFile>(&opened)) {
      SamplingSet set = SitesOf(*file, cache_);
      if (!KeepOwnCode(mapped.path, set.sites)) {
        Say(1, fmt::format("{} is statically linked and has no debug information: the C library in it is looked at as "
                           "well, and how it synchronizes may be reported",
                           mapped.path));
      }
      const size_t count = breakpoints_.AddModule(mapped, *file, set.sites, FocusOf(mapped, set.sites));
      if (count == 0 && set.sites.empty()) continue;
      if (count < set.sites.size()) {
        Say(0, fmt::format("{} of {} places of {} are left out: the code there is not what the file has",
                           set.sites.size() - count, set.sites.size(), mapped.path));
      }
    }
  }
}

std::vector<bool> Session::FocusOf(const MappedFile& mapped, const std::vector<Site>& sites) {
  if (options_.focus.empty() && options_.focus_from.empty()) return {};
  std::string problem;
  std::vector<bool> focus = FindFocus(options_, mapped.path, sites, problem);
  if (!problem.empty()) Say(1, problem);
  return focus;
}

void Session::Tick(Clock::time_point now) {
  SamplePage* page = breakpoints_.page();
  if (page == nullptr) return;
  const uint32_t phase = Atomic(page->phase).load(std::memory_order_acquire);
  if (phase == SamplePage::kReady) return Begin();
  TakeRecords();
  TellCounters(now, false);
  if (phase == SamplePage::kLeave) {
    Stop();
    Say(1, fmt::format("process {} restricts its system calls (seccomp): it is not sampled from here on", pid_));
    Atomic(page->phase).store(SamplePage::kLeft, std::memory_order_release);
    Wake(page->phase);
    return;
  }
  if (phase != SamplePage::kGo || stopped_) return;
  const double passed = std::chrono::duration<double>(now - last_tick_).count();
  const double seconds = std::min(passed, kLongestTick);
  last_tick_ = now;
  if (now - last_threads_ >= kThreadsEvery) {
    last_threads_ = now;
    const std::string threads = StatusOf(pid_, "Threads:");
    threads_ = threads.empty() ? 1 : std::max<uint64_t>(std::strtoull(threads.c_str(), nullptr, 10), 1);
    if (const double used = ProcessorSeconds(pid_); used > 0) outcome_.processor_seconds = used;
  }
  outcome_.seconds += passed;
  outcome_.thread_seconds += passed * static_cast<double>(threads_);
  const auto any = Atomic(page->pause_left_ns), shared = Atomic(page->shared_left_ns);
  const PauseBudget::Halves more =
      budget_.Tick(seconds, threads_,
                   {.any = any.load(std::memory_order_relaxed), .shared = shared.load(std::memory_order_relaxed)});
  any.fetch_add(more.any, std::memory_order_relaxed);
  shared.fetch_add(more.shared, std::memory_order_relaxed);
  const Breakpoints::Fired fired = breakpoints_.TakeFired();
  const uint64_t count = rate_.Tick(seconds, fired.all);
  if (options_.rate > 0) breakpoints_.Rearm(count);
  if (options_.rate > 0 && !outside_) {  // from outside, each one met is dear
    breakpoints_.ArmFirst(first_.Tick(seconds, fired.first, breakpoints_.fresh()), false);
  }
  if (!options_.modules.empty() && now - last_maps_ >= kMapsEvery) {
    last_maps_ = now;
    std::vector<MappedFile> maps = ReadMaps(pid_);
    const size_t before = added_.size();
    AddModules(maps);
    if (added_.size() == before) return;
    for (const MappedFile& mapped : maps) {
      collector_.Consume(EncodeMessage(
          ModuleMessage{.begin = mapped.code_begin, .end = mapped.code_end, .bias = mapped.bias, .path = mapped.path}));
    }
    conflicts_.SetMaps(std::move(maps));
  }
}

void Session::TakeRecords() {
  for (SampleRecord& record : breakpoints_.page()->records) {
    if (Atomic(record.state).load(std::memory_order_acquire) != SampleRecord::kPublished) continue;
    Report(record);
    Atomic(record.second_waits).store(0, std::memory_order_release);
    Wake(record.second_waits);
    Atomic(record.state).store(SampleRecord::kFree, std::memory_order_release);
  }
}

void Session::Report(SampleRecord& record) {
  const SampleSite* site = breakpoints_.SiteAt(record.site);
  if (site == nullptr || record.size == 0 || record.size > sizeof record.before) return;
  Translator::Conflict conflict = conflicts_.Translate(record, *site, record.watched != 0 || watches() != 0);
  if (conflict.first_is_atomic) breakpoints_.Ban(record.site);
  if (conflict.is_synchronization || (conflict.first_is_atomic && conflict.race.observed->unknown_writer)) {
    ++outcome_.synchronization;
    return;
  }
  ++outcome_.reported;
  if (record.has_second != 0) {
    ++outcome_.with_second;
    outcome_.both_stacks += conflict.has_both_stacks ? 1 : 0;
  }
  for (ThreadMessage& thread : conflict.threads) collector_.Consume(EncodeMessage(std::move(thread)));
  const RawObserved& observed = *conflict.race.observed;
  if (conflict.both_increment && observed.size <= sizeof observed.before) {
    counters_.Add(conflict.race.address, observed.before, observed.after);
    if (!counters_.IsEnough(conflict.race.address)) breakpoints_.Hasten(record.site);
    waiting_.push_back({.race = std::move(conflict.race), .due = Clock::now() + kCounterPatience});
    TellCounters(Clock::now(), options_.on_race != "report");
  } else {
    Tell(conflict.race);
  }
  if (options_.on_race == "report") return;
  Say(0, fmt::format("process {}: both threads are at their accesses; {}", pid_,
                     options_.on_race == "stop"
                         ? fmt::format("stopped, `gdb -p {}` looks at it, `kill -CONT {}` lets it go on", pid_, pid_)
                         : std::string("ended by SIGABRT")));
  Stop();
  breakpoints_.page()->hold_second = 0;
  kill(pid_, options_.on_race == "stop" ? SIGSTOP : SIGABRT);
}

void Session::Tell(RaceMessage& race) { collector_.Consume(EncodeMessage(std::move(race))); }

void Session::TellCounters(Clock::time_point now, bool all) {
  std::vector<Counter> left;
  for (Counter& counter : waiting_) {
    if (!all && !counters_.IsEnough(counter.race.address) && now < counter.due) {
      left.push_back(std::move(counter));
      continue;
    }
    if (counters_.OnlyGrows(counter.race.address)) counter.race.observed->looks = wire::Looks::kStatistics;
    Tell(counter.race);
  }
  waiting_ = std::move(left);
}

double Session::most_stopped() const {
  const SamplePage* page = breakpoints_.page();
  if (page == nullptr || outcome_.seconds <= 0) return 0;
  const uint64_t most = *std::max_element(std::begin(page->thread_paused_ns), std::end(page->thread_paused_ns));
  return static_cast<double>(most) / 1e9 / outcome_.seconds;
}

void Session::Stop() {
  SamplePage* page = breakpoints_.page();
  if (page == nullptr || stopped_) return;
  stopped_ = true;
  Atomic(page->off).store(1, std::memory_order_release);
  if (breakpoints_.size() != 0) breakpoints_.DisarmAll();
}

void Session::Finish() {
  if (breakpoints_.page() != nullptr) TakeRecords();
  TellCounters(Clock::now(), true);
}

}  // namespace redflag
