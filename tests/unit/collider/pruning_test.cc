#include "collider/pruning.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "collider/sampling_set.h"

namespace redflag {
namespace {

// The intent of each access of a function, in their order.
std::vector<Intent> IntentsOf(const std::string& body) {
  char pattern[] = "/tmp/redflag-pruning-XXXXXX";
  const std::filesystem::path folder = mkdtemp(pattern);
  std::ofstream(folder / "a.s") << ".intel_syntax noprefix\n.text\n.globl f\n.type f, @function\nf:\n.cfi_startproc\n"
                                << body << "ret\n.cfi_endproc\n.size f, .-f\n";
#ifdef __x86_64__
  const std::string compiler = "gcc";
#else
  const std::string compiler = "x86_64-linux-gnu-gcc";
#endif
  const std::string path = (folder / "a.so").string();
  const std::string command = compiler + " -nostdlib -shared " + (folder / "a.s").string() + " -o " + path;
  std::vector<Intent> intents;
  if (std::system(command.c_str()) == 0) {
    const auto opened = CodeFile::Open(path);
    const CodeFile& file = std::get<CodeFile>(opened);
    for (const Site& site : FindSites(file).sites) intents.push_back(IntentOf(file, site.address));
  }
  std::filesystem::remove_all(folder);
  return intents;
}

TEST(Pruning, KnowsIncrements) {
  for (const char* body : {"inc dword ptr [rdi]\n", "add qword ptr [rdi+8], 5\n"}) {
    const auto intents = IntentsOf(body);
    ASSERT_EQ(intents.size(), 1u) << body;
    EXPECT_TRUE(intents[0].increments) << body;
  }
  for (const char* body :
       {"mov eax, [rdi]\nadd eax, 1\nmov [rdi], eax\n", "mov rax, [rdi]\nlea rdx, [rax+1]\nmov [rdi], rdx\n",
        "mov eax, [rdi]\nmov esi, 3\ninc eax\nmov [rdi], eax\n"}) {
    const auto intents = IntentsOf(body);
    ASSERT_EQ(intents.size(), 2u) << body;
    EXPECT_TRUE(intents[0].increments) << body;
    EXPECT_TRUE(intents[1].increments) << body;
  }
}

TEST(Pruning, TakesNothingElseForAnIncrement) {
  for (const char* body :
       {"dec dword ptr [rdi]\n", "add dword ptr [rdi], eax\n", "mov eax, [rdi]\nadd eax, 1\nmov [rsi], eax\n",
        "mov eax, [rdi]\nadd eax, 1\nmov [rdi], ecx\n", "mov eax, [rdi]\nsub eax, 1\nmov [rdi], eax\n",
        "mov [rdi], eax\n"}) {
    for (const Intent& intent : IntentsOf(body)) EXPECT_FALSE(intent.increments) << body;
  }
}

TEST(Pruning, KnowsWhichBitsAreReadAndWritten) {
  EXPECT_EQ(IntentsOf("test byte ptr [rdi], 4\n").at(0).read_bits, 4u);
  EXPECT_EQ(IntentsOf("mov eax, [rdi]\ntest eax, 8\n").at(0).read_bits, 8u);
  EXPECT_EQ(IntentsOf("mov eax, [rdi]\nand eax, 3\n").at(0).read_bits, 3u);
  EXPECT_FALSE(IntentsOf("mov eax, [rdi]\nmov ecx, eax\nand eax, 3\n").at(0).read_bits);
  EXPECT_EQ(IntentsOf("or dword ptr [rdi], 2\n").at(0).write_bits, 2u);
  EXPECT_EQ(IntentsOf("and byte ptr [rdi], 0xfe\n").at(0).write_bits, 1u);
  EXPECT_EQ(IntentsOf("mov eax, [rdi]\nor eax, 16\nmov [rdi], eax\n").at(1).write_bits, 16u);
}

TEST(Pruning, TellsSafeFlagUpdatesFromOthers) {
  const Intent reads_bit_2{.read_bits = 4};
  const Intent writes_bit_0{.write_bits = 1};
  const Intent writes_bit_2{.write_bits = 4};
  EXPECT_TRUE(IsSafeFlagUpdate(reads_bit_2, writes_bit_0, 0, 1));
  EXPECT_TRUE(IsSafeFlagUpdate(reads_bit_2, {}, 0, 1));   // by what was seen to change
  EXPECT_FALSE(IsSafeFlagUpdate(reads_bit_2, {}, 0, 0));  // nothing is known
  EXPECT_FALSE(IsSafeFlagUpdate(reads_bit_2, {}, 0, 5));  // more changed than another bit
  EXPECT_FALSE(IsSafeFlagUpdate(reads_bit_2, writes_bit_2, 0, 1));
  EXPECT_FALSE(IsSafeFlagUpdate({}, writes_bit_0, 0, 1));  // all of it may be looked at
}

TEST(Pruning, TakesACounterForOneOnlyWhenItGrowsTimeAfterTime) {
  CounterHistory history;
  history.Add(0x1000, 5, 7);
  history.Add(0x1000, 9, 9);
  EXPECT_FALSE(history.OnlyGrows(0x1000));
  history.Add(0x1000, 12, 13);
  EXPECT_TRUE(history.OnlyGrows(0x1000));
  EXPECT_FALSE(history.OnlyGrows(0x2000));
  history.Add(0x1000, 3, 4);  // a reference count goes down, too
  EXPECT_FALSE(history.OnlyGrows(0x1000));
  EXPECT_TRUE(history.IsEnough(0x1000));
}

}  // namespace
}  // namespace redflag
