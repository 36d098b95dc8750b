#include <cxxabi.h>
#include <pthread.h>
#include <threads.h>

#include <mutex>

#include "tests/unit/intercept/told.h"

namespace redflag {
namespace {

pthread_once_t outer = PTHREAD_ONCE_INIT;
pthread_once_t inner = PTHREAD_ONCE_INIT;
int runs = 0;

const std::string kRun = "Acquire o; EnterFunction; LeaveFunction; Release o; Acquire o";

TEST(OnceTest, TheFirstReleasesAndEverybodyAcquires) {
  pthread_once_t flag = PTHREAD_ONCE_INIT;
  runs = 0;
  const auto call = [&] { pthread_once(&flag, [] { ++runs; }); };
  EXPECT_EQ(Told({{&flag, "o"}}, call), kRun);
  EXPECT_EQ(Told({{&flag, "o"}}, call), "Acquire o");
  EXPECT_EQ(runs, 1);
}

TEST(OnceTest, ARoutineMayUseAnotherFlag) {
  EXPECT_EQ(Told({{&outer, "o"}, {&inner, "i"}},
                 [&] { pthread_once(&outer, [] { pthread_once(&inner, [] { ++runs; }), NoTailCall(); }); }),
            "Acquire o; EnterFunction; Acquire i; EnterFunction; LeaveFunction; Release i; Acquire i; LeaveFunction; "
            "Release o; Acquire o");
}

TEST(OnceTest, StdCallOnceComesThroughPthreadOnce) {
  std::once_flag flag;
  runs = 0;
  EXPECT_EQ(Told({{&flag, "o"}}, [&] { std::call_once(flag, [] { ++runs; }); }), kRun);
  EXPECT_EQ(runs, 1);
}

TEST(OnceTest, AnExceptionLeavesTheFlagUnsetAndReleases) {
  std::once_flag flag;
  const auto attempt = [&](bool fails) {
    std::call_once(flag, [&] {
      if (fails) throw 1;
    });
  };
  const std::string failed = Told({{&flag, "o"}}, [&] { EXPECT_THROW(attempt(true), int); });
  EXPECT_EQ(failed.substr(0, failed.find("; Freeing")), "Acquire o; EnterFunction; LeaveFunction; Release o");
  EXPECT_EQ(Told({{&flag, "o"}}, [&] { attempt(false); }), kRun);
}

TEST(OnceTest, C11CallOnceIsToldAlike) {
  once_flag flag = ONCE_FLAG_INIT;
  const auto call = [&] { ::call_once(&flag, [] { ++runs; }); };
  EXPECT_EQ(Told({{&flag, "o"}}, call), kRun);
  EXPECT_EQ(Told({{&flag, "o"}}, call), "Acquire o");
}

TEST(OnceTest, GuardsOfStaticVariablesReleaseAndAcquire) {
  abi::__guard guard = 0;
  EXPECT_EQ(Told({{&guard, "g"}},
                 [&] {
                   EXPECT_EQ(abi::__cxa_guard_acquire(&guard), 1);
                   abi::__cxa_guard_abort(&guard);
                   EXPECT_EQ(abi::__cxa_guard_acquire(&guard), 1);
                   abi::__cxa_guard_release(&guard);
                   EXPECT_EQ(abi::__cxa_guard_acquire(&guard), 0);
                 }),
            "Acquire g; Release g; Acquire g; Release g; Acquire g");
}

int Answer() { return ++runs; }
int Static() {
  static const int value = Answer();
  return value;
}

TEST(OnceTest, AStaticVariableOfTheProgramIsGuarded) {
  EXPECT_EQ(Told({}, [] { Static(); }), "Acquire ?; Release ?");
  EXPECT_EQ(Told({}, [] { Static(); }), "");
}

}  // namespace
}  // namespace redflag
