// redflag run: a program under a detector. redflag record: a program whose run is kept, to be looked at later.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/executable.h"
#include "cli/installation.h"
#include "cli/rendering.h"
#include "cli/run_records.h"
#include "events/run_status.h"

namespace redflag::cli {
namespace {

constexpr int kNotFound = 127;

struct Options {
  std::string detector = "hb";
  std::string output;
  std::string json;
  std::vector<std::string> suppressions;
  std::string record;   // empty: nothing is kept
  std::string on_race;  // empty: as REDFLAG_OPTIONS says
  Rendering rendering;
  int exit_code = kRaces;
  bool says_recorded = false;
  std::vector<std::string> command;
};

// The memory that the processes of the run tell their counts in.
class StatusPage {
 public:
  StatusPage() : fd_(memfd_create("redflag-run", 0)) {
    if (fd_ < 0 || ftruncate(fd_, sizeof(RunStatus)) != 0) return;
    void* page = mmap(nullptr, sizeof(RunStatus), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (page != MAP_FAILED) status_ = static_cast<RunStatus*>(page);
  }
  std::string path() const { return fmt::format("/proc/{}/fd/{}", getpid(), fd_); }
  uint64_t reports() const { return status_ == nullptr ? 0 : __atomic_load_n(&status_->reports, __ATOMIC_ACQUIRE); }
  bool instrumented() const {
    return status_ == nullptr || __atomic_load_n(&status_->instrumented, __ATOMIC_ACQUIRE) != 0;
  }
  bool switched_off() const {
    return status_ != nullptr && __atomic_load_n(&status_->switched_off, __ATOMIC_ACQUIRE) != 0;
  }

 private:
  int fd_;
  RunStatus* status_ = nullptr;
};

// The file that a run is recorded in. Emptied first, so that a file that cannot be written is known before the program runs.
class RecordFile {
 public:
  explicit RecordFile(const std::string& path) : path_(path) {
    if (path.empty()) return;
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat status{};
    const auto fail = [&](std::string_view why) { error_ = fmt::format("cannot record to {}: {}", path, why); };
    const bool is_there = fd >= 0 && fstat(fd, &status) == 0;
    if (is_there && !S_ISREG(status.st_mode)) {
      fail("it is not a file");
    } else if (is_there && flock(fd, LOCK_EX | LOCK_NB) != 0) {
      fail("another program is being recorded there");
    } else if (!is_there || ftruncate(fd, 0) != 0) {
      fail(std::strerror(errno));
    }
    if (fd >= 0) close(fd);
  }
  const std::string& error() const { return error_; }

  // The helper process holds a lock on the file until it is whole; after a kill it needs a moment to notice. How many bytes there are then.
  uint64_t Await() const {
    constexpr useconds_t kStep = 20'000;
    constexpr int kPatience = 150;
    struct stat status{};
    const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    for (int i = 0; i < kPatience && (fstat(fd, &status) != 0 || status.st_size == 0); ++i) usleep(kStep);
    while (flock(fd, LOCK_SH) != 0 && errno == EINTR) {
    }
    if (fstat(fd, &status) != 0) status.st_size = 0;
    close(fd);
    return static_cast<uint64_t>(status.st_size);
  }

