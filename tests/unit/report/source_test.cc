#include "report/source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace redflag {
namespace {

TEST(SourceFilesTest, FilesAreReadOnceAndMissingOnesAreEmpty) {
  const std::string path = testing::TempDir() + "/source_files_test.txt";
  std::ofstream(path) << "one\r\ntwo\n";
  SourceFiles files;
  EXPECT_EQ(files.Lines(path), (std::vector<std::string>{"one", "two"}));
  std::ofstream(path) << "changed\n";
  EXPECT_EQ(files.Lines(path).size(), 2u);
  EXPECT_TRUE(files.Lines("/no/such/file").empty());
  EXPECT_TRUE(files.Lines("/dev/zero").empty());
}

}  // namespace
}  // namespace redflag
