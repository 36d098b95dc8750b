#include "report/printable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "report/editor.h"
#include "report/json.h"
#include "report/text.h"
#include "report/tsan.h"
#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

TEST(PrintableTest, AHarmlessReportStaysAsItIs) {
  EXPECT_EQ(ToJson(Printable(FullReport())).dump(), ToJson(FullReport()).dump());
}

// Every string of a report in turn has a line of its own and a sequence for the terminal in it.
TEST(PrintableTest, NothingInAnyNameMakesALineOrReachesTheTerminal) {
  RaceReport hostile = FullReport();
  const std::string trap = "\nWARNING: \033[2J\x7f";
  for (std::string* text : {&hostile.detector,
                            &hostile.variable,
                            &hostile.access.thread,
                            &hostile.access.stack[0].function,
                            &hostile.access.stack[0].file,
                            &hostile.access.stack[0].module,
                            &hostile.access.locks[0].name,
                            &hostile.access.locks[0].taken_at[0].function,
                            &hostile.earlier[0].thread,
                            &hostile.earlier[0].stack[0].file,
                            &hostile.threads[0].name,
                            &hostile.threads[0].title,
                            &hostile.threads[0].creator,
                            &hostile.threads[0].created_at[0].file,
                            &hostile.why,
                            &hostile.command,
                            &hostile.notes[0],
                            &hostile.fingerprint,
                            &hostile.judgement->pattern,
                            &hostile.judgement->suggestion,
                            &hostile.judgement->reasons[0],
                            &hostile.block->thread,
                            &hostile.block->allocated_at[0].function}) {
    *text += trap;
  }
  const SourceRoot root("");
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  for (const auto& [text, harmless] :
       {std::pair(RenderText(hostile, Colour::kNo), RenderText(FullReport(), Colour::kNo)),
        std::pair(RenderTsan(hostile), RenderTsan(FullReport())),
        std::pair(RenderEditor(hostile, root), RenderEditor(FullReport(), root))}) {
    EXPECT_EQ(lines(text), lines(harmless)) << text;
    EXPECT_EQ(text.find('\033'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x7f'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace redflag
