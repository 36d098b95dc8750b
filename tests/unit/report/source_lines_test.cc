#include "report/source_lines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace redflag {
namespace {

class SourceLinesTest : public testing::Test {
 protected:
  SourceLinesTest() {
    std::string name = testing::TempDir() + "sourceXXXXXX";
    folder_ = mkdtemp(name.data());
    Write("a.cc", "one\n\t two;  \nthree\033[31m", 100);
    Write("program", "", 200);
  }
  ~SourceLinesTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text, time_t time) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    const timespec times[2] = {{time, 0}, {time, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  std::string LineOf(const std::string& file, uint32_t line, const std::string& module = "program") {
    return sources_.LineOf(Frame{.function = "", .file = folder_ / file, .line = line, .module = folder_ / module});
  }

  std::filesystem::path folder_;
  SourceLines sources_;
};

TEST_F(SourceLinesTest, ALineIsShownWithoutBlanksAndControlCharacters) {
  EXPECT_EQ(LineOf("a.cc", 1), "one");
  EXPECT_EQ(LineOf("a.cc", 2), "two;");
  EXPECT_EQ(LineOf("a.cc", 3), "three [31m");
  EXPECT_EQ(LineOf("a.cc", 4), "");
  EXPECT_EQ(LineOf("a.cc", UINT32_MAX), "");
  EXPECT_EQ(LineOf("a.cc", 0), "");
}

TEST_F(SourceLinesTest, AFileThatChangedAfterTheProgramWasBuiltIsNotShown) {
  Write("b.cc", "one\n", 300);
  EXPECT_EQ(LineOf("b.cc", 1), "");
  EXPECT_EQ(LineOf("a.cc", 1, "nowhere"), "");
}

TEST_F(SourceLinesTest, WhatIsNoFileIsNotRead) {
  EXPECT_EQ(LineOf("missing.cc", 1), "");
  EXPECT_EQ(LineOf(".", 1), "");
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(LineOf("fifo", 1), "");
}

}  // namespace
}  // namespace redflag
