#include <malloc.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

void* volatile sink;  // so that no allocation is optimized away

// The compiler may believe that a realloc with such a size cannot be.
size_t Hide(size_t bytes) {
  asm volatile("" : "+r"(bytes));
  return bytes;
}

TEST(MemoryTest, ABlockLivesAsLargeAsItIsUsable) {
  const auto told = [](auto allocate) {
    fake::Start();
    void* block = allocate();
    sink = block;
    free(block);
    fake::Stop();
    return Recorded({{block, "b"}});
  };
  EXPECT_EQ(told([] { return malloc(20); }), "Allocated b 24; Freeing b 24");
  EXPECT_EQ(told([] { return malloc(0); }), "Allocated b 24; Freeing b 24");
  EXPECT_EQ(told([] { return calloc(5, 8); }), "Allocated b 40; Freeing b 40");
  EXPECT_EQ(told([] { return realloc(nullptr, 40); }), "Allocated b 40; Freeing b 40");
  EXPECT_EQ(told([] { return reallocarray(nullptr, 5, 8); }), "Allocated b 40; Freeing b 40");
}

TEST(MemoryTest, AlignedBlocksAreToldAlike) {
  const auto told = [](size_t align, auto allocate) {
    fake::Start();
    void* block = allocate();
    sink = block;
    const size_t bytes = malloc_usable_size(block);
    free(block);
    fake::Stop();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % align, 0u);
    const std::string size = std::to_string(bytes);
    EXPECT_EQ(Recorded({{block, "b"}}), "Allocated b " + size + "; Freeing b " + size);
  };
  told(256, [] { return memalign(256, 100); });
  told(256, [] { return aligned_alloc(256, 512); });
  told(4096, [] { return valloc(100); });
  told(4096, [] { return pvalloc(100); });
  told(128, [] {
    void* block = nullptr;
    EXPECT_EQ(posix_memalign(&block, 128, 100), 0);
    return block;
  });
}

TEST(MemoryTest, AnAllocationThatFailsTellsNothing) {
  EXPECT_EQ(Told({},
                 [] {
                   const size_t huge = Hide(SIZE_MAX / 2);
                   EXPECT_EQ(malloc(huge), nullptr);
                   EXPECT_EQ(errno, ENOMEM);
                   EXPECT_EQ(calloc(huge, 8), nullptr);
                   EXPECT_EQ(memalign(4096, huge), nullptr);
                   void* block = nullptr;
                   EXPECT_EQ(posix_memalign(&block, 3, 100), EINVAL);
                   EXPECT_EQ(posix_memalign(&block, 64, huge), ENOMEM);
                   errno = 0;
                   EXPECT_EQ(reallocarray(nullptr, huge, huge), nullptr);
                   EXPECT_EQ(errno, ENOMEM);
                 }),
            "");
}

TEST(MemoryTest, FreeingNothingTellsNothing) {
  EXPECT_EQ(Told({}, [] { free(nullptr); }), "");
}

TEST(MemoryTest, ReallocInPlaceEndsOneLifeAndBeginsAnother) {
  void* block = malloc(40);
  fake::Start();
  void* same = realloc(block, 33);
  fake::Stop();
  EXPECT_EQ(same, block);
  EXPECT_EQ(Recorded({{block, "b"}}), "Freeing b 40; Allocated b 40");
  free(same);
}

TEST(MemoryTest, ReallocThatMovesEndsTheOldBlockFirst) {
  char* block = static_cast<char*>(malloc(40));
  sink = malloc(40);  // in the way
  strcpy(block, "contents");
  const auto old = reinterpret_cast<uintptr_t>(block);
  fake::Start();
  char* moved = static_cast<char*>(realloc(block, 10'000));
  fake::Stop();
  ASSERT_NE(reinterpret_cast<uintptr_t>(moved), old);
  EXPECT_EQ(Recorded({{reinterpret_cast<void*>(old), "old"}, {moved, "new"}}),
            "Freeing old 40; Allocated new " + std::to_string(malloc_usable_size(moved)));
  EXPECT_STREQ(moved, "contents");
  free(moved);
  free(sink);
}

TEST(MemoryTest, ReallocToNothingIsFree) {
  void* block = malloc(40);
  const Names names{{block, "b"}};
  fake::Start();
  void* none = realloc(block, Hide(0));
  fake::Stop();
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(Recorded(names), "Freeing b 40");
}

TEST(MemoryTest, ABlockThatCannotGrowLivesOn) {
  char* block = static_cast<char*>(malloc(40));
  strcpy(block, "contents");
  EXPECT_EQ(Told({{block, "b"}}, [&] { EXPECT_EQ(realloc(block, Hide(SIZE_MAX / 2)), nullptr); }),
            "Freeing b 40; Allocated b 40");
  EXPECT_STREQ(block, "contents");
  free(block);
}

TEST(MemoryTest, OperatorNewComesThroughMalloc) {
  fake::Start();
  sink = ::operator new(20);
  ::operator delete(sink);
  sink = ::operator new[](20);
  ::operator delete[](sink);
  fake::Stop();
  std::string verbs;
  for (size_t i = 0; i < fake::Count(); ++i) {
    if (fake::At(i).object != nullptr) verbs += std::string(fake::At(i).verb) + ' ';
  }
  EXPECT_EQ(verbs, "Allocated Freeing Allocated Freeing ");
}

TEST(MemoryTest, NothingIsToldWhileTheRuntimeIsNotActive) {
  fake::SetActive(false);
  EXPECT_EQ(Told({}, [] { free(realloc(malloc(10), 1000)), free(calloc(1, 1)); }), "");
  fake::SetActive(true);
}

}  // namespace
}  // namespace redflag
