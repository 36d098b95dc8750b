#include "cli/instrument.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace redflag::cli {
namespace {

using Arguments = std::vector<std::string>;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

Arguments Gcc(const Arguments& arguments) { return Instrumented(CompilerFamily::kGcc, arguments, "/lib/rt", "/shims"); }
Arguments Clang(const Arguments& arguments) {
  return Instrumented(CompilerFamily::kClang, arguments, "/lib/rt", "/shims");
}

std::string RefusalOf(const Arguments& arguments) {
  try {
    Gcc(arguments);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// A file that is gone at the end of the test.
class ResponseFile {
 public:
  explicit ResponseFile(const std::string& text) {
    std::string pattern = std::filesystem::temp_directory_path() / "instrument_test.XXXXXX";
    const int fd = mkstemp(pattern.data());
    EXPECT_GE(fd, 0);
    close(fd);
    path_ = pattern;
    std::ofstream(path_) << text;
  }
  ~ResponseFile() { std::filesystem::remove(path_); }
  ResponseFile(const ResponseFile&) = delete;
  ResponseFile& operator=(const ResponseFile&) = delete;
  std::string argument() const { return "@" + path_; }

 private:
  std::string path_;
};

TEST(Instrument, QuestionsToTheCompilerStayAsTheyAre) {
  for (const Arguments& question : {Arguments{"--version"},
                                    {"-dumpmachine"},
                                    {"-print-search-dirs"},
                                    {"-v"},
                                    {"-Wl,--version"},
                                    {"-x", "c++"},
                                    {"-o", "a.cc"},
                                    {}}) {
    EXPECT_EQ(Gcc(question), question);
    EXPECT_EQ(Clang(question), question);
  }
}

TEST(Instrument, CompilingAddsTheOptionAndNothingForTheLinker) {
  EXPECT_THAT(Gcc({"-c", "a.cc"}), ElementsAre("-isystem", "/shims/include", "-c", "a.cc", "-fsanitize=thread"));
  EXPECT_THAT(Clang({"-c", "a.cc"}), ElementsAre("-c", "a.cc", "-fsanitize=thread", "-fno-sanitize-link-runtime"));
}

TEST(Instrument, CopiesThatTheCompilerMakesAreToldByAHeader) {
  const std::string folder = "/shims/include";
  EXPECT_THAT(Gcc({"a.cc"}), Contains(folder));
  EXPECT_THAT(Clang({"a.cc"}), Not(Contains(folder)));
  EXPECT_THAT(Gcc({"a.o"}), Not(Contains(folder)));
  EXPECT_THAT(Gcc({"-fno-sanitize=thread", "a.cc"}), Not(Contains(folder)));
  for (const char* option : {"-ffreestanding", "-nostdinc", "-fno-builtin", "-fno-builtin-memset"}) {
    EXPECT_THAT(Gcc({option, "a.cc"}), Not(Contains(folder))) << option;
  }
  EXPECT_THAT(Instrumented(CompilerFamily::kGcc, {"a.cc"}, "/lib/rt", "/shims", true), Not(Contains(folder)));
}

TEST(Instrument, LinkingNamesTheRuntimeBeforeEverythingElse) {
  const Arguments runtime = {
      "-Wl,/lib/entry_points.o", "-L/lib/rt",         "-Wl,--push-state,--no-as-needed", "-lredflag_rt",
      "-Wl,--pop-state",         "-Wl,-rpath,/lib/rt"};
  Arguments expected = runtime;
  expected.insert(expected.end(), {"-L/shims", "a.o", "-fsanitize=thread"});  // -ltsan is there
  EXPECT_THAT(Gcc({"a.o"}), ElementsAreArray(expected));
  expected = runtime;
  expected.emplace_back("a.o");
  EXPECT_THAT(Clang({"a.o"}), ElementsAreArray(expected));
}

TEST(Instrument, SharedLibrariesAreLinkedWithTheRuntime) {
  EXPECT_THAT(Gcc({"-shared", "a.o"}), Contains("-fsanitize=thread"));
  EXPECT_THAT(Clang({"-shared", "a.o"}), Contains("-lredflag_rt"));
}

TEST(Instrument, EntryPointsAreLinkedIntoProgramsAndNotIntoLibraries) {
  const std::string object = "-Wl,/lib/entry_points.o";
  for (const Arguments& program : {Arguments{"a.o"}, {"a.cc"}, {"-nostdlib", "a.o"}, {"-pie", "a.o"}}) {
    EXPECT_THAT(Gcc(program), Contains(object));
    EXPECT_THAT(Clang(program), Contains(object));
  }
  for (const char* option : {"-shared", "--shared", "-Wl,-shared", "-c", "-r"}) {
    EXPECT_THAT(Gcc({option, "a.o"}), Not(Contains(object))) << option;
    EXPECT_THAT(Clang({option, "a.o"}), Not(Contains(object))) << option;
  }
}

TEST(Instrument, ArchivesAndLibrariesAloneAreLinked) {
  EXPECT_TRUE(Understand({"-o", "app", "libmain.a"}).links);
  EXPECT_TRUE(Understand({"-o", "app", "-lmain"}).links);
  EXPECT_TRUE(Understand({"-o", "app", "-l", "main"}).links);
  EXPECT_FALSE(Understand({"-o", "app", "libmain.a"}).compiles);
}

TEST(Instrument, WhatStopsBeforeLinkingIsNotLinked) {
  for (const char* option : {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"}) {
    EXPECT_FALSE(Understand({option, "a.cc"}).links) << option;
    EXPECT_TRUE(Understand({option, "a.cc"}).compiles) << option;
  }
  EXPECT_TRUE(Understand({"-MD", "-MF", "a.d", "a.cc"}).links);
}

TEST(Instrument, AssemblyIsNotInstrumented) {
  for (const char* file : {"a.s", "a.S"}) EXPECT_FALSE(Understand({"-c", file}).compiles) << file;
  EXPECT_FALSE(Understand({"-c", "-x", "assembler-with-cpp", "a.txt"}).compiles);
  EXPECT_TRUE(Understand({"a.s"}).links);
}

TEST(Instrument, TheLanguageOptionHoldsUntilNone) {
  EXPECT_TRUE(Understand({"-x", "c", "-"}).compiles);
  EXPECT_TRUE(Understand({"-xc++", "a.txt"}).compiles);
  EXPECT_FALSE(Understand({"-x", "c", "-x", "none", "a.o"}).compiles);
  EXPECT_FALSE(Understand({"-xc", "-xnone", "a.o"}).compiles);
}

TEST(Instrument, HeadersArePrecompiledNotLinked) {
  for (const Arguments& arguments : {Arguments{"a.h"}, {"-x", "c++-header", "a.h", "-o", "a.pch"}, {"a.hpp"}}) {
    EXPECT_TRUE(Understand(arguments).compiles);
    EXPECT_FALSE(Understand(arguments).links);
  }
}

TEST(Instrument, ValuesOfOptionsAreNoInputs) {
  for (const char* option : {"-o", "-I", "-include", "-MF", "-Xlinker", "-Xclang", "--param", "-isystem", "-MJ"}) {
    EXPECT_FALSE(Understand({option, "a.cc"}).has_input) << option;
  }
}

TEST(Instrument, TheCompilersOwnRaceDetectorIsReplaced) {
  EXPECT_THAT(Clang({"-fsanitize=thread", "a.o"}), Not(Contains("-fsanitize=thread")));
  EXPECT_THAT(Clang({"-fsanitize=undefined,thread", "a.o"}), Contains("-fsanitize=undefined"));
  EXPECT_THAT(Gcc({"-static-libtsan", "a.o"}), Not(Contains("-static-libtsan")));
}

TEST(Instrument, TheStandardLibraryStaysShared) {
  EXPECT_THAT(Gcc({"-static-libstdc++", "a.o"}), Not(Contains("-static-libstdc++")));
  EXPECT_THAT(Clang({"-static-libstdc++", "a.o"}), Not(Contains("-static-libstdc++")));
}

TEST(Instrument, AFileMayBeLeftOut) {
  EXPECT_THAT(Gcc({"-c", "-fno-sanitize=thread", "a.cc"}), ElementsAre("-c", "a.cc"));
  EXPECT_THAT(Clang({"-c", "-fno-sanitize=thread", "a.cc"}), ElementsAre("-c", "a.cc"));
  EXPECT_THAT(Gcc({"-c", "-fno-sanitize=all", "a.cc"}), ElementsAre("-c", "-fno-sanitize=all", "a.cc"));
  EXPECT_THAT(Gcc({"-c", "-fno-sanitize=all", "-fsanitize=thread", "a.cc"}),
              ElementsAre("-isystem", "/shims/include", "-c", "-fno-sanitize=all", "a.cc", "-fsanitize=thread"));
}

TEST(Instrument, AProgramWithAFileLeftOutStillGetsTheRuntime) {
  EXPECT_THAT(Gcc({"-fno-sanitize=thread", "a.cc", "b.o"}), Contains("-lredflag_rt"));
  EXPECT_THAT(Gcc({"-fno-sanitize=thread", "a.cc", "b.o"}), Not(Contains("-fsanitize=thread")));
  EXPECT_THAT(Gcc({"-fno-sanitize=thread", "a.o", "b.o"}), Contains("-fsanitize=thread"));
}

TEST(Instrument, WithoutDefaultLibrariesTheRuntimeIsNamed) {
  for (const char* option : {"-nostdlib", "-nodefaultlibs"}) {
    EXPECT_THAT(Gcc({option, "a.cc", "-lc"}), Contains("-lredflag_rt")) << option;
    EXPECT_THAT(Gcc({option, "a.cc", "-lc"}), Contains("-fsanitize=thread")) << option;
  }
}

TEST(Instrument, OtherSanitizersAreRefusedByName) {
  for (const std::string name : {"address", "memory", "leak", "hwaddress"}) {
    EXPECT_THAT(RefusalOf({"-fsanitize=undefined," + name, "a.cc"}), HasSubstr("-fsanitize=" + name)) << name;
  }
  EXPECT_EQ(RefusalOf({"-fsanitize=undefined", "a.cc"}), "");
  EXPECT_EQ(RefusalOf({"-fsanitize=address", "-fno-sanitize=address", "a.cc"}), "");
  EXPECT_EQ(RefusalOf({"-fsanitize=address", "-fno-sanitize=all", "a.cc"}), "");
}

TEST(Instrument, StaticLinkingIsRefusedAndStaticCompilingIsNot) {
  EXPECT_THAT(RefusalOf({"-static", "a.cc"}), HasSubstr("-static"));
  EXPECT_THAT(RefusalOf({"-static-pie", "a.o"}), HasSubstr("-static"));
  EXPECT_EQ(RefusalOf({"-static", "-c", "a.cc"}), "");
  EXPECT_EQ(RefusalOf({"-static-libstdc++", "a.cc"}), "");
}

TEST(Instrument, ResponseFilesAreReadAsCompilersDo) {
  const ResponseFile inner("-c 'a b.cc'\n");
  const ResponseFile outer("-DX=\"1 2\"\t-DY=\\\"q\\\" \"\" " + inner.argument() + "\n-O2");
  EXPECT_THAT(WithResponseFiles({"-g", outer.argument(), "@/nowhere/at/all"}),
              ElementsAre("-g", "-DX=1 2", "-DY=\"q\"", "", "-c", "a b.cc", "-O2", "@/nowhere/at/all"));
}

TEST(Instrument, AResponseFileThatNamesItselfEnds) {
  const ResponseFile file("-c a.cc");
  std::ofstream(file.argument().substr(1)) << "-c a.cc " << file.argument();
  EXPECT_TRUE(Understand(WithResponseFiles({file.argument()})).compiles);
}

TEST(Instrument, AResponseFileIsPassedOnUnlessItHasToChange) {
  const ResponseFile fine("-c a.cc");
  EXPECT_THAT(Clang({fine.argument()}),
              ElementsAre(fine.argument(), "-fsanitize=thread", "-fno-sanitize-link-runtime"));
  const ResponseFile changes("-fsanitize=thread a.o");
  EXPECT_THAT(Clang({changes.argument()}), Contains("a.o"));
  EXPECT_THAT(Clang({changes.argument()}), Not(Contains("-fsanitize=thread")));
}

}  // namespace
}  // namespace redflag::cli
