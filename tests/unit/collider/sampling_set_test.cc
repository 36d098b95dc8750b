#include "collider/sampling_set.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "collider/site_cache.h"

namespace redflag {
namespace {

// A library of a few functions whose every instruction is known, for this machine or for arm64.
class Library {
 public:
  Library(const std::string& compiler, const std::string& assembly) {
    char pattern[] = "/tmp/redflag-sites-XXXXXX";
    folder_ = mkdtemp(pattern);
    std::ofstream(folder_ / "a.s") << assembly;
    const std::string command =
        compiler + " -nostdlib -shared -Wl,--build-id " + (folder_ / "a.s").string() + " -o " + path() + " 2>/dev/null";
    built_ = std::system(command.c_str()) == 0;
  }
  ~Library() { std::filesystem::remove_all(folder_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::string path() const { return (folder_ / "a.so").string(); }
  std::filesystem::path folder() const { return folder_; }
  bool built() const { return built_; }
  CodeFile Open() const {
    auto opened = CodeFile::Open(path());
    if (auto* error = std::get_if<std::string>(&opened)) throw std::runtime_error(*error);
    return std::get<CodeFile>(std::move(opened));
  }

 private:
  std::filesystem::path folder_;
  bool built_ = false;
};

std::string Function(const std::string& name, const std::string& body) {
  return ".globl " + name + "\n.type " + name + ", @function\n" + name + ":\n.cfi_startproc\n" + body +
         ".cfi_endproc\n.size " + name + ", .-" + name + "\n";
}

#ifdef __x86_64__
constexpr const char* kNative = "gcc";
#else
constexpr const char* kNative = "x86_64-linux-gnu-gcc";
#endif

std::string X86Text() {
  return std::string(".intel_syntax noprefix\n.text\n") + Function("plain", "mov eax, [rdi]\nmov [rsi], eax\nret\n") +
         Function("framed", "push rbp\nmov rbp, rsp\nmov eax, [rbp-4]\nmov ecx, [rdi]\npop rbp\nret\n") +
         Function("general", "mov rbp, rsp\nmov rbp, rdi\nmov eax, [rbp]\nret\n") +
         Function("atomic", "lock inc dword ptr [rdi]\nmov eax, [rsp+8]\nmov eax, fs:[0]\nret\n") +
         "data_in_text: .long 0x078b078b\n";
}

TEST(SamplingSet, HasWhatThreadsMayShare) {
  const Library library(kNative, X86Text());
  ASSERT_TRUE(library.built());
  const SamplingSet set = FindSites(library.Open());
  EXPECT_EQ(set.counts.functions, 4u);
  EXPECT_EQ(set.sites.size(), 4u);  // two of plain, one of framed, one of general
  EXPECT_EQ(set.counts.own, 3u);
  EXPECT_EQ(set.counts.atomic, 1u);
  EXPECT_EQ(set.counts.undecoded_bytes, 0u);
  for (size_t i = 1; i < set.sites.size(); ++i) EXPECT_LT(set.sites[i - 1].address, set.sites[i].address);
}

TEST(SamplingSet, LeavesOutWhatNobodyCanWrite) {
  const std::string text = std::string(".intel_syntax noprefix\n.text\n") +
                           Function("reads",
                                    "mov eax, [rip+literal]\nmov eax, [rip+variable]\nmov rax, [rip+address]\n"
                                    "mov [rip+variable], eax\nmov eax, [rip+zeros]\nret\n") +
                           ".section .rodata\nliteral: .long 5\n.data\nvariable: .long 6\n"
                           ".section .data.rel.ro,\"aw\",@progbits\naddress: .quad variable\n.bss\nzeros: .skip 4096\n";
  const Library library(kNative, text);
  ASSERT_TRUE(library.built());
  const SamplingSet set = FindSites(library.Open());
  EXPECT_EQ(set.counts.constant, 2u);  // the literal, and the address that the loader fills in
  EXPECT_EQ(set.sites.size(), 3u);
}

TEST(SamplingSet, FindsTheInstructionBeforeAnAddress) {
  const Library library(kNative, X86Text());
  const CodeFile file = library.Open();
  const SamplingSet set = FindSites(file);
  for (const Site& site : set.sites) {
    Located located;
    ASSERT_TRUE(FindInstructionBefore(file, site.address + site.access.length, located));
    EXPECT_EQ(located.address, site.address);
    EXPECT_EQ(located.instruction.access, site.access);
  }
  Located located;
  EXPECT_FALSE(FindInstructionBefore(file, set.sites[0].address + 1, located));  // amid an instruction
}

TEST(SamplingSet, LeavesOutWhatLiesBetweenExclusives) {
  const Library library(
      "aarch64-linux-gnu-gcc",
      Function("loop", "1: ldxr x0, [x1]\nldr x3, [x4]\nstxr w2, x0, [x1]\ncbnz w2, 1b\nldr x5, [x6]\nret\n"));
  if (!library.built()) GTEST_SKIP() << "no compiler for arm64";
  const SamplingSet set = FindSites(library.Open());
  EXPECT_EQ(set.sites.size(), 1u);
  EXPECT_EQ(set.counts.in_exclusive, 1u);
  EXPECT_EQ(set.counts.atomic, 2u);
}

TEST(SamplingSet, LeavesOutWhatIsMarkedAtomic) {
  const Library library(kNative, std::string(".intel_syntax noprefix\n.text\n") +
                                     Function("marked", "1: mov eax, [rdi]\nmov eax, [rsi]\nret\n") +
                                     ".section sanmd_atomics2,\"aw\",@progbits\n.long 1b-.\n");
  ASSERT_TRUE(library.built());
  const SamplingSet set = FindSites(library.Open());
  EXPECT_EQ(set.sites.size(), 1u);
  EXPECT_EQ(set.counts.marked_atomic, 1u);
}

TEST(SamplingSet, SaysOfOtherFilesThatTheyAreNoPrograms) {
  EXPECT_TRUE(std::holds_alternative<std::string>(CodeFile::Open("/")));
  EXPECT_TRUE(std::holds_alternative<std::string>(CodeFile::Open("/proc/self/status")));
  EXPECT_TRUE(std::holds_alternative<std::string>(CodeFile::Open("/etc/hostname")));
  EXPECT_TRUE(std::holds_alternative<std::string>(CodeFile::Open("/nonexistent")));
}

// A file that is cut off or damaged anywhere gives an error or fewer sites, and never anything worse.
TEST(SamplingSet, SurvivesDamagedFiles) {
  const Library library(kNative, X86Text());
  std::ifstream stream(library.path(), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const std::string path = (library.folder() / "damaged").string();
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(~bad[i]);
    if (i % 3 == 0) bad.resize(i);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
    const auto opened = CodeFile::Open(path);
    if (const auto* file = std::get_if<CodeFile>(&opened)) FindSites(*file);
  }
}

TEST(SiteCache, KeepsByBuildIdAndTrustsNoDamagedFile) {
  const Library library(kNative, X86Text());
  const CodeFile file = library.Open();
  ASSERT_FALSE(file.build_id().empty());
  const std::filesystem::path folder = library.folder() / "cache";
  const SiteCache cache(folder);
  EXPECT_FALSE(cache.Find(file.build_id()));
  const SamplingSet found = SitesOf(file, cache);
  const auto kept = cache.Find(file.build_id());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->sites, found.sites);
  EXPECT_EQ(kept->counts.own, found.counts.own);
  std::fstream stream(folder / file.build_id(), std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(-20, std::ios::end);
  stream.put('\x55');
  stream.close();
  EXPECT_FALSE(cache.Find(file.build_id()));
}

TEST(SiteCache, KeepsNothingWhereOthersMayWrite) {
  const Library library(kNative, X86Text());
  const std::filesystem::path folder = library.folder() / "open";
  std::filesystem::create_directory(folder);
  chmod(folder.c_str(), 0777);
  const SiteCache cache(folder);
  const CodeFile file = library.Open();
  SitesOf(file, cache);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace redflag
