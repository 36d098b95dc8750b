#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

constexpr int kUse = PROT_READ | PROT_WRITE;
constexpr int kFresh = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr size_t kPage = 65536;  // a multiple of every page size

struct MappingsTest : testing::Test {
  // Ten pages of which the first is mapped, so that there is room behind it.
  char* pages = static_cast<char*>(mmap(nullptr, 10 * kPage, kUse, kFresh, -1, 0));
  Names names{{pages, "a"}, {pages + kPage, "b"}, {pages + 2 * kPage, "c"}};

  MappingsTest() { munmap(pages + kPage, 9 * kPage); }
  ~MappingsTest() override { munmap(pages, 10 * kPage); }
};

TEST_F(MappingsTest, PagesComeAndGo) {
  fake::Start();
  void* fresh = mmap(nullptr, kPage, kUse, kFresh, -1, 0);
  munmap(fresh, kPage);
  fake::Stop();
  EXPECT_EQ(Recorded({{fresh, "p"}}), "Mapped p 65536; Unmapping p 65536");
  fake::Start();
  fresh = mmap64(nullptr, kPage, kUse, kFresh, -1, 0);
  fake::Stop();
  EXPECT_EQ(Recorded({{fresh, "p"}}), "Mapped p 65536");
  munmap(fresh, kPage);
}

TEST_F(MappingsTest, AFixedMappingReplacesWhatWasThere) {
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(mmap(pages, kPage, kUse, kFresh | MAP_FIXED, -1, 0), pages); }),
            "Unmapping a 65536; Mapped a 65536");
}

TEST_F(MappingsTest, CallsThatFailChangeNothing) {
  EXPECT_EQ(Told(names,
                 [&] {
                   EXPECT_EQ(mmap(nullptr, 0, kUse, kFresh, -1, 0), MAP_FAILED);
                   EXPECT_EQ(munmap(pages + 1, kPage), -1);
                   EXPECT_EQ(munmap(pages, 0), -1);
                   EXPECT_EQ(mremap(pages + 1, kPage, 2 * kPage, 0), MAP_FAILED);
                 }),
            "");
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(mmap(pages, kPage, kUse, MAP_PRIVATE | MAP_FIXED, -1, 0), MAP_FAILED); }),
            "Unmapping a 65536; Mapped a 65536");
}

TEST_F(MappingsTest, AMappingThatGrowsInPlaceKeepsItsPages) {
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(mremap(pages, kPage, 2 * kPage, 0), pages); }), "Mapped b 65536");
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(mremap(pages, 2 * kPage, 3 * kPage, MREMAP_MAYMOVE), pages); }),
            "Mapped c 65536");
}

TEST_F(MappingsTest, AMappingThatCannotGrowMovesIfItMay) {
  void* wall = mmap(pages + kPage, kPage, kUse, kFresh | MAP_FIXED, -1, 0);
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(mremap(pages, kPage, 2 * kPage, 0), MAP_FAILED); }), "");
  EXPECT_EQ(errno, ENOMEM);
  fake::Start();
  void* moved = mremap(pages, kPage, 2 * kPage, MREMAP_MAYMOVE);
  fake::Stop();
  names[moved] = "new";
  EXPECT_EQ(Recorded(names), "Unmapping a 65536; Mapped new 131072");
  munmap(moved, 2 * kPage);
  munmap(wall, kPage);
}

TEST_F(MappingsTest, AMappingThatShrinksLosesItsTail) {
  mremap(pages, kPage, 3 * kPage, 0);
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(mremap(pages, 3 * kPage, kPage, MREMAP_MAYMOVE), pages); }),
            "Unmapping b 131072");
  EXPECT_EQ(Told(names, [&] { EXPECT_EQ(mremap(pages, kPage, kPage, MREMAP_MAYMOVE), pages); }), "");
}

TEST_F(MappingsTest, AMappingMovesToAGivenPlace) {
  EXPECT_EQ(Told(names,
                 [&] {
                   EXPECT_EQ(mremap(pages, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, pages + 2 * kPage),
                             pages + 2 * kPage);
                 }),
            "Unmapping a 65536; Unmapping c 65536; Mapped c 65536");
}

}  // namespace
}  // namespace redflag
