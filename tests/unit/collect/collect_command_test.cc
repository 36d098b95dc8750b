// `redflag collect` as the runtime starts it: another process that reads a ring and writes to where the program's standard error
// goes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "collect/wire_writer.h"
#include "tests/unit/collect/ring_writer.h"

namespace redflag {
namespace {

using std::chrono::milliseconds;

std::vector<std::byte> Race(uint64_t address) {
  RaceMessage race;
  race.address = address;
  race.bytes = race.accesses_found = 1;
  RawAccess access;
  access.kind = AccessKind::kWrite;
  access.size = 1;
  access.address = address;
  access.stack.frames = {address};
  race.accesses = {access};
  return EncodeMessage(race);
}

class CollectCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe2(error_pipe_, O_CLOEXEC), 0);
    char folder[] = "/tmp/redflag-collect-XXXXXX";
    folder_ = mkdtemp(folder);
  }
  void TearDown() override {
    for (const pid_t pid : {victim_, helper_}) {
      if (pid > 0) kill(pid, SIGKILL), waitpid(pid, nullptr, 0);
    }
    close(error_pipe_[0]);
    if (error_pipe_[1] >= 0) close(error_pipe_[1]);
    std::filesystem::remove_all(folder_);
  }

  // A process whose standard error is our pipe, from when this returns.
  void StartVictim(const std::function<void()>& body) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    victim_ = fork();
    if (victim_ != 0) {
      close(ready[1]);
      char end = 0;
      EXPECT_EQ(read(ready[0], &end, 1), 0);  // the end of the pipe: its last writer has closed it
      close(ready[0]);
      return;
    }
    dup2(error_pipe_[1], STDERR_FILENO);
    close(error_pipe_[1]);
    close(ready[0]);
    close(ready[1]);
    body();
    _exit(0);
  }

  void StartHelper(std::vector<std::string> more = {}, bool inherits_stderr = false) {
    std::vector<std::string> words = {REDFLAG_COMMAND, "collect", "--ring-fd", "9", "--pid", std::to_string(victim_)};
    words.insert(words.end(), more.begin(), more.end());
    helper_ = fork();
    if (helper_ == 0) {
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      dup2(inherits_stderr ? error_pipe_[1] : open("/dev/null", O_WRONLY), STDERR_FILENO);
      dup2(error_pipe_[1], 30);  // something that it must not keep open
      dup2(ring_.fd(), 9);
      execv(REDFLAG_COMMAND, arguments.data());
      _exit(99);
    }
    close(error_pipe_[1]);
    error_pipe_[1] = -1;
  }

  // Everything up to the end of the pipe, or until `enough` was seen.
  std::string ReadPipe(const std::string& enough = "\x01") {
    std::string text;
    pollfd ready{.fd = error_pipe_[0], .events = POLLIN, .revents = 0};
    while (text.find(enough) == std::string::npos && poll(&ready, 1, 60'000) > 0) {
      char buffer[4096];
      const ssize_t count = read(error_pipe_[0], buffer, sizeof buffer);
      if (count <= 0) {
        ended_ = true;
        break;
      }
      text.append(buffer, static_cast<size_t>(count));
    }
    return text;
  }

  static int Wait(pid_t& pid) {
    int status = -1;
    waitpid(pid, &status, 0);
    pid = -1;
    return status;
  }

  RingWriter ring_{1 << 16};
  int error_pipe_[2] = {-1, -1};
  bool ended_ = false;
  pid_t victim_ = -1;
  pid_t helper_ = -1;
  std::string folder_;
};

TEST_F(CollectCommandTest, PrintsToTheStandardErrorOfTheProgramAndEndsWithIt) {
  StartVictim([] { pause(); });
  StartHelper({"--json", folder_ + "/races.json", "--detector", "hb"});
  ring_.Publish(Race(0x1234));
  const std::string report = ReadPipe("found by hb\n");
  EXPECT_NE(report.find("DATA RACE on 1 byte at 0x1234\n"), std::string::npos) << report;
  EXPECT_EQ(report.find('\033'), std::string::npos) << "a pipe has no colours";
  ring_.Done();
  EXPECT_EQ(Wait(helper_), 0);
  EXPECT_EQ(ring_.header().drained, ring_.header().wake + 1);
  std::ifstream json(folder_ + "/races.json");
  std::string line;
  ASSERT_TRUE(std::getline(json, line));
  EXPECT_NE(line.find("\"kind\":\"data-race\""), std::string::npos) << line;
  ASSERT_TRUE(std::getline(json, line));
  EXPECT_NE(line.find("\"kind\":\"summary\""), std::string::npos) << line;
}

TEST_F(CollectCommandTest, EndsSoonAfterAKilledProgramAndPrintsWhatItHadSent) {
  ring_.Publish(Race(0x1111));
  ring_.Publish(Race(0x2222));
  StartVictim([] { pause(); });
  StartHelper({}, true);
  kill(victim_, SIGKILL);
  Wait(victim_);
  const std::string text = ReadPipe();
  EXPECT_TRUE(ended_) << "the pipe ends with the helper";
  EXPECT_NE(text.find("at 0x1111\n"), std::string::npos) << text;
  EXPECT_NE(text.find("at 0x2222\n"), std::string::npos) << text;
  EXPECT_NE(text.find("redflag: 2 data races"), std::string::npos) << text;
  EXPECT_EQ(Wait(helper_), 0);
}

TEST_F(CollectCommandTest, LetsGoOfAStandardErrorThatTheProgramClosed) {
  StartVictim([] {
    usleep(300'000);
    close(STDERR_FILENO);
    pause();
  });
  StartHelper({}, true);
  ReadPipe();
  EXPECT_TRUE(ended_) << "the pipe ends although the program and its helper live on";
  EXPECT_EQ(kill(helper_, 0), 0);
}

TEST_F(CollectCommandTest, IgnoresTheKeysThatEndTheProgram) {
  StartVictim([] { pause(); });
  StartHelper();
  ring_.Publish(Race(0x1234));
  ReadPipe("DATA RACE");
  for (const int signal : {SIGINT, SIGHUP, SIGPIPE}) kill(helper_, signal);
  ring_.Publish(Race(0x5678));
  EXPECT_NE(ReadPipe("0x5678").find("0x5678"), std::string::npos);
}

TEST_F(CollectCommandTest, AppendsToAFile) {
  const std::string path = folder_ + "/reports.txt";
  std::ofstream(path) << "before\n";
  StartVictim([] { pause(); });
  StartHelper({"--output", path});
  ring_.Publish(Race(0x1234));
  ring_.Done();
  EXPECT_EQ(Wait(helper_), 0);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str().rfind("before\nDATA RACE on 1 byte at 0x1234\n", 0), 0u) << text.str();
}

TEST_F(CollectCommandTest, ABrokenRingEndsItWithAnError) {
  StartVictim([] { pause(); });
  StartHelper();
  // Once it waits for messages it has found the ring in order.
  for (int i = 0; i < 3000 && std::atomic_ref(ring_.header().reader_waits).load() == 0; ++i) usleep(10'000);
  std::atomic_ref(ring_.header().head).store(12345);
  EXPECT_NE(ReadPipe("overwritten").find("redflag: error: no more reports from this program"), std::string::npos);
  EXPECT_EQ(Wait(helper_), 0);
}

}  // namespace
}  // namespace redflag
