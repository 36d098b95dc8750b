#include "offline/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace redflag {
namespace {

std::string NameOf(const RaceReport& report) {
  return report.variable.empty() ? fmt::format("{:#x}", Raw(report.addr)) : report.variable;
}

void Explain(const std::vector<Opinion>& opinions, size_t measure, ComparedVariable& variable) {
  const bool races = !variable.lines[measure].empty();
  for (size_t i = 0; i < opinions.size(); ++i) {
    if (variable.lines[i].empty() != races) continue;
    const char* why = races ? opinions[i].detector->why_less : opinions[i].detector->why_more;
    variable.notes.push_back(fmt::format("{} {}: it {}", opinions[i].detector->name,
                                         races ? "is silent about a race" : "reports what this run ordered", why));
  }
}

}  // namespace

std::vector<ComparedVariable> CompareOpinions(const std::vector<Opinion>& opinions) {
  std::map<std::string, std::vector<std::vector<uint32_t>>> lines;
  for (size_t i = 0; i < opinions.size(); ++i) {
    for (const RaceReport& report : *opinions[i].reports) {
      auto& by_opinion = lines[NameOf(report)];
      by_opinion.resize(opinions.size());
      if (by_opinion[i].empty() || by_opinion[i].back() != report.trace_line)
        by_opinion[i].push_back(report.trace_line);
    }
  }
  const auto precise = std::find_if(opinions.begin(), opinions.end(),
                                    [](const Opinion& opinion) { return opinion.detector->is_precise(); });
  std::vector<ComparedVariable> variables;
  for (auto& [name, by_opinion] : lines) {
    ComparedVariable variable{.name = name, .lines = std::move(by_opinion), .notes = {}};
    if (precise != opinions.end()) Explain(opinions, static_cast<size_t>(precise - opinions.begin()), variable);
    variables.push_back(std::move(variable));
  }
  return variables;
}

}  // namespace redflag
