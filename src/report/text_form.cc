#include "report/text_form.h"

#include "report/tsan.h"

namespace redflag {

std::optional<TextForm> TextFormOf(std::string_view name) {
  if (name == "short") return TextForm::kShort;
  if (name == "full") return TextForm::kFull;
  if (name == "tsan") return TextForm::kTsan;
  return std::nullopt;
}

std::string RenderAs(TextForm form, const RaceReport& report, Colour colour, SourceLines* sources) {
  switch (form) {
    case TextForm::kTsan:
      return RenderTsan(report);
    case TextForm::kFull:
      return RenderText(report, colour, Detail::kFull, sources) + "\n";
    case TextForm::kShort:
      break;
  }
  return RenderText(report, colour, Detail::kShort, sources) + "\n";
}

}  // namespace redflag
