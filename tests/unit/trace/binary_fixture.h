// Files for the tests of binary traces.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <variant>

#include "trace/binary_file.h"

namespace redflag {

// A folder that is gone afterwards.
class BinaryTest : public testing::Test {
 protected:
  BinaryTest() {
    std::string name = (std::filesystem::temp_directory_path() / "redflag-binary-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~BinaryTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::unique_ptr<BinaryWriter> Create(const std::string& path) const {
    auto created = BinaryWriter::Create(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (auto* writer = std::get_if<std::unique_ptr<BinaryWriter>>(&created)) return std::move(*writer);
    ADD_FAILURE() << std::get<std::string>(created);
    return nullptr;
  }

  static std::string Contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Put(const std::string& path, const std::string& contents) {
    std::ofstream(path, std::ios::binary) << contents;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace redflag