 private:
  std::string path_;
  std::string error_;
};

// To what REDFLAG_OPTIONS says: the last word counts.
void AddOption(const std::string& option) {
  const char* before = std::getenv("REDFLAG_OPTIONS");
  setenv("REDFLAG_OPTIONS", before == nullptr ? option.c_str() : fmt::format("{}:{}", before, option).c_str(), 1);
}

void AddToList(const char* name, const std::string& value, const char* separator) {
  const char* before = std::getenv(name);
  const std::string all = before != nullptr && *before != '\0' ? value + separator + before : value;
  setenv(name, all.c_str(), 1);
}

pid_t child = 0;
void PassOn(int signal) {
  if (child > 0) kill(child, signal);
}

int RunProgram(const Options& options) {
  const std::filesystem::path runtime = RuntimeFolder(options.detector) / kRuntimeLibrary;
  if (IsStaticallyLinked(FindProgram(options.command[0]))) {
    fmt::print(stderr,
               "redflag run: {} is statically linked, so that no runtime can be loaded into it: link it dynamically, "
               "with `redflag c++`\n",
               options.command[0]);
    return kBadInput;
  }
  if (HasOwnRaceDetector(FindProgram(options.command[0]))) {
    fmt::print(
        stderr,
        "redflag run: {} has ThreadSanitizer linked into it, in whose place no other runtime can be put: link it "
        "with `redflag c++`, or with -fsanitize=thread and, if that is clang, -shared-libsan\n",
        options.command[0]);
    return kBadInput;
  }
  const RecordFile record(options.record);
  if (!record.error().empty()) {
    fmt::print(stderr, "redflag: {}\n", record.error());
    return kBadInput;
  }
  std::optional<RunRecords> reports;
  if (!options.rendering.warnings.empty() && !options.rendering.is_wanted()) {
    fmt::print(stderr,
               "redflag run: --warnings is for what is written at the end: give a form too, such as --text FILE\n");
    return kBadInput;
  }
  if (options.rendering.is_wanted()) {
    reports.emplace(options.json);
    std::vector<std::string> problems = CheckOutputs(options.rendering);
    if (!reports->error().empty()) problems.push_back(reports->error());
    for (const std::string& problem : problems) fmt::print(stderr, "redflag: {}\n", problem);
    if (!problems.empty()) return kBadInput;
  }
  StatusPage status;
  child = fork();
  if (child < 0) {
    fmt::print(stderr, "redflag run: cannot fork: {}\n", std::strerror(errno));
    return kBadInput;
  }
  if (child == 0) {
    std::string libraries = runtime.string();
    for (const std::filesystem::path& library : StandIns()) libraries += ":" + library.string();
    AddToList("LD_PRELOAD", libraries, ":");
    setenv("REDFLAG_COMMAND", OwnPath().c_str(), 1);
    setenv("REDFLAG_STATUS", status.path().c_str(), 1);
    if (!options.output.empty()) setenv("REDFLAG_OUTPUT", std::filesystem::absolute(options.output).c_str(), 1);
    if (reports) {
      setenv("REDFLAG_JSON", reports->path().c_str(), 1);
    } else if (!options.json.empty()) {
      setenv("REDFLAG_JSON", std::filesystem::absolute(options.json).c_str(), 1);
    }
    if (const TextForm form = options.rendering.form(); form != TextForm::kShort) {
      setenv("REDFLAG_TEXT", form == TextForm::kTsan ? "tsan" : "full", 1);
    }
    if (!options.record.empty()) setenv("REDFLAG_RECORD", std::filesystem::absolute(options.record).c_str(), 1);
    for (const std::string& file : options.suppressions) {
      AddOption(fmt::format("suppressions={}", std::filesystem::absolute(file).string()));
    }
    if (!options.on_race.empty()) AddOption(fmt::format("on_race={}", options.on_race));
    if (options.exit_code != kRaces) AddOption(fmt::format("exitcode={}", options.exit_code));
    std::vector<char*> argv;
    argv.reserve(options.command.size() + 1);
    for (const std::string& word : options.command)
      argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp's signature
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    fmt::print(stderr, "redflag run: {}: {}\n", options.command[0], std::strerror(errno));
    _exit(kNotFound);
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, PassOn);
  int wait_status = 0;
  while (waitpid(child, &wait_status, 0) < 0) {
    if (errno != EINTR) return kBadInput;
  }
  const bool exited = WIFEXITED(wait_status);
  const int own = exited ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  if (own == kNotFound && !status.instrumented()) return own;
  if (status.switched_off()) {
    fmt::print(stderr, "redflag run: {} or a process of it ran unchecked, for the reason given above\n",
               options.command[0]);
  } else if (!status.instrumented()) {
    fmt::print(stderr,
               "redflag run: nothing in {} was compiled for race detection, so nothing was checked: build it with "
               "`redflag c++`\n",
               options.command[0]);
  }
  if (!options.record.empty()) {
    if (record.Await() == 0) {
      fmt::print(stderr, "redflag: nothing was recorded to {}\n", options.record);
      if (own == kOk) return kBadInput;
    } else if (options.says_recorded) {
      fmt::print(stderr, "redflag: recorded to {}; `redflag analyze {}` finds its races\n", options.record,
                 options.record);
    }
  }
  if (reports && !RenderRun(*reports, options.rendering, status.reports() != 0, "run")) return kBadInput;
  return status.reports() != 0 && options.exit_code != 0 ? options.exit_code : own;
}

}  // namespace

Run AddRun(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a program and report its races");
  command->add_option("-d,--detector", options->detector, "Which detector (`redflag list`)")->capture_default_str();
  command->add_option("-o,--output", options->output, "Write reports to this file, not to standard error");
  command->add_option("--json", options->json, "Append each report as a line of JSON to this file")->type_name("FILE");
  AddRenderingOptions(*command, options->rendering);
  command
      ->add_option("--suppressions", options->suppressions,
                   "Rules for races that are not to be reported; may be given again")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->check(CLI::ExistingFile)
      ->check([](const std::string& path) {
        const bool is_good = path.find_first_of(":;, \t\n") == std::string::npos;
        return is_good ? std::string() : "a name with a colon, semicolon, comma or space cannot be handed on: " + path;
      });
  command
      ->add_option("--record", options->record,
                   "Also write down all that happens, for `redflag analyze`; costs time and disk")
      ->type_name("FILE");
  command
      ->add_option("--exit-code", options->exit_code,
                   "Exit with this if anything was reported; 0: with the program's own status")
      ->capture_default_str()
      ->check(CLI::Range(0, 255));
  command
      ->add_option(
          "--on-race", options->on_race,
          "After a report: `report` goes on, `stop` waits for a debugger, `core` and `abort` end the program "
          "by SIGABRT "
          "(core: with a core file, if you may have one), `end` ends it. In place of a racy access: `throw` throws "
          "redflag::data_race_error, `stop-thread` ends the thread, `callback` calls the program first")
      ->type_name("ACTION")
      ->check(CLI::IsMember({"report", "stop", "core", "abort", "end", "throw", "stop-thread", "callback"}));
  command->add_option("command", options->command, "The program and its arguments")->required();
  command->positionals_at_end();
  command->footer(
      R"(Build the program with `redflag c++` first, or with g++ -fsanitize=thread, or clang++ -fsanitize=thread -shared-libsan.
  redflag c++ -g -o app app.cc && redflag run ./app
  redflag run --json races.json -- ./app --its-own=options     kept for `redflag report`
  redflag run --sarif races.sarif --github ./app               in other forms too, when the program has ended
  redflag run --compat=tsan ./app                              as ThreadSanitizer prints them
  redflag run --record run.rft ./app && redflag analyze -d all run.rft
Exit status: 66 if anything was reported, else the program's own. REDFLAG_OPTIONS sets the options of the runtime.)");
  return [options] { return RunProgram(*options); };
}

Run AddRecord(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->detector = "null";
  options->record = "redflag.rft";
  options->says_recorded = true;
  CLI::App* command = app.add_subcommand("record", "Run a program and keep what it does, to find its races later");
  command->add_option("-o,--output", options->record, "The trace")->type_name("FILE")->capture_default_str();
  command->add_option("-d,--detector", options->detector, "Also watch with this detector, and report (`redflag list`)")
      ->capture_default_str();
  command->add_option("command", options->command, "The program and its arguments")->required();
  command->positionals_at_end();
  command->footer(R"(Build the program with `redflag c++` first.
  redflag c++ -g -o app app.cc && redflag record ./app
  redflag analyze redflag.rft                  the races of this run
  redflag analyze -d all -j 2 redflag.rft      as every detector sees it, on two cores
What the program does is on disk until the moment it ends, however it does: a crash or a kill loses nothing. Processes that it forks are
recorded too, each in a file of its own: redflag.rft.PID.
Exit status: the program's own.)");
  return [options] { return RunProgram(*options); };
}

}  // namespace redflag::cli
