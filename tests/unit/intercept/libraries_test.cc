#include <dlfcn.h>
#include <link.h>

#include <string>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

// Of a library that the program has loaded already.
std::string PathOfLibc() {
  Dl_info info;
  EXPECT_NE(dladdr(reinterpret_cast<void*>(&getenv), &info), 0);
  return info.dli_fname;
}

TEST(LibrariesTest, ThatTheyComeIsToldToWhoWantsToKnow) {
  const std::string path = PathOfLibc();
  ASSERT_NE(path.find('/'), std::string::npos);
  const auto open = [](const std::string& name) { return [name] { dlopen(name.c_str(), RTLD_NOW), NoTailCall(); }; };
  EXPECT_EQ(Told({}, open(path)), "");
  fake::SetWatchesLibraries(true);
  EXPECT_EQ(Told({}, open(path)), "LibrariesChanged");
  EXPECT_EQ(Told({}, open("libc.so.6")), "");  // where it is searched depends on who asks: it is not interfered with
  EXPECT_EQ(Told({}, open("/no/such/library.so")), "");
  fake::SetWatchesLibraries(false);
}

TEST(LibrariesTest, TheProgramItselfCanBeOpened) {
  void* program = dlopen(nullptr, RTLD_NOW);
  EXPECT_NE(program, nullptr);
  dlclose(program);
}

}  // namespace
}  // namespace redflag
