#include "trace/binary_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/trace/binary_fixture.h"

namespace redflag {
namespace {

class BinaryFileTest : public BinaryTest {};

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string Problem(const std::string& path) {
  auto opened = BinaryFile::Open(path);
  const auto* problem = std::get_if<std::string>(&opened);
  return problem == nullptr ? "" : *problem;
}

std::string RandomText(size_t size) {
  std::mt19937 random(1);
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

TEST_F(BinaryFileTest, BlocksComeBackAsTheyWereAdded) {
  const std::string path = Path("trace");
  const std::string repeated(100'000, 'a');
  const std::string mixed = RandomText(100'000);
  {
    const auto writer = Create(path);
    ASSERT_TRUE(writer->AddEvents(Tid{3}, 17, 40, 9, BytesOf(repeated)));
    ASSERT_TRUE(writer->AddMessage(BytesOf(mixed)));
    ASSERT_TRUE(writer->AddCheckpoint(40));
    ASSERT_TRUE(writer->AddNames(BytesOf("names")));
    ASSERT_TRUE(writer->Finish("it ended"));
    EXPECT_FALSE(writer->AddCheckpoint(50));
    EXPECT_NE(writer->error(), "");
  }
  auto opened = BinaryFile::Open(path);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<BinaryFile>>(opened)) << std::get<std::string>(opened);
  const BinaryFile& file = *std::get<std::unique_ptr<BinaryFile>>(opened);
  BlockDecoder decoder;
  uint64_t offset = kFileHeaderBytes;
  std::vector<BlockInfo> blocks;
  std::vector<std::string> payloads;
  while (offset < file.size()) {
    BlockInfo block;
    ASSERT_EQ(file.ReadHeader(offset, blocks.size(), block), "");
    std::vector<std::byte> payload;
    ASSERT_EQ(decoder.Read(file, block, payload), "");
    payloads.emplace_back(reinterpret_cast<const char*>(payload.data()), payload.size());
    offset = block.end();
    blocks.push_back(block);
  }
  EXPECT_EQ(payloads, (std::vector<std::string>{repeated, mixed, "", "names", "it ended"}));
  EXPECT_EQ(blocks[0].type, BlockType::kEvents);
  EXPECT_EQ(blocks[0].thread, Tid{3});
  EXPECT_EQ(blocks[0].first_stamp, 17u);
  EXPECT_EQ(blocks[0].last_stamp, 40u);
  EXPECT_EQ(blocks[0].events, 9u);
#ifdef REDFLAG_ZSTD
  EXPECT_LT(blocks[0].stored_bytes, 1000u);
#endif
  EXPECT_EQ(blocks[1].compression, Compression::kNone) << "it would not become smaller";
  EXPECT_EQ(blocks[2].type, BlockType::kCheckpoint);
  EXPECT_EQ(blocks[2].last_stamp, 40u);
  EXPECT_EQ(blocks[4].type, BlockType::kEnd);
}

TEST_F(BinaryFileTest, WhatIsNoBinaryTraceIsToldSo) {
  EXPECT_NE(Problem(Path("nowhere")).find("No such file"), std::string::npos);
  EXPECT_EQ(Problem(Path("")), "is a directory");
  Put(Path("empty"), "");
  EXPECT_EQ(Problem(Path("empty")), "is empty: not a trace");
  Put(Path("text"), "main write x\n");
  EXPECT_EQ(Problem(Path("text")), "is not a binary trace");
  EXPECT_FALSE(BinaryFile::IsBinary(Path("text")));
  EXPECT_FALSE(BinaryFile::IsBinary(Path("empty")));
  EXPECT_FALSE(BinaryFile::IsBinary(Path("nowhere")));
  EXPECT_FALSE(BinaryFile::IsBinary(Path("")));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(BinaryFile::IsBinary(Path("pipe")));
  EXPECT_NE(Problem(Path("pipe")).find("not a regular file"), std::string::npos);
  if (geteuid() != 0) {
    Put(Path("secret"), "x");
    ASSERT_EQ(chmod(Path("secret").c_str(), 0), 0);
    EXPECT_NE(Problem(Path("secret")).find("Permission denied"), std::string::npos);
  }
}

TEST_F(BinaryFileTest, AnotherVersionIsRefusedByItsNumber) {
  const std::string path = Path("trace");
  ASSERT_TRUE(Create(path)->Finish(""));
  EXPECT_TRUE(BinaryFile::IsBinary(path));
  EXPECT_EQ(Problem(path), "");
  std::string bytes = Contents(path);
  bytes[8] = 2;
  Put(path, bytes);
  EXPECT_NE(Problem(path).find("has version 2 of the binary format; this redflag reads version 1"), std::string::npos);
}

TEST_F(BinaryFileTest, AFileThatIsBeingWrittenIsNotRead) {
  const std::string path = Path("trace");
  auto writer = Create(path);
  EXPECT_NE(Problem(path).find("still being recorded"), std::string::npos);
  auto second = BinaryWriter::Create(open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(std::get<std::string>(second), "another process writes to the file");
  ASSERT_TRUE(writer->Finish(""));
  EXPECT_EQ(Problem(path), "") << "it is whole";
  writer = Create(path);
  writer.reset();
  EXPECT_EQ(Problem(path), "") << "nobody writes it any more";
}

TEST_F(BinaryFileTest, ABlockThatIsTooLargeIsNotWritten) {
  const auto writer = Create(Path("trace"));
  EXPECT_TRUE(writer->AddMessage(BytesOf(std::string(kMaxBlockBytes, 'x'))));
  EXPECT_FALSE(writer->AddMessage(BytesOf(std::string(kMaxBlockBytes + 1, 'x'))));
  EXPECT_NE(writer->error().find("1048577"), std::string::npos);
}

TEST_F(BinaryFileTest, AFullDiskIsToldAndLeavesWholeBlocks) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full >= 0) {
    const auto created = BinaryWriter::Create(full);
    EXPECT_NE(std::get<std::string>(created).find("No space left"), std::string::npos);
  }
  // A limit for the size of files is a disk that fills up in the middle of a block.
  const std::string path = Path("trace");
  const auto writer = Create(path);
  struct rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  struct rlimit small = old;
  small.rlim_cur = 3000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string payload = RandomText(1000);
  int written = 0;
  while (writer->AddMessage(BytesOf(payload))) ++written;
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(written, 2);
  EXPECT_NE(writer->error().find("File too large"), std::string::npos);
  EXPECT_FALSE(writer->Finish("")) << "nothing more is written";
  EXPECT_EQ(Contents(path).size(), kFileHeaderBytes + 2 * (kBlockHeaderBytes + payload.size()));
}

TEST_F(BinaryFileTest, ThereMustBeAFile) { EXPECT_NE(std::get<std::string>(BinaryWriter::Create(-1)), ""); }

}  // namespace
}  // namespace redflag
