#include "report/source.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace redflag {
namespace {

std::string Made(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(SourceFilesTest, FilesAreReadOnceAndMissingOnesAreEmpty) {
  const std::string path = Made("source_test.txt", "one\r\ntwo\n");
  SourceFiles files;
  EXPECT_EQ(files.Lines(path, ""), (std::vector<std::string>{"one", "two"}));
  Made("source_test.txt", "changed\n");
  EXPECT_EQ(files.Lines(path, "").size(), 2u);
  EXPECT_TRUE(files.Lines("/no/such/file", "").empty());
  EXPECT_TRUE(files.Lines("/dev/zero", "").empty());
}

TEST(SourceFilesTest, AFileThatIsNewerThanTheProgramSaysNothing) {
  const std::string source = Made("source_test.cc", "x = 1;\n");
  const std::string module = Made("source_test.bin", "");
  const auto now = std::filesystem::last_write_time(source);
  std::filesystem::last_write_time(module, now + std::chrono::seconds(1));
  SourceFiles built;
  EXPECT_EQ(built.Lines(source, module).size(), 1u);
  SourceFiles unknown;
  EXPECT_TRUE(unknown.Lines(source, "/no/such/module").empty());
  std::filesystem::last_write_time(module, now - std::chrono::seconds(1));
  SourceFiles changed;
  EXPECT_TRUE(changed.Lines(source, module).empty());
}

}  // namespace
}  // namespace redflag
