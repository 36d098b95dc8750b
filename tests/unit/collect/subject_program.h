// A small program that tests compile and run: it says at which addresses its marked places and its variables are, and tests ask
// what those addresses are. Places call mark(NAME), so that their addresses are return addresses, as in stacks.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace redflag {

inline constexpr const char* kSubjectSource = R"(#include <link.h>
#include <cstdio>

static unsigned long bias;
static int Find(dl_phdr_info* info, size_t, void*) { return bias = info->dlpi_addr, 1; }
extern "C" __attribute__((noinline)) void mark(const char* name) {
  std::printf("%s %#lx\n", name, reinterpret_cast<unsigned long>(__builtin_return_address(0)) - bias);
}
static void Tell(const char* name, const void* at) {
  std::printf("%s %#lx\n", name, reinterpret_cast<unsigned long>(at) - bias);
}
#define STAY asm volatile("" ::: "memory")
#define INLINE inline __attribute__((always_inline))

int counter[4] = {1, 2, 3, 4};
static long hidden_counter = 7;
namespace app { int uninitialized; }

namespace outer {
namespace inner {
struct Box {
  template <class T>
  __attribute__((noinline)) void Put(T) {
    mark("template"); STAY;
  }
  __attribute__((noinline)) Box(int) {
    mark("constructor"); STAY;
  }
};
}  // namespace inner
}  // namespace outer

static INLINE void Innermost() {
  mark("inlined"); STAY;
}
static INLINE void Middle() {
  Innermost(); STAY;  // call of Innermost
}
__attribute__((noinline)) void Outer() {
  Middle(); STAY;  // call of Middle
}
static __attribute__((noinline)) void Hidden(int) {
  mark("static"); STAY;
}
extern "C" __attribute__((noinline)) void plain_c() {
  mark("extern-c"); STAY;
}
static __attribute__((noinline)) void Locals() {
  static int calls = 5;
  static int more[3] = {1, 2, 3};
  Tell("var:calls", &calls); Tell("var:more+8", &more[2]); ++calls; ++more[2];
  auto lambda = [](int) __attribute__((noinline)) {
    mark("lambda"); STAY;
  };
  lambda(1);
}

int main(int argc, char**) {
  dl_iterate_phdr(Find, nullptr);
  Tell("bias", nullptr);
  hidden_counter += argc; app::uninitialized += argc;
  Tell("var:counter+8", &counter[2]); Tell("var:hidden_counter", &hidden_counter);
  Tell("var:app::uninitialized", &app::uninitialized);
  outer::inner::Box box(1); box.Put(2.5); box.Put(box);
  Outer(); Hidden(1); plain_c(); Locals();
}
)";

class SubjectProgram {
 public:
  // `command`: a compiler and its options. `after`: a command that is then applied to the program, such as strip.
  explicit SubjectProgram(const std::string& command, const std::string& after = "") {
    char folder[] = "/tmp/redflag-subject-XXXXXX";
    folder_ = mkdtemp(folder);
    std::ofstream(source()) << kSubjectSource;
    Shell(command + " -o " + path() + " " + source());
    if (!after.empty()) Shell(after + " " + path());
    FILE* run = popen(path().c_str(), "r");
    char name[200];
    unsigned long address = 0;
    while (std::fscanf(run, "%199s %lx", name, &address) == 2) addresses_.try_emplace(name, address);
    EXPECT_EQ(pclose(run), 0);
  }
  ~SubjectProgram() { std::filesystem::remove_all(folder_); }
  SubjectProgram(const SubjectProgram&) = delete;
  SubjectProgram& operator=(const SubjectProgram&) = delete;

  std::string path() const { return folder_ + "/subject"; }
  std::string source() const { return folder_ + "/subject.cc"; }

  // Of the file.
  uint64_t address(const std::string& name) const {
    const auto found = addresses_.find(name);
    EXPECT_NE(found, addresses_.end()) << name;
    return found == addresses_.end() ? 0 : found->second;
  }

  // The line of the source that has the text.
  static uint32_t LineOf(const std::string& text) {
    std::istringstream lines(kSubjectSource);
    std::string line;
    for (uint32_t number = 1; std::getline(lines, line); ++number) {
      if (line.find(text) != std::string::npos) return number;
    }
    ADD_FAILURE() << "no line has " << text;
    return 0;
  }

 private:
  static void Shell(const std::string& command) { EXPECT_EQ(std::system(command.c_str()), 0) << command; }

  std::string folder_;
  std::map<std::string, uint64_t> addresses_;
};

}  // namespace redflag
