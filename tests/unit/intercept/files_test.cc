#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
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
            "Read out 4; Release ?; Acquire ?; Write in 4");
  EXPECT_EQ(LastObject("Release"), LastObject("Acquire"));
  EXPECT_EQ(Told(names, [&] { close(ends[1]); }), "Release ?");
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(read(ends[0], in, 8), 0); }), "Acquire ?");
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
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(writev(ends[1], parts, 2), 8); }), "Read a 4; Read b 4; Release ?");
  char rest[2];
  ASSERT_EQ(read(ends[0], rest, 2), 2);
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(readv(ends[0], parts, 2), 6); }), "Acquire ?; Write a 4; Write b 2");
  close(ends[0]);
  close(ends[1]);
}

TEST(FilesTest, ADeviceHandsNothingOn) {
  const int null = open("/dev/null", O_RDWR);
  char byte = 0;
  const Names names{{&byte, "b"}};
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(write(null, &byte, 1), 1); }), "Read b 1");
  EXPECT_EQ(Told(names, [&] { close(null); }), "");
}

}  // namespace
}  // namespace redflag
