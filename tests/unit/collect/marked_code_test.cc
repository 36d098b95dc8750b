#include "collect/marked_code.h"

#include <gtest/gtest.h>

#include <cstring>

#include "collect/suppressions.h"

namespace redflag {
namespace {

MarkedCode MarkedBy(const char* rules) {
  Suppressions suppressions;
  EXPECT_TRUE(suppressions.Add(rules).empty());
  return MarkedCode(suppressions.rules());
}

TEST(MarkedCode, TheMapOfAProcessTellsWhereItsCodeIs) {
  const auto found = MappedCodeOf(
      "55d0c0000000-55d0c0001000 r--p 00000000 08:01 123 /bin/app\n"
      "55d0c0001000-55d0c0002000 r-xp 00001000 08:01 123 /bin/app\n"
      "55d0c0002000-55d0c0003000 rw-p 00002000 08:01 123 /bin/app\n"
      "7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n"
      "7f0000100000-7f0000101000 r--p 00000000 08:01 124 /lib/with space.so\n"
      "7f0000101000-7f0000102000 r-xp 00001000 08:01 124 /lib/with space.so\n"
      "7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "/bin/app");
  EXPECT_EQ(found[0].begin, 0x55d0c0001000u);
  EXPECT_EQ(found[0].end, 0x55d0c0002000u);
  EXPECT_EQ(found[0].image, 0x55d0c0000000u);
  EXPECT_EQ(found[1].path, "/lib/with space.so");
  EXPECT_EQ(found[1].image, 0x7f0000100000u);
}

TEST(MarkedCode, AMapThatIsCutOffIsReadAsFarAsItGoes) {
  EXPECT_TRUE(MappedCodeOf("").empty());
  EXPECT_TRUE(MappedCodeOf("55d0").empty());
  EXPECT_TRUE(MappedCodeOf("zz-yy r-xp 0 0 0 /x\n").empty());
}

TEST(MarkedCode, AnIgnoredModuleIsIgnoredAsAWhole) {
  MarkedCode code = MarkedBy("obj:libfoo");
  code.Add("/opt/libfoo.so.1", 0x2000, 0x3000, 0x1000);
  code.Add("/opt/libbar.so.1", 0x5000, 0x6000, 0x4000);
  code.Add("/lib/x86_64-linux-gnu/libc.so.6", 0x8000, 0x9000, 0x7000);
  const auto ranges = code.ranges();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].begin, 0x2000u);
  EXPECT_EQ(ranges[0].end, 0x3000u);
  EXPECT_EQ(ranges[0].marks, Raw(CodeMark::kIgnored));
  EXPECT_EQ(ranges[1].begin, 0x8000u);
  EXPECT_EQ(ranges[1].marks, Raw(CodeMark::kLibrary)) << "what libc does, its caller does";
}

TEST(MarkedCode, TheTableSaysWhichModulesWereLookedAt) {
  MarkedCode code = MarkedBy("called_from_lib:libfoo");
  code.Add("/opt/libfoo.so.1", 0x2000, 0x3000, 0x1000);
  code.Add("/opt/app", 0x100, 0x200, 0);
  const std::string bytes = code.Encode();
  MarkedCodeHeader header{};
  ASSERT_EQ(bytes.size(), sizeof header + 3 * sizeof(MarkedRange));
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(header.magic, MarkedCodeHeader::kMagic);
  EXPECT_EQ(header.ranges, 1u);
  EXPECT_EQ(header.modules, 2u);
  EXPECT_EQ(header.all_marks, Raw(CodeMark::kIgnored));
  MarkedRange first_module{};
  std::memcpy(&first_module, bytes.data() + sizeof header + sizeof(MarkedRange), sizeof first_module);
  EXPECT_EQ(first_module.begin, 0x100u) << "in order";
}

TEST(MarkedCode, RulesAboutRacesSayNothingOfCode) {
  MarkedCode code = MarkedBy("race:Foo\nvariable:bar\nspecial:x");
  code.Add("/opt/Foo", 0x2000, 0x3000, 0x1000);
  EXPECT_TRUE(code.ranges().empty());
}

}  // namespace
}  // namespace redflag
