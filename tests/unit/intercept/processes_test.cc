// Ends of processes are seen from outside: the tests start this program again, with a word that says how to end.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

constexpr int kGiven = 3;
constexpr int kFinal = 66;

struct End {
  int status;
  std::string output;
};

End EndOf(const std::string& how) {
  char program[4096] = {};
  EXPECT_GT(readlink("/proc/self/exe", program, sizeof program - 1), 0);
  FILE* pipe = popen((std::string(program) + " --end-by=" + how).c_str(), "r");
  std::string output;
  for (int c; (c = fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  const int status = pclose(pipe);
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .output = output};
}

struct Destructor {
  ~Destructor() { fputs("destructor ", stdout); }
};

int EndBy(const std::string& how) {
  static const Destructor destructor;
  atexit([] { fputs("atexit ", stdout); });
  at_quick_exit([] {
    fputs("at_quick_exit ", stdout);
    fflush(stdout);
  });
  if (how != "unchanged") fake::ExitWith(kFinal);
  fputs("main ", stdout);
  if (how == "exit") exit(kGiven);
  if (how == "_exit") fflush(stdout), _exit(kGiven);
  if (how == "_Exit") fflush(stdout), _Exit(kGiven);
  if (how == "quick_exit") quick_exit(kGiven);
  if (how == "pthread_exit") pthread_exit(nullptr);
  if (how == "exit-in-thread") std::thread([] { exit(kGiven); }).join();
  return kGiven;
}

TEST(ProcessesTest, TheRuntimeDecidesOnTheStatusAndNothingIsLost) {
  for (const char* how : {"exit", "return", "pthread_exit", "exit-in-thread"}) {
    const End end = EndOf(how);
    EXPECT_EQ(end.status, kFinal) << how;
    EXPECT_EQ(end.output, "main atexit destructor ") << how;
  }
  for (const char* how : {"_exit", "_Exit"}) {
    const End end = EndOf(how);
    EXPECT_EQ(end.status, kFinal) << how;
    EXPECT_EQ(end.output, "main ") << how;
  }
  const End end = EndOf("quick_exit");
  EXPECT_EQ(end.status, kFinal);
  EXPECT_EQ(end.output, "main at_quick_exit ");
}

TEST(ProcessesTest, TheStatusStaysIfTheRuntimeSaysSo) {
  const End end = EndOf("unchanged");
  EXPECT_EQ(end.status, kGiven);
  EXPECT_EQ(end.output, "main atexit destructor ");
}

TEST(ProcessesTest, AForkIsToldOnBothSides) {
  EXPECT_EQ(Told({},
                 [&] {
                   const pid_t child = fork();
                   if (child == 0) {
                     fake::Stop();
                     _exit(Recorded({}) == "BeforeFork; AfterForkInChild" ? 0 : 1);
                   }
                   int status = -1;
                   waitpid(child, &status, 0);
                   EXPECT_EQ(status, 0);
                 }),
            "BeforeFork; AfterForkInParent");
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

TEST(ProcessesTest, HandlersOfTheProgramRunOutsideOfWhatIsTold) {
  static bool on = true;
  const auto lock = [] { on ? pthread_mutex_lock(&mutex) : 0, NoTailCall(); };
  const auto unlock = [] { on ? pthread_mutex_unlock(&mutex) : 0, NoTailCall(); };
  pthread_atfork(lock, unlock, unlock);
  EXPECT_EQ(Told({{&mutex, "m"}},
                 [&] {
                   const pid_t child = fork();
                   if (child == 0) _exit(0);
                   waitpid(child, nullptr, 0);
                 }),
            "Locked m exclusive 1; BeforeFork; AfterForkInParent; Unlocking m exclusive 1");
  on = false;
}

TEST(ProcessesTest, AChildOfVforkDoesNotEndItsParent) {
  int status = -1;
  EXPECT_EQ(Told({},
                 [&] {
                   const pid_t child = vfork();
                   if (child == 0) _exit(kGiven);
                   waitpid(child, &status, 0);
                 }),
            "");
  EXPECT_EQ(WEXITSTATUS(status), kGiven);
}

TEST(ProcessesTest, AVforkTellsNothing) {
  EXPECT_EQ(Told({},
                 [&] {
                   const pid_t child = vfork();
                   if (child == 0) execl("/bin/true", "true", nullptr);
                   waitpid(child, nullptr, 0);
                 }),
            "");
}

}  // namespace
}  // namespace redflag

int main(int argc, char** argv) {
  const std::string end_by = "--end-by=";
  if (argc == 2 && std::string(argv[1]).starts_with(end_by)) return redflag::EndBy(argv[1] + end_by.size());
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
