#include "collect/symbolizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/unit/collect/subject_program.h"

namespace redflag {
namespace {

class SymbolizerTest : public testing::TestWithParam<std::string> {
 protected:
  const std::vector<Frame>& At(const std::string& mark) {
    return symbolizer_.Frames(program_.path(), IdentityOf(program_.path()), program_.address(mark));
  }
  std::string VariableAt(const std::string& name) {
    const auto variable =
        symbolizer_.Variable(program_.path(), IdentityOf(program_.path()), program_.address("var:" + name));
    if (!variable) return "?";
    return variable->offset == 0 ? variable->name : variable->name + "+" + std::to_string(variable->offset);
  }
  void ExpectPlace(const Frame& frame, const std::string& function, const std::string& line) {
    // GCC says nothing of the parameters of an inlined function that only one file sees.
    EXPECT_TRUE(frame.function == function || (frame.inlined && frame.function + "()" == function)) << frame.function;
    EXPECT_EQ(frame.file, program_.source());
    EXPECT_EQ(frame.line, SubjectProgram::LineOf(line)) << function;
    EXPECT_EQ(frame.module, program_.path());
  }

  SubjectProgram program_{GetParam()};
  Symbolizer symbolizer_;
};

TEST_P(SymbolizerTest, NamesFunctionsAndLines) {
  for (const auto& [mark, function] : std::map<std::string, std::string>{
           {"static", "Hidden(int)"},
           {"extern-c", "plain_c"},
           {"constructor", "outer::inner::Box::Box(int)"},
           {"template", "void outer::inner::Box::Put<double>(double)"},
       }) {
    const std::vector<Frame>& frames = At(mark);
    ASSERT_EQ(frames.size(), 1u) << mark;
    ExpectPlace(frames[0], function, "mark(\"" + mark + "\")");
    EXPECT_GT(frames[0].column, 0u);
    EXPECT_FALSE(frames[0].inlined);
  }
  EXPECT_NE(At("lambda")[0].function.find("Locals()::"), std::string::npos) << At("lambda")[0].function;
  EXPECT_EQ(At("lambda")[0].line, SubjectProgram::LineOf("mark(\"lambda\")"));
}

#if defined(__x86_64__)
// Of all places where the function may have come from, one fits the place of the call that it makes.
TEST_P(SymbolizerTest, AFrameIsWhereItsCallsFitTogether) {
  constexpr uint64_t kStack = 0x7ffd00001000;
  const auto local = [&](uint64_t slot, uint64_t below, uint64_t address) {
    const DwarfFrames::Call call{.address = kStack, .below = below, .slot = slot};
    return symbolizer_.Local(program_.path(), IdentityOf(program_.path()), program_.address("static"), call, address);
  };
  std::vector<uint64_t> found;
  for (uint64_t slot = kStack - 64; slot < kStack + 512; slot += 8) {
    const auto at = local(slot, 1, kStack + 8);
    if (!at) continue;
    EXPECT_EQ(at->function, "Hidden(int)");
    found.push_back(slot);
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(local(found[0], 1, kStack).has_value()) << "below the frame";
  EXPECT_FALSE(local(found[0], 1, found[0] + 64).has_value()) << "above it";
}
#endif

TEST_P(SymbolizerTest, ShowsTheChainOfInlinedFunctions) {
  const std::vector<Frame>& frames = At("inlined");
  ASSERT_EQ(frames.size(), 3u);
  ExpectPlace(frames[0], "Innermost()", "mark(\"inlined\")");
  ExpectPlace(frames[1], "Middle()", "call of Innermost");
  ExpectPlace(frames[2], "Outer()", "call of Middle");
  EXPECT_TRUE(frames[0].inlined);
  EXPECT_TRUE(frames[1].inlined);
  EXPECT_FALSE(frames[2].inlined);
}

TEST_P(SymbolizerTest, NamesVariables) {
  EXPECT_EQ(VariableAt("counter+8"), "counter+8");
  EXPECT_EQ(VariableAt("hidden_counter"), "hidden_counter");
  EXPECT_EQ(VariableAt("app::uninitialized"), "app::uninitialized");
  EXPECT_EQ(VariableAt("calls"), "Locals()::calls");
  EXPECT_EQ(VariableAt("more+8"), "Locals()::more+8");
  const FileIdentity identity = IdentityOf(program_.path());
  EXPECT_FALSE(symbolizer_.Variable(program_.path(), identity, program_.address("static")))
      << "a function is no variable";
  EXPECT_TRUE(symbolizer_.Covers(program_.path(), identity, program_.address("var:counter+8")));
  EXPECT_FALSE(symbolizer_.Covers(program_.path(), identity, 0x7f0000000000));
}

const std::string kCompilers[] = {"g++-12", "clang++-14", "clang++-19"};
const std::string kOptions[] = {" -O0 -g", " -O2 -g", " -O0 -g -gdwarf-4 -no-pie -fno-pie", " -O2 -g -no-pie -fno-pie",
                                " -O2 -g -gdwarf-4 -fno-pie -no-pie"};

std::vector<std::string> Commands() {
  std::vector<std::string> commands;
  for (const std::string& compiler : kCompilers) {
    for (const std::string& options : kOptions) commands.push_back(compiler + options);
  }
  return commands;
}

INSTANTIATE_TEST_SUITE_P(Compilers, SymbolizerTest, testing::ValuesIn(Commands()), [](const auto& info) {
  return std::regex_replace(std::regex_replace(info.param, std::regex("\\+\\+"), "xx"), std::regex("[^a-zA-Z0-9]+"),
                            "_");
});

Frame Only(const SubjectProgram& program, const std::string& mark, Symbolizer& symbolizer) {
  const std::vector<Frame>& frames =
      symbolizer.Frames(program.path(), IdentityOf(program.path()), program.address(mark));
  EXPECT_EQ(frames.size(), 1u);
  return frames.at(0);
}

TEST(SymbolFileTest, WithoutDebugInformationTheSymbolTableNamesFunctions) {
  Symbolizer symbolizer;
  const SubjectProgram program("g++-12 -O2", "strip -g");
  const Frame frame = Only(program, "static", symbolizer);
  EXPECT_EQ(frame.function, "Hidden(int)");
  EXPECT_EQ(frame.file, "");
  EXPECT_EQ(frame.offset, program.address("static"));
}

TEST(SymbolFileTest, AStrippedProgramHasWhatItExports) {
  Symbolizer symbolizer;
  const SubjectProgram program("clang++-19 -O2 -rdynamic", "strip");
  EXPECT_EQ(Only(program, "extern-c", symbolizer).function, "plain_c");
  const Frame hidden = Only(program, "static", symbolizer);
  EXPECT_EQ(hidden.function, "");
  EXPECT_EQ(hidden.module, program.path());
  EXPECT_EQ(hidden.offset, program.address("static"));
  EXPECT_TRUE(symbolizer.TakeNotes().empty());
}

TEST(SymbolFileTest, FunctionsWithoutNamesAreToldApartByWhereTheyBegin) {
  Symbolizer symbolizer;
  const SubjectProgram program("g++-12 -O2 -Wl,--build-id=0xb01db01d", "strip");
  const Frame one = Only(program, "static", symbolizer), other = Only(program, "template", symbolizer);
  ASSERT_TRUE(one.unnamed.starts_with("b01db01d+")) << one.unnamed;
  EXPECT_NE(one.unnamed, other.unnamed);
  const uint64_t begin = std::stoull(one.unnamed.substr(9), nullptr, 16);
  EXPECT_LT(begin, program.address("static"));
  // Any place of the function has the same.
  EXPECT_EQ(symbolizer.Frames(program.path(), IdentityOf(program.path()), begin + 1).at(0).unnamed, one.unnamed);
  const SubjectProgram named("g++-12 -O2", "strip -g");
  EXPECT_EQ(Only(named, "static", symbolizer).unnamed, "");
}

TEST(SymbolFileTest, LineTablesAloneGiveNamesWithTheirScopes) {
  Symbolizer symbolizer;
  const SubjectProgram program("clang++-19 -O2 -gline-tables-only");
  const Frame frame = Only(program, "template", symbolizer);
  EXPECT_EQ(frame.function, "void outer::inner::Box::Put<double>(double)");
  EXPECT_EQ(frame.line, SubjectProgram::LineOf("mark(\"template\")"));
}

TEST(SymbolFileTest, DebugInformationMayBeInAFileOfItsOwn) {
  Symbolizer symbolizer;
  const SubjectProgram program("g++-12 -O2 -g");
  const std::string path = program.path();
  const std::string split = "cd $(dirname " + path +
                            ") && objcopy --only-keep-debug subject subject.debug && strip subject && " +
                            "objcopy --add-gnu-debuglink=subject.debug subject";
  ASSERT_EQ(std::system(split.c_str()), 0);
  EXPECT_EQ(Only(program, "static", symbolizer).line, SubjectProgram::LineOf("mark(\"static\")"));
}

TEST(SymbolFileTest, AFileThatIsGoneOrChangedIsShownByAddressWithANote) {
  const SubjectProgram program("g++-12 -O0 -g");
  const FileIdentity before = IdentityOf(program.path());
  std::ofstream(program.path(), std::ios::app) << "more";
  Symbolizer symbolizer;
  const std::vector<Frame>& changed = symbolizer.Frames(program.path(), before, program.address("static"));
  EXPECT_EQ(changed.at(0).function, "");
  EXPECT_EQ(changed.at(0).offset, program.address("static"));
  std::vector<std::string> notes = symbolizer.TakeNotes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("has changed since the program loaded it"), std::string::npos) << notes[0];

  std::filesystem::remove(program.path());
  Symbolizer later;
  EXPECT_EQ(later.Frames(program.path(), before, 0x1234).at(0).module, program.path());
  notes = later.TakeNotes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("cannot be read"), std::string::npos) << notes[0];
  later.Frames(program.path(), before, 0x1235);
  EXPECT_TRUE(later.TakeNotes().empty()) << "once is enough";
}

TEST(SymbolFileTest, WhatIsNoProgramIsShownByAddress) {
  Symbolizer symbolizer;
  for (const std::string path : {"/etc/passwd", "/", "/dev/null", "[vdso]", "", "/no/such/file"}) {
    EXPECT_EQ(symbolizer.Frames(path, IdentityOf(path), 0x10).at(0).offset, 0x10u) << path;
  }
}

}  // namespace
}  // namespace redflag
