// redflag collect: the helper process of a program under test. Started by the runtime, not by people.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "cli/command.h"
#include "collect/collector.h"
#include "collect/destination.h"
#include "collect/ring_reader.h"
#include "collect/trace_drain.h"
#include "collect/tsan_options.h"
#include "collect/wire_writer.h"
#include "offline/analysis.h"

namespace redflag::cli {
namespace {

struct Options {
  int ring = -1;
  int pid = 0;
  std::string output;
  std::string json;
  std::string text;
  std::string detector;
  int trace = -1;
  std::string record;
  bool no_color = false;
  bool thread_history = false;
};

constexpr std::chrono::milliseconds kIdle{500};  // how soon we notice that the program has let go of its standard error

constexpr const char* kFooter =
    R"(The runtime inside an instrumented program starts this command; there is no need to run it by hand. It reads races from
shared memory (a ring in a memfd), finds names and source lines for their addresses, prints each as it comes, and ends when
the program does, however that may be: what was sent before a crash or a kill is still printed.

Reports go to the standard error of the program, which is opened for each of them and not kept open; where that is not
possible, to the standard error of this command.)";

// Whatever the program had open stays closed here: neither its files, nor its pipes, nor its terminal are kept alive. Standard error
// remains, for reports that the program cannot take any more; the Destination lets go of it in time.
void CloseInherited(int ring, int trace) {
  const int first = trace < 0 ? ring : std::min(ring, trace);
  const int last = std::max(ring, trace);
  if (first > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, static_cast<unsigned>(first) - 1, 0);
  if (last > first + 1) close_range(static_cast<unsigned>(first) + 1, static_cast<unsigned>(last) - 1, 0);
  close_range(static_cast<unsigned>(last) + 1, UINT_MAX, 0);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  if (fcntl(STDERR_FILENO, F_GETFD) < 0) dup2(nowhere, STDERR_FILENO);
  if (nowhere > STDERR_FILENO) close(nowhere);
}

// The keys that end the program must not end the one that reports why; nor must a reader who has seen enough, or a file that may not grow.
void IgnoreSignals() {
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTTOU, SIGXFSZ}) std::signal(signal, SIG_IGN);
}

// What the user limited is the program. As far as we may, we are not.
void LiftLimits() {
  for (const auto which : {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_CPU}) {
    rlimit limit{};
    if (getrlimit(which, &limit) != 0 || limit.rlim_cur == limit.rlim_max) continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(which, &limit);
  }
}

// Taken for as long as there may be more lines to come, which `redflag run` waits for.
void HoldFile(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  if (fd >= 0) flock(fd, LOCK_SH | LOCK_NB);
}

// A program that was told to write ThreadSanitizer's log, as CTest does, finds that we do.
void HonourTsanOptions(Options& options) {
  const char* tsan_options = std::getenv("TSAN_OPTIONS");
  if (tsan_options == nullptr || !options.output.empty()) return;
  const std::string path = TsanLogPath(tsan_options);
  if (path.empty()) return;
  options.output = fmt::format("{}.{}", path, options.pid);
  if (options.text.empty()) options.text = "tsan";
}

void Collect(RingReader& ring, Collector& collector, Destination& destination, TraceDrain* drain) {
  for (;;) {
    std::chrono::milliseconds patience = kIdle;
    if (const auto due = collector.due()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - Collector::Clock::now());
      patience = std::clamp(left, std::chrono::milliseconds::zero(), kIdle);
    }
    const RingReader::Status status = ring.Next(patience);
    collector.WriteDue(Collector::Clock::now());
    if (status == RingReader::Status::kTimeout) ring.Settle(collector.held_since().value_or(ring.end()));
    switch (status) {
      case RingReader::Status::kMessage:
        if (drain != nullptr) drain->AddMessage(ring.message());
        collector.Consume(ring.message(), ring.position());
        ring.Settle(collector.held_since().value_or(ring.end()));
        ring.Finish(collector.suppressed());
        break;
      case RingReader::Status::kTimeout:
        if (!collector.due()) destination.LetGo();
        break;
      case RingReader::Status::kBroken:
        collector.Say(fmt::format("error: no more reports from this program: {}", ring.error()));
        [[fallthrough]];
      case RingReader::Status::kDone:
      case RingReader::Status::kDead:
        if (drain != nullptr) {
          drain->Finish(collector.ended() ? "the program ended" : "the program was killed, or crashed");
          if (!drain->error().empty())
            collector.Say(fmt::format("error: the recording is not whole: {}", drain->error()));
        }
        collector.Finish(ring.dropped());
        ring.Abandon();
        return;
    }
  }
}

