// Any bytes are records, complaints, or both: what is read goes through every renderer, and is the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "report/editor.h"
#include "report/frames.h"
#include "report/github.h"
#include "report/json.h"
#include "report/json_reader.h"
#include "report/records.h"
#include "report/sarif.h"
#include "report/text.h"
#include "report/tsan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace redflag;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  Records records;
  records.Read(in, "fuzz");
  const std::vector<RaceReport> reports = records.TakeRanked();
  const SourceRoot root("/src");
  for (const RaceReport& report : reports) {
    const nlohmann::ordered_json json = ToJson(report);
    const auto again = FromJson(nlohmann::json::parse(json.dump()));
    if (!std::holds_alternative<RaceReport>(again)) __builtin_trap();
    if (ToJson(std::get<RaceReport>(again)) != json) __builtin_trap();
    // Files of the fuzzer's choice are not to be opened: no source lines.
    if (RenderText(report, Colour::kYes, Detail::kShort).empty()) __builtin_trap();
    if (RenderTsan(report).empty() || RenderEditor(report, root).empty()) __builtin_trap();
    const std::string annotation = RenderGithub(report, root);
    if (annotation.find('\n') != annotation.size() - 1) __builtin_trap();
  }
  const std::vector<MisuseReport> misuses = records.TakeMisuses();
  for (const MisuseReport& misuse : misuses) {
    const nlohmann::ordered_json json = MisuseToJson(misuse);
    const auto again = MisuseFromJson(nlohmann::json::parse(json.dump()));
    if (!std::holds_alternative<MisuseReport>(again)) __builtin_trap();
    if (MisuseToJson(std::get<MisuseReport>(again)) != json) __builtin_trap();
    for (const TextForm form : {TextForm::kShort, TextForm::kTsan}) {
      if (RenderMisuse(form, misuse, Colour::kYes).empty()) __builtin_trap();
    }
    if (RenderEditor(misuse, root).empty()) __builtin_trap();
    const std::string annotation = RenderGithub(misuse, root);
    if (annotation.find('\n') != annotation.size() - 1) __builtin_trap();
  }
  if (!nlohmann::json::accept(RenderSarif(reports, misuses, root, "0"))) __builtin_trap();
  return 0;
}
