#include "sample/attachment.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <csignal>

#include "collect/wire_writer.h"
#include "sample/attachable.h"
#include "sample/statistics.h"

namespace redflag {
namespace {

constexpr timespec kTick{.tv_sec = 0, .tv_nsec = 5'000'000};

// Data breakpoints take four descriptors a thread.
void AllowManyDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// For the tracer, which waits for it; its thread inherits the mask.
void BlockChildSignal() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
}

}  // namespace

Attachment::Attachment(pid_t pid, const SampleOptions& options, Collector& collector)
    : pid_(pid), options_(options), collector_(collector), session_(pid, options, cache_, collector), tracer_(pid) {}

void Attachment::Say(uint32_t severity, const std::string& text) {
  collector_.Consume(EncodeMessage(NoteMessage{.severity = severity, .text = text}));
}

std::string Attachment::Run(const std::function<bool()>& stop) {
  AllowManyDescriptors();
  BlockChildSignal();
  if (const std::string problem = tracer_.Start(); !problem.empty()) {
    return fmt::format("process {} cannot be traced: {}; {}", pid_, problem, WhyNotPermitted(pid_));
  }
  int error = 0;
  const uint32_t watches = tracer_.watches(error);
  session_.SetOutside(watches, error);
  session_.Tick(Session::Clock::now());
  tracer_.SetPage(session_.page());
  const auto begin = Session::Clock::now();
  for (;;) {
    nanosleep(&kTick, nullptr);
    const auto now = Session::Clock::now();
    if (stop() || tracer_.end() != Tracer::End::kNone) break;
    if (options_.seconds > 0 && std::chrono::duration<double>(now - begin).count() >= options_.seconds) break;
    session_.Tick(now);
    collector_.WriteDue(Collector::Clock::now());
  }
  session_.Stop();
  tracer_.Finish();
  if (tracer_.end() == Tracer::End::kProgramReplaced) {
    Say(1, fmt::format("process {} has become another program (exec): it is not sampled from here on", pid_));
  } else if (tracer_.end() == Tracer::End::kProcessEnded) {
    Say(0, fmt::format("process {} has ended", pid_));
  }
  if (const uint64_t unwatched = tracer_.unwatched_threads(); watches != 0 && unwatched != 0) {
    Say(0, fmt::format("{} threads had no data breakpoints, for want of descriptors or locked memory", unwatched));
  }
  session_.Finish();
  collector_.Consume(EncodeMessage(EndMessage{}));
  collector_.Finish(0);
  return "";
}

std::vector<std::string> Attachment::Statistics() const {
  std::vector<std::string> lines = StatisticsOf(session_, options_);
  lines.push_back(OwnCost());
  return lines;
}

}  // namespace redflag
