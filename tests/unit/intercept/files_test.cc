#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

// The object that a call released or acquired last.
const void* LastObject(const char* verb) {
  for (size_t i = fake::Count(); i-- > 0;) {
    if (std::string(fake::At(i).verb) == verb) return fake::At(i).object;
  }
  return nullptr;
}

// Do a write to one and a read from the other name one object?
bool AreConnected(int to, int from) {
  char bytes[8] = {1};
  Told({}, [&] {
    EXPECT_EQ(write(to, bytes, sizeof bytes), 8);
    EXPECT_EQ(read(from, bytes, sizeof bytes), 8);
  });
  return LastObject("Release") == LastObject("Acquire");
}

TEST(FilesTest, APipeTellsTheBuffersAndOneObject) {
  int ends[2];
  char out[4] = {};
  char in[8] = {};
  Names names{{ends, "ends"}, {out, "out"}, {in, "in"}};
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(pipe(ends), 0); }), "Write ends 8");
  EXPECT_EQ(Told(names,
                 [&] {
                   EXPECT_EQ(write(ends[1], out, 4), 4);
                   EXPECT_EQ(read(ends[0], in, 8), 4);
                 }),
            "Renewed ?; Using ?; Read out 4; Release ?; Renewed ?; Using ?; Acquire ?; Write in 4");
  EXPECT_EQ(LastObject("Release"), LastObject("Acquire"));
  EXPECT_EQ(Told(names, [&] { close(ends[1]); }), "Closing ?; Release ?");
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(read(ends[0], in, 8), 0); }), "Using ?; Acquire ?");
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(read(-1, in, 8), -1); }), "");
  close(ends[0]);
}

TEST(FilesTest, EveryPipeAndEveryEventHasItsOwnObject) {
  int one[2];
  int two[2];
  ASSERT_EQ(pipe(one), 0);
  ASSERT_EQ(pipe(two), 0);
  EXPECT_TRUE(AreConnected(one[1], one[0]));
  const void* first = LastObject("Release");
  EXPECT_TRUE(AreConnected(two[1], two[0]));
  EXPECT_NE(LastObject("Release"), first);
  for (const int fd : {one[0], one[1], two[0], two[1]}) close(fd);

  const int event = eventfd(0, 0);
  const int other = eventfd(0, 0);
  const int duplicate = dup(event);
  EXPECT_TRUE(AreConnected(event, duplicate));
  first = LastObject("Release");
  EXPECT_TRUE(AreConnected(other, other));
  EXPECT_NE(LastObject("Release"), first);
  for (const int fd : {event, other, duplicate}) close(fd);
}

TEST(FilesTest, TheEndsOfASocketpairHaveOneObject) {
  int one[2];
  int two[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, one), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, two), 0);
  const int duplicate = fcntl(one[1], F_DUPFD_CLOEXEC, 50);
  EXPECT_TRUE(AreConnected(one[0], one[1]));
  EXPECT_TRUE(AreConnected(duplicate, one[0]));
  const void* first = LastObject("Release");
  EXPECT_TRUE(AreConnected(two[1], two[0]));
  EXPECT_NE(LastObject("Release"), first);
  for (const int fd : {one[0], one[1], two[0], two[1], duplicate}) close(fd);
}

TEST(FilesTest, VectorsAreToldAsFarAsTheyWereFilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  char first[4] = {};
  char second[4] = {};
  const iovec parts[] = {{first, 4}, {second, 4}};
  const Names names{{first, "a"}, {second, "b"}};
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(writev(ends[1], parts, 2), 8); }),
            "Renewed ?; Using ?; Read a 4; Read b 4; Release ?");
  char rest[2];
  ASSERT_EQ(read(ends[0], rest, 2), 2);
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(readv(ends[0], parts, 2), 6); }), "Using ?; Acquire ?; Write a 4; Write b 2");
  close(ends[0]);
  close(ends[1]);
}

TEST(FilesTest, ADeviceHandsNothingOn) {
  const int null = open("/dev/null", O_RDWR);
  char byte = 0;
  const Names names{{&byte, "b"}};
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(write(null, &byte, 1), 1); }), "Renewed ?; Using ?; Read b 1");
  EXPECT_EQ(Told(names, [&] { close(null); }), "Closing ?");
}

// A number that is used again is another descriptor, whoever closed it.
TEST(FilesTest, DescriptorsAreToldApart) {
  char byte = 0;
  const auto use = [&](int fd) { return Told({{&byte, "b"}}, [&] { EXPECT_EQ(write(fd, &byte, 1), 1); }); };
  const auto last = [](const char* verb) { return LastObject(verb); };
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  use(ends[1]);
  const void* descriptor = last("Using");
  EXPECT_EQ(use(ends[1]), "Using ?; Read b 1; Release ?");
  EXPECT_EQ(last("Using"), descriptor);
  EXPECT_EQ(Told({}, [&] { EXPECT_EQ(dup2(ends[0], ends[1]), ends[1]); }), "Using ?; Release ?; Made ?");
  EXPECT_EQ(last("Made"), descriptor);
  EXPECT_EQ(Told({}, [&] { EXPECT_EQ(dup2(ends[0], ends[0]), ends[0]); }), "");
  EXPECT_EQ(Told({}, [&] { EXPECT_EQ(dup2(-1, ends[0]), -1); }), "");
  EXPECT_EQ(syscall(SYS_close, ends[1]), 0);  // unseen
  const int again = eventfd(0, 0);
  ASSERT_EQ(again, ends[1]);
  const uint64_t one = 1;
  EXPECT_EQ(Told({{&one, "one"}}, [&] { EXPECT_EQ(write(again, &one, sizeof one), 8); }),
            "Renewed ?; Using ?; Read one 8; Release ?");
  EXPECT_EQ(last("Using"), descriptor);
  EXPECT_EQ(Told({}, [&] { EXPECT_EQ(close_range(static_cast<unsigned>(again), static_cast<unsigned>(again), 0), 0); }),
            "Renewed ?");
  close(ends[0]);
}

}  // namespace
}  // namespace redflag
