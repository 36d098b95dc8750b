#include "collect/log_symbolizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/collect/subject_program.h"

namespace redflag {
namespace {

TEST(LogSymbolizerTest, ReplacesModuleAndOffsetWhereverTheyStand) {
  const SubjectProgram program("g++-12 -O2 -g");
  Symbolizer symbolizer;
  const auto symbolize = [&](const std::string& line, OffsetMeaning meaning = OffsetMeaning::kReturnAddress) {
    return SymbolizeLine(line, meaning, symbolizer);
  };
  const auto at = [&](const std::string& mark, uint64_t more = 0) {
    return fmt::format("{}+{:#x}", program.path(), program.address(mark) + more);
  };
  const std::string place =
      fmt::format("Hidden(int)  {}:{}", program.source(), SubjectProgram::LineOf("mark(\"static\")"));

  std::string line = symbolize("  #3 " + at("static") + " and (" + at("static") + ") end");
  EXPECT_EQ(line.rfind("  #3 " + place, 0), 0u) << line;
  EXPECT_NE(line.find("and (" + place), std::string::npos) << line;
  EXPECT_NE(line.find(") end\n"), std::string::npos) << line;

  line = symbolize(at("inlined"));
  EXPECT_EQ(line.rfind("Innermost", 0), 0u) << line;
  EXPECT_NE(line.find("\n  inlined into Middle"), std::string::npos) << line;
  EXPECT_NE(line.find("\n  inlined into Outer()"), std::string::npos) << line;

  line = symbolize(at("static", static_cast<uint64_t>(-1)), OffsetMeaning::kExact);
  EXPECT_EQ(line.rfind(place, 0), 0u) << line;
}

TEST(LogSymbolizerTest, LeavesEverythingElseAlone) {
  Symbolizer symbolizer;
  for (const std::string line :
       {"", "+0x", "+0x12", "a+0x12", "/etc/passwd+0x10", "/no/such+0x12", "x +0x1", "/bin/sh+0xzz",
        "/bin/sh+0xffffffffffffffff", "/bin/sh+0xffffffffffffffffffff", "+0x+0x+0x"}) {
    EXPECT_EQ(SymbolizeLine(line, OffsetMeaning::kReturnAddress, symbolizer), line + "\n");
  }
}

}  // namespace
}  // namespace redflag
