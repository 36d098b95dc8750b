// Any text is a file of suppressions: rules or complaints, and what was read matches or does not, in reasonable time.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collect/suppressions.h"
#include "report/own_code.h"
#include "report/statement.h"

namespace {

redflag::RaceReport Race() {
  redflag::RaceReport report;
  report.variable = "cache";
  report.fingerprint = "0123456789abcdef";
  for (int i = 0; i < 40; ++i) {
    redflag::Frame& frame = report.access.stack.emplace_back();
    frame.function = i % 2 == 0 ? "ns::Put(int) const" : "main";
    frame.file = "/src/put.cc";
    frame.module = "/lib/x.so";
  }
  report.earlier = {report.access};
  return report;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace redflag;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const RaceReport race = Race();
  Suppressions suppressions;
  for (const std::string& complaint : suppressions.Add(text, "file")) {
    if (complaint.empty()) __builtin_trap();
  }
  suppressions.Match(race);
  suppressions.MatchModules({{"/lib/x.so", "/bin/app"}, {}});
  suppressions.MatchSpecial(race);
  for (const SuppressionRule& rule : suppressions.rules()) {
    if (rule.patterns.empty() || rule.text.empty()) __builtin_trap();
  }
  // Names and source lines come from files of others, too.
  const std::string plain = PlainName(text);
  if (plain.size() > 2 * size + 16) __builtin_trap();
  Statement::Of(text);
  return 0;
}
