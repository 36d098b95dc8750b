#include <strings.h>

#include <cstdlib>
#include <cstring>

#include "tests/unit/intercept/told.h"

extern "C" void* __tsan_memcpy(void*, const void*, size_t);
extern "C" void* __tsan_memmove(void*, const void*, size_t);
extern "C" void* __tsan_memset(void*, int, size_t);

namespace redflag {
namespace {

struct StringsTest : testing::Test {
  char from[16] = "abcabc";
  char to[32] = "xyz";
  Names names{{from, "from"}, {to, "to"}, {to + 3, "end"}};

  // `call` answers whether it did what the function is for.
  template <class Call>
  std::string Of(Call call) {
    bool right = false;
    const std::string told = Told(names, [&] { right = call(); });
    EXPECT_TRUE(right);
    return told;
  }
  bool Is(const char* text) const {
    size_t i = 0;
    while (text[i] != '\0' && text[i] == to[i]) ++i;
    return text[i] == to[i];
  }
  bool Copied(size_t bytes) const {
    for (size_t i = 0; i < bytes; ++i) {
      if (to[i] != from[i]) return false;
    }
    return true;
  }
};

TEST_F(StringsTest, ACopyReadsAndWrites) {
  const std::string copy = "Read from 5; Write to 5";
  EXPECT_EQ(Of([&] { return memcpy(to, from, 5) == to && Copied(5); }), copy);
  EXPECT_EQ(Of([&] { return mempcpy(to, from, 5) == to + 5 && Copied(5); }), copy);
  EXPECT_EQ(Of([&] { return memmove(to, from, 5) == to && Copied(5); }), copy);
  EXPECT_EQ(Of([&] { return bcopy(from, to, 5), Copied(5); }), copy);
  EXPECT_EQ(Of([&] { return __tsan_memcpy(to, from, 5) == to && Copied(5); }), copy);
  EXPECT_EQ(Of([&] { return __tsan_memmove(to, from, 5) == to && Copied(5); }), copy);
}

TEST_F(StringsTest, AFillWrites) {
  EXPECT_EQ(Of([&] { return memset(to, 'q', 5) == to && to[4] == 'q'; }), "Write to 5");
  EXPECT_EQ(Of([&] { return __tsan_memset(to, 'r', 5) == to && to[4] == 'r'; }), "Write to 5");
  EXPECT_EQ(Of([&] { return bzero(to, 5), to[4] == '\0'; }), "Write to 5");
}

TEST_F(StringsTest, NoBytesAreNothing) {
  const size_t none = strlen("");
  EXPECT_EQ(Of([&] {
              memcpy(to, from, 0), memmove(to, from, 0), memset(to, 0, none), bzero(to, none);
              return memcmp(to, from, 0) == 0 && memchr(to, 'x', 0) == nullptr && strncmp(to, from, 0) == 0 &&
                     strnlen(to, 0) == 0;
            }),
            "");
}

TEST_F(StringsTest, MemcmpReadsAllOfBoth) {
  EXPECT_EQ(Of([&] { return memcmp(from, to, 5) < 0; }), "Read from 5; Read to 5");
}

TEST_F(StringsTest, AComparisonReadsUpToTheDifferenceOrTheEnd) {
  strcpy(to, "abXabc");
  EXPECT_EQ(Of([&] { return strcmp(from, to) > 0; }), "Read from 3; Read to 3");
  EXPECT_EQ(Of([&] { return strncmp(from, to, 5) > 0; }), "Read from 3; Read to 3");
  EXPECT_EQ(Of([&] { return strncmp(from, to, 2) == 0; }), "Read from 2; Read to 2");
  strcpy(to, from);
  EXPECT_EQ(Of([&] { return strcmp(from, to) == 0; }), "Read from 7; Read to 7");
  EXPECT_EQ(Of([&] { return strncmp(from, to, 100) == 0; }), "Read from 7; Read to 7");
}

TEST_F(StringsTest, ASearchReadsUpToWhatItFinds) {
  EXPECT_EQ(Of([&] { return memchr(from, 'c', 16) == from + 2; }), "Read from 3");
  EXPECT_EQ(Of([&] { return memchr(from, 'q', 16) == nullptr; }), "Read from 16");
  EXPECT_EQ(Of([&] { return strchr(from, 'c') == from + 2; }), "Read from 3");
  EXPECT_EQ(Of([&] { return strchr(from, 'q') == nullptr; }), "Read from 7");
  EXPECT_EQ(Of([&] { return strchr(from, '\0') == from + 6; }), "Read from 7");
  EXPECT_EQ(Of([&] { return strrchr(from, 'c') == from + 5; }), "Read from 7");
  EXPECT_EQ(Of([&] { return strrchr(from, 'q') == nullptr; }), "Read from 7");
}

TEST_F(StringsTest, ALengthReadsTheEndToo) {
  EXPECT_EQ(Of([&] { return strlen(from) == 6; }), "Read from 7");
  EXPECT_EQ(Of([&] { return strnlen(from, 100) == 6; }), "Read from 7");
  EXPECT_EQ(Of([&] { return strnlen(from, 6) == 6; }), "Read from 6");
  EXPECT_EQ(Of([&] { return strnlen(from, 3) == 3; }), "Read from 3");
}

TEST_F(StringsTest, CopiesOfStringsReadAndWriteTheEndToo) {
  EXPECT_EQ(Of([&] { return strcpy(to, from) == to && Copied(7); }), "Read from 7; Write to 7");
  EXPECT_EQ(Of([&] { return stpcpy(to, from) == to + 6 && Copied(7); }), "Read from 7; Write to 7");
  EXPECT_EQ(Of([&] { return strncpy(to, from, 10) == to && Copied(10); }), "Read from 7; Write to 10");
  EXPECT_EQ(Of([&] { return strncpy(to, from, 4) == to && Copied(4); }), "Read from 4; Write to 4");
}

TEST_F(StringsTest, AppendingWritesBehindTheEnd) {
  EXPECT_EQ(Of([&] { return strcat(to, from) == to && Is("xyzabcabc"); }), "Read to 3; Read from 7; Write end 7");
  to[3] = '\0';
  EXPECT_EQ(Of([&] { return strncat(to, from, 2) == to && Is("xyzab"); }), "Read to 3; Read from 2; Write end 3");
  to[3] = '\0';
  EXPECT_EQ(Of([&] { return strncat(to, from, 10) == to && Is("xyzabcabc"); }), "Read to 3; Read from 7; Write end 7");
}

TEST_F(StringsTest, ADuplicateIsReadFromItsOriginalAndBornAsABlock) {
  for (bool bounded : {false, true}) {
    fake::Start();
    char* twin = bounded ? strndup(from, 3) : strdup(from);
    fake::Stop();
    EXPECT_STREQ(twin, bounded ? "abc" : "abcabc");
    EXPECT_EQ(Recorded(names), bounded ? "Read from 3" : "Read from 7");
    ASSERT_EQ(fake::Count(), 2u);
    EXPECT_STREQ(fake::At(1).verb, "Allocated");
    EXPECT_EQ(fake::At(1).object, twin);
    free(twin);
  }
}

TEST_F(StringsTest, NothingIsToldWhileTheRuntimeIsNotActive) {
  fake::SetActive(false);
  EXPECT_EQ(Of([&] {
              memcpy(to, from, 5), memset(to, 0, 5), strcpy(to, from), strcat(to, from);
              return strcmp(to, "abcabcabcabc") == 0 && strlen(to) == 12;
            }),
            "");
  fake::SetActive(true);
}

// As glibc's headers declare them for -D_FORTIFY_SOURCE.
extern "C" {
void* __memcpy_chk(void*, const void*, size_t, size_t);
void* __memmove_chk(void*, const void*, size_t, size_t);
void* __mempcpy_chk(void*, const void*, size_t, size_t);
void* __memset_chk(void*, int, size_t, size_t);
char* __strcpy_chk(char*, const char*, size_t);
char* __stpcpy_chk(char*, const char*, size_t);
char* __strncpy_chk(char*, const char*, size_t, size_t);
char* __strcat_chk(char*, const char*, size_t);
char* __strncat_chk(char*, const char*, size_t, size_t);
}

TEST(CheckedStringsTest, CheckedFunctionsTellTheSame) {
  char to[16] = {};
  const char from[] = "abc";
  const Names names{{to, "t"}, {from, "f"}, {to + 3, "t+3"}};
  for (auto* copy : {__memcpy_chk, __memmove_chk, __mempcpy_chk}) {
    EXPECT_EQ(Told(names, [&] { copy(to, from, 4, sizeof to); }), "Read f 4; Write t 4");
  }
  EXPECT_EQ(Told(names, [&] { __memset_chk(to, 0, 5, sizeof to); }), "Write t 5");
  for (auto* copy : {__strcpy_chk, __stpcpy_chk}) {
    EXPECT_EQ(Told(names, [&] { copy(to, from, sizeof to); }), "Read f 4; Write t 4");
  }
  EXPECT_EQ(Told(names, [&] { __strncpy_chk(to, from, 6, sizeof to); }), "Read f 4; Write t 6");
  EXPECT_EQ(Told(names, [&] { __strcat_chk(to, from, sizeof to); }), "Read t 3; Read f 4; Write t+3 4");
  to[3] = '\0';
  EXPECT_EQ(Told(names, [&] { __strncat_chk(to, from, 2, sizeof to); }), "Read t 3; Read f 2; Write t+3 3");
}

}  // namespace
}  // namespace redflag
