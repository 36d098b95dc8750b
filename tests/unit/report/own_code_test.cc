#include "report/own_code.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

Frame At(std::string function, std::string file, std::string module = "") {
  Frame frame;
  frame.function = std::move(function);
  frame.file = std::move(file);
  frame.module = std::move(module);
  return frame;
}

TEST(PlainNameTest, ParametersTemplateArgumentsAndReturnTypesGo) {
  EXPECT_EQ(PlainName("main"), "main");
  EXPECT_EQ(PlainName("ns::f(int, std::vector<int>)"), "ns::f");
  EXPECT_EQ(PlainName("void outer::inner::Box<int>::Put<double>(double) const"), "outer::inner::Box::Put");
  EXPECT_EQ(PlainName("Map<int, A<B> >::Find(void (*)(int)) const &"), "Map::Find");
  EXPECT_EQ(PlainName("Base::~Base()"), "Base::~Base");
  EXPECT_EQ(PlainName("(anonymous namespace)::f(int)"), "{anonymous}::f");
  EXPECT_EQ(PlainName(""), "");
}

TEST(PlainNameTest, ClonesAndTagsOfTheAbiGo) {
  EXPECT_EQ(PlainName("work.constprop.0"), "work");
  EXPECT_EQ(PlainName("work.part.3.isra.0"), "work");
  EXPECT_EQ(PlainName("ns::f(int) [clone .cold]"), "ns::f");
  EXPECT_EQ(PlainName("std::__cxx11::basic_string<char>::size[abi:cxx11]() const"), "std::basic_string::size");
}

TEST(PlainNameTest, LambdasHaveNoNumbers) {
  EXPECT_EQ(PlainName("main::{lambda(int)#1}::operator()(int) const"), "main::lambda");
  EXPECT_EQ(PlainName("main::{lambda()#2}::operator()() const::{lambda()#1}::operator()() const"), "main::lambda");
  EXPECT_EQ(PlainName("main::$_0::operator()() const"), "main::lambda");
  EXPECT_EQ(PlainName("main::'lambda'(int)::operator()(int) const"), "main::lambda");
  EXPECT_EQ(PlainName("main::<lambda(int)>::operator()"), "main::lambda");
  EXPECT_EQ(PlainName("main::(anonymous)::operator()"), "main::lambda");
}

TEST(PlainNameTest, OperatorsKeepTheirSigns) {
  EXPECT_EQ(PlainName("A::operator<(A const&) const"), "A::operator<");
  EXPECT_EQ(PlainName("operator<< <int>(A&, int)"), "operator<<");
  EXPECT_EQ(PlainName("A::operator->()"), "A::operator->");
  EXPECT_EQ(PlainName("A::operator bool() const"), "A::operator-conversion");
  EXPECT_EQ(PlainName("my_operator(int)"), "my_operator");
}

TEST(LastPartTest, IsWithoutScopes) {
  EXPECT_EQ(LastPart("a::B::~B"), "~B");
  EXPECT_EQ(LastPart("main"), "main");
}

TEST(OwnCodeTest, TheStandardLibraryLibcAndTheRuntimeAreNot) {
  EXPECT_TRUE(IsOwnCode(At("f(int)", "/home/me/a.cc")));
  EXPECT_TRUE(IsOwnCode(At("f", "", "/home/me/app")));
  EXPECT_FALSE(IsOwnCode(At("std::vector<int>::size() const", "/usr/include/c++/12/bits/stl_vector.h")));
  EXPECT_FALSE(IsOwnCode(At("void std::__invoke_impl<void, F>(F&&)", "")));
  EXPECT_FALSE(IsOwnCode(At("start_thread", "", "/lib/x86_64-linux-gnu/libc.so.6")));
  EXPECT_FALSE(IsOwnCode(At("operator delete(void*)", "", "/opt/redflag/libredflag_rt.so")));
  EXPECT_FALSE(IsOwnCode(At("__libc_start_call_main", "../sysdeps/start.h", "/lib/x86_64-linux-gnu/libc.so.6")));
  EXPECT_FALSE(IsOwnCode(At("memset", "/opt/lib/redflag/shims/include/string.h", "/home/me/app")));
  EXPECT_FALSE(IsOwnCode(Frame{}));
  EXPECT_FALSE(IsOwnCode(At("f", "/usr/local/include/boost/x.hpp")));
  EXPECT_FALSE(IsOwnCode(At("std::thread::join()", "thread.cc")));
  EXPECT_FALSE(IsOwnCode(At("_start", "", "/home/me/app")));
  EXPECT_TRUE(IsOwnCode(At("_started()", "", "/home/me/app")));
  EXPECT_FALSE(IsOwnCode(At("deflate", "", "/usr/lib/x86_64-linux-gnu/libz.so.1")));
  EXPECT_TRUE(IsOwnCode(At("deflate", "deflate.c", "/usr/lib/x86_64-linux-gnu/libz.so.1")));
  EXPECT_TRUE(IsOwnCode(At("", "", "/opt/app")));
}

TEST(OwnCodeTest, StatementsCallVariablesByTheirLastName) {
  EXPECT_EQ(NameInStatements(""), "");
  EXPECT_EQ(NameInStatements("counter"), "counter");
  EXPECT_EQ(NameInStatements("ns::counter"), "counter");
  EXPECT_EQ(NameInStatements("a.b.c"), "c");
  EXPECT_EQ(NameInStatements("ns::pool.slots[5].hits"), "hits");
  EXPECT_EQ(NameInStatements("table[1][2]"), "table");
  EXPECT_EQ(NameInStatements("pool.slots[5]"), "slots");
  EXPECT_EQ(NameInStatements("Cache::size_"), "size_");
  EXPECT_EQ(NameInStatements("Next(int)::count"), "count");
  EXPECT_EQ(NameInStatements("Next(Box<1.5>)::count"), "count");
  EXPECT_EQ(NameInStatements("next.count"), "count");  // a static variable of the C function next, as clang calls it
  EXPECT_EQ(NameInStatements("count.0"), "count");     // the same, as GCC does
  EXPECT_EQ(NameInStatements("count.llvm.123"), "count");
  EXPECT_EQ(NameInStatements("(anonymous namespace)::total"), "total");
}

TEST(OwnCodeTest, TheInnermostOwnFrameIsFoundBelowTheLibrary) {
  const std::vector<Frame> stack = {At("std::f()", ""), At("g()", "g.cc"), At("main", "g.cc")};
  EXPECT_EQ(InnermostOwn(stack)->function, "g()");
  const std::vector<Frame> library = {stack[0]};
  EXPECT_EQ(InnermostOwn(library), &library[0]);
  EXPECT_EQ(InnermostOwn({}), nullptr);
}

}  // namespace
}  // namespace redflag
