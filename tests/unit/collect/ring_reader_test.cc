#include "collect/ring_reader.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <memory>
#include <random>
#include <thread>

#include "collect/wire_writer.h"
#include "tests/unit/collect/ring_writer.h"

namespace redflag {
namespace {

using std::chrono::milliseconds;
using Status = RingReader::Status;

std::vector<std::byte> Note(const std::string& text) { return EncodeMessage(NoteMessage{.severity = 0, .text = text}); }

std::string TextOf(const RingReader& ring) {
  const auto decoded = DecodeMessage(ring.message());
  const auto* message = std::get_if<WireMessage>(&decoded);
  return message == nullptr ? "?" : std::get<NoteMessage>(*message).text;
}

std::unique_ptr<RingReader> Open(const RingWriter& writer, pid_t pid = getpid()) {
  auto opened = RingReader::Open(writer.fd(), pid);
  EXPECT_TRUE(std::holds_alternative<std::unique_ptr<RingReader>>(opened)) << std::get<std::string>(opened);
  return std::get<std::unique_ptr<RingReader>>(std::move(opened));
}

TEST(RingReaderTest, GivesMessagesInOrderAndThenWaits) {
  RingWriter writer(4096);
  const auto reader = Open(writer);
  EXPECT_EQ(reader->Next(milliseconds(1)), Status::kTimeout);
  writer.Publish(Note("first"));
  writer.Publish(Note("second"));
  ASSERT_EQ(reader->Next(milliseconds(1)), Status::kMessage);
  EXPECT_EQ(TextOf(*reader), "first");
  ASSERT_EQ(reader->Next(milliseconds(1)), Status::kMessage);
  EXPECT_EQ(TextOf(*reader), "second");
  EXPECT_EQ(reader->Next(milliseconds(1)), Status::kTimeout);
  EXPECT_EQ(writer.header().tail, writer.header().head);
  EXPECT_EQ(writer.header().reader_waits, 0u);
}

TEST(RingReaderTest, CountsWhatIsFinishedNotWhatIsRead) {
  RingWriter writer(4096);
  const auto reader = Open(writer);
  writer.Publish(Note("x"));
  ASSERT_EQ(reader->Next(milliseconds(1)), Status::kMessage);
  EXPECT_EQ(writer.header().drained, 0u);
  reader->Finish();
  EXPECT_EQ(writer.header().drained, 1u);
}

TEST(RingReaderTest, SaysHowFarEverythingHasBeenReported) {
  RingWriter writer(4096);
  const auto reader = Open(writer);
  writer.Publish(Note("first"));
  writer.Publish(Note("second"));
  ASSERT_EQ(reader->Next(milliseconds(1)), Status::kMessage);
  EXPECT_EQ(reader->position(), 0u);
  ASSERT_EQ(reader->Next(milliseconds(1)), Status::kMessage);
  EXPECT_EQ(reader->position(), Note("first").size());
  EXPECT_EQ(reader->end(), writer.header().head);
  EXPECT_EQ(writer.header().settled, 0u);
  reader->Settle(reader->position());
  EXPECT_EQ(writer.header().settled, Note("first").size());
}

TEST(RingReaderTest, MessagesWrapAroundAtEveryPosition) {
  RingWriter writer(256);
  const auto reader = Open(writer);
  for (int i = 0; i < 500; ++i) {
    const std::string text(static_cast<size_t>(i % 200), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(writer.Publish(Note(text)));
    ASSERT_EQ(reader->Next(milliseconds(1)), Status::kMessage) << reader->error();
    ASSERT_EQ(TextOf(*reader), text);
  }
}

TEST(RingReaderTest, ReadsAMessageThatFillsTheRing) {
  RingWriter writer(256);
  const auto reader = Open(writer);
  writer.Publish(Note("ab"));
  ASSERT_EQ(reader->Next(milliseconds(1)), Status::kMessage);
  ASSERT_TRUE(writer.Publish(Note(std::string(256 - 8 - 8 - 8, 'x'))));
  ASSERT_EQ(reader->Next(milliseconds(1)), Status::kMessage);
  EXPECT_EQ(TextOf(*reader).size(), 232u);
}

TEST(RingReaderTest, EndsWhenTheWriterIsDoneAfterTheLastMessage) {
  RingWriter writer(4096);
  const auto reader = Open(writer);
  writer.Publish(Note("last"));
  writer.Done();
  EXPECT_EQ(reader->Next(milliseconds(1)), Status::kMessage);
  EXPECT_EQ(reader->Next(milliseconds(1)), Status::kDone);
  EXPECT_EQ(reader->Next(milliseconds(1)), Status::kDone);
}

TEST(RingReaderTest, WakesForAMessageOfAnotherThread) {
  RingWriter writer(4096);
  const auto reader = Open(writer);
  std::thread thread([&] {
    std::this_thread::sleep_for(milliseconds(30));
    writer.Publish(Note("late"));
  });
  EXPECT_EQ(reader->Next(milliseconds(20'000)), Status::kMessage);
  thread.join();
}

TEST(RingReaderTest, GivesAllThatAKilledWriterPublished) {
  RingWriter writer(1 << 16);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0;; ++i) {
      if (!writer.Publish(Note(std::to_string(i)))) pause();  // full: wait to be killed
    }
  }
  const auto reader = Open(writer, child);
  std::this_thread::sleep_for(milliseconds(50));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const uint32_t published = writer.header().wake;
  EXPECT_GT(published, 0u);
  uint32_t read = 0;
  Status status;
  while ((status = reader->Next(milliseconds(1000))) == Status::kMessage) {
    EXPECT_EQ(TextOf(*reader), std::to_string(read));
    ++read;
  }
  EXPECT_EQ(status, Status::kDead);
  EXPECT_GE(read, published);  // killed between the two stores, it has published one more than it counted
  EXPECT_LE(read, published + 1);
}

TEST(RingReaderTest, NoticesADeathWhileItWaits) {
  RingWriter writer(4096);
  const pid_t child = fork();
  if (child == 0) {
    usleep(30'000);
    _exit(0);
  }
  const auto reader = Open(writer, child);
  EXPECT_EQ(reader->Next(milliseconds(60'000)), Status::kDead);
  waitpid(child, nullptr, 0);
  // Gone before anybody watched.
  EXPECT_EQ(Open(writer, child)->Next(milliseconds(60'000)), Status::kDead);
}

TEST(RingReaderTest, RefusesWhatIsNoRing) {
  const auto refused = [](int fd) { return std::holds_alternative<std::string>(RingReader::Open(fd, getpid())); };
  EXPECT_TRUE(refused(-1));
  EXPECT_TRUE(refused(STDIN_FILENO + 1000));
  {
    RingWriter writer(4096);
    writer.header().magic ^= 1;
    EXPECT_TRUE(refused(writer.fd()));
  }
  for (const uint64_t capacity :
       {uint64_t{0}, uint64_t{8}, uint64_t{4095}, uint64_t{8192}, UINT64_MAX, uint64_t{1} << 63}) {
    RingWriter writer(4096);
    writer.header().capacity = capacity;
    EXPECT_TRUE(refused(writer.fd())) << capacity;
  }
  RingWriter writer(4096);
  writer.header().tail = 4;
  EXPECT_TRUE(refused(writer.fd()));
  ASSERT_EQ(ftruncate(writer.fd(), 100), 0);
  EXPECT_TRUE(refused(writer.fd()));
}

TEST(RingReaderTest, ScribbledPositionsBreakItForGood) {
  for (const uint64_t head : {uint64_t{8192}, uint64_t{4}, UINT64_MAX, uint64_t{4104}}) {
    RingWriter writer(4096);
    const auto reader = Open(writer);
    writer.header().wake = 7;
    writer.header().head = head;
    EXPECT_EQ(reader->Next(milliseconds(1)), Status::kBroken) << head;
    EXPECT_FALSE(reader->error().empty());
    EXPECT_EQ(writer.header().drained, 8u) << "nobody has to wait for a broken ring";
    writer.header().head = 0;
    EXPECT_EQ(reader->Next(milliseconds(1)), Status::kBroken);
  }
}

TEST(RingReaderTest, ScribbledSizesBreakIt) {
  for (const uint32_t size : {0u, 4u, 7u, 12u, 40u, 1u << 20, UINT32_MAX}) {
    RingWriter writer(4096);
    const auto reader = Open(writer);
    writer.Publish(Note("x"));
    std::memcpy(writer.data(), &size, sizeof size);
    EXPECT_EQ(reader->Next(milliseconds(1)), Status::kBroken) << size;
  }
}

TEST(RingReaderTest, TheShrinkingOfAMemfdIsRefusedWhereSealsAreAllowed) {
  const int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(fd, kRingDataOffset + 4096), 0);
  RingHeader header{};
  header.magic = RingHeader::kMagic;
  header.capacity = 4096;
  ASSERT_EQ(pwrite(fd, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  const auto opened = RingReader::Open(fd, getpid());
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<RingReader>>(opened));
  EXPECT_NE(ftruncate(fd, 0), 0);
  close(fd);
}

// Every byte of the shared memory but magic and capacity, at random, while the reader runs: it ends, one way or the other.
TEST(RingReaderTest, RandomScribblesNeverHangIt) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    RingWriter writer(1024);
    const auto reader = Open(writer);
    for (int i = 0; i < 8; ++i) writer.Publish(Note(std::string(random() % 80, 'x')));
    writer.Done();
    const int flips = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < flips; ++i) {
      const size_t at =
          random() % 4 == 0 ? offsetof(RingHeader, head) + random() % 140 : kRingDataOffset + random() % 1024;
      reinterpret_cast<std::byte*>(&writer.header())[at] ^= static_cast<std::byte>(random());
    }
    writer.Done();
    int messages = 0;
    Status status;
    while ((status = reader->Next(milliseconds(1))) == Status::kMessage) {
      DecodeMessage(reader->message());
      reader->Finish();
      ASSERT_LT(++messages, 200);
    }
    EXPECT_TRUE(status == Status::kDone || status == Status::kBroken);
  }
}

}  // namespace
}  // namespace redflag
