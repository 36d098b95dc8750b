#include "collect/tsan_options.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

TEST(TsanOptionsTest, FindsTheLogAmongOtherOptions) {
  EXPECT_EQ(TsanLogPath("log_path=/tmp/log"), "/tmp/log");
  EXPECT_EQ(TsanLogPath("history_size=7:log_path=/tmp/log exitcode=0"), "/tmp/log");
  EXPECT_EQ(TsanLogPath("verbosity,log_path=a,log_path=b"), "b");
}

TEST(TsanOptionsTest, AValueMayBeInQuotes) {
  EXPECT_EQ(TsanLogPath("log_path='/my folder/a:b.log' history_size=7"), "/my folder/a:b.log");
  EXPECT_EQ(TsanLogPath("suppressions=\"x log_path=y\":log_path=z"), "z");
  EXPECT_EQ(TsanLogPath("log_path='no end"), "no end");
}

TEST(TsanOptionsTest, OtherwiseThereIsNone) {
  for (const char* options :
       {"", ":", "log_path", "log_path=", "log_path=''", "xlog_path=a", "log_path=stderr", "log_path=stdout", "'=:"}) {
    EXPECT_EQ(TsanLogPath(options), "") << options;
  }
}

}  // namespace
}  // namespace redflag