int RunCollect(Options options) {
  CloseInherited(options.ring, options.trace);
  IgnoreSignals();
  LiftLimits();
  auto opened = RingReader::Open(options.ring, options.pid);
  close(options.ring);
  if (const auto* error = std::get_if<std::string>(&opened)) {
    fmt::print(stderr, "redflag collect: {}\n", *error);
    return kBadInput;
  }
  HonourTsanOptions(options);
  if (!options.json.empty()) HoldFile(options.json);
  Destination destination(options.output, options.pid, !options.no_color);
  const DetectorInfo* detector = FindDetector(options.detector);
  Collector::Options to{.detector = options.detector,
                        .claim = detector == nullptr ? Claim::kUnordered : detector->claim,
                        .pid = static_cast<uint32_t>(options.pid),
                        .json = {},
                        .form = TextFormOf(options.text).value_or(TextForm::kShort),
                        .names_ancestors = options.thread_history};
  if (!options.json.empty()) {
    to.json = [&](const std::string& line) {
      if (!AppendToFile(options.json, line)) {
        destination.Print([&](Colour) { return fmt::format("redflag: cannot write to {}\n", options.json); });
      }
    };
  }
  Collector collector(std::move(to), destination);
  if (!options.text.empty() && !TextFormOf(options.text)) {
    collector.Say(fmt::format("warning: there is no form of text called '{}', but short, full and tsan", options.text));
  }
  std::unique_ptr<TraceDrain> drain;
  if (options.trace >= 0) {
    auto share = TraceDrain::Open(options.trace, options.record, options.pid);
    close(options.trace);
    if (const auto* error = std::get_if<std::string>(&share)) {
      collector.Say(fmt::format("error: nothing is recorded: {}", *error));
    } else {
      drain = std::get<std::unique_ptr<TraceDrain>>(std::move(share));
      drain->AddMessage(EncodeMessage(DetectorMessage{options.detector}));
    }
  }
  Collect(*std::get<std::unique_ptr<RingReader>>(opened), collector, destination, drain.get());
  return kOk;
}

}  // namespace

Run AddCollect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("collect", "Print the races that a running program sends");
  command->group("");  // not for people: left out of the list of commands
  command->add_option("--ring-fd", options->ring, "Descriptor of the ring, 3 or more")
      ->required()
      ->check(CLI::Range(STDERR_FILENO + 1, INT_MAX - 1))
      ->type_name("N");
  command->add_option("--pid", options->pid, "The process that writes to it")
      ->required()
      ->check(CLI::PositiveNumber)
      ->type_name("P");
  command->add_option("--output", options->output, "Append reports to a file; fd2: the standard error of this command")
      ->type_name("FILE");
  command->add_option("--json", options->json, "Also append a line of JSON for each report to a file")
      ->type_name("FILE");
  command->add_option("--text", options->text, "Form of the text: short, full or tsan")->type_name("FORM");
  command->add_option("--detector", options->detector, "Name of the detector, for the reports")->type_name("NAME");
  command->add_option("--trace-fd", options->trace, "Descriptor of the events to record")->type_name("N");
  command->add_option("--record", options->record, "Where to record them")->type_name("FILE");
  command->add_flag("--thread-history", options->thread_history, "Where the ancestors of threads were created, too");
  command->add_flag("--no-color", options->no_color, "No colours, not even on a terminal; NO_COLOR is respected");
  command->footer(kFooter);
  return [options] { return RunCollect(*options); };
}

}  // namespace redflag::cli
