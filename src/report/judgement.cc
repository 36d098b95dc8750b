#include "report/judgement.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/own_code.h"
#include "report/patterns.h"

namespace redflag {
namespace {

constexpr int kHarmfulPattern = 4;  // the largest weight
constexpr int kApproximate = 2;
constexpr int kSmall = 1;
constexpr int kHighFrom = 4;

// Reasons with their weights, for and against; the weightiest comes first.
class Scale {
 public:
  void Add(int weight, std::string reason) {
    total_ += weight;
    reasons_.push_back({weight < 0 ? -weight : weight, std::move(reason)});
  }
  int total() const { return total_; }
  std::vector<std::string> TakeReasons() {
    std::vector<std::string> words;
    for (int weight = kHarmfulPattern; weight >= 0; --weight) {
      for (Weighed& each : reasons_) {
        if (each.weight == weight) words.push_back(std::move(each.reason));
      }
    }
    return words;
  }

 private:
  struct Weighed {
    int weight;
    std::string reason;
  };
  int total_ = 0;
  std::vector<Weighed> reasons_;
};

void WeighClaim(const RaceReport& report, Scale& scale) {
  if (IsUseAfterFree(report)) return scale.Add(kSmall, "the memory had been given back: this needs no bad moment");
  switch (report.claim) {
    case Claim::kUnordered:
      return scale.Add(kSmall, "the detector is precise: nothing in this run orders the accesses");
    case Claim::kSimultaneous:
      return scale.Add(kSmall, "the accesses were caught at the same time");
    case Claim::kUnorderedButByLocks:
      return scale.Add(-kSmall, "only locks may have ordered the accesses in this run");
    case Claim::kUnprotected:
      return scale.Add(-kApproximate, "the detector is approximate: something it does not know may order the accesses");
  }
}

// RaceTrack 3.6: warnings with several stacks were the likelier ones.
void WeighStacks(const RaceReport& report, Scale& scale) {
  const size_t known = static_cast<size_t>(std::count_if(report.earlier.begin(), report.earlier.end(),
                                                         [](const AccessSite& site) { return !site.stack.empty(); }));
  if (report.access.stack.empty() || known == 0) {
    scale.Add(-kSmall, "the stack of one side only is known");
  } else if (known > 1) {
    scale.Add(kSmall, fmt::format("{} accesses take part", known + 1));
  }
}

// RaceTrack 3.6: fields before objects.
void WeighObject(const RaceReport& report, Scale& scale) {
  constexpr uint64_t kLargestField = 16;
  if (report.size > kLargestField && report.block && report.block->size == report.size) {
    scale.Add(-kSmall, "the race is on an object as a whole, not on a field");
  }
}

bool IsSameLine(const RaceReport& report) {
  if (report.earlier.empty()) return false;
  const Frame* a = InnermostOwn(report.access.stack);
  const Frame* b = InnermostOwn(report.earlier.front().stack);
  return a != nullptr && b != nullptr && a->line != 0 && a->file == b->file && a->line == b->line;
}

}  // namespace

Judgement Judge(const RaceReport& report, SourceText& source) {
  Judgement judgement;
  Scale scale;
  const Pattern* pattern = FindPattern(report, source);
  const Harm harm = pattern == nullptr ? Harm::kUnclear : pattern->harm;
  if (pattern != nullptr) {
    judgement.pattern = pattern->name;
    judgement.suggestion = pattern->suggestion;
    const int weight = harm == Harm::kHarmful ? kHarmfulPattern : harm == Harm::kBenign ? -kHarmfulPattern : 0;
    scale.Add(weight, std::string(pattern->reason));
  }
  WeighClaim(report, scale);
  WeighStacks(report, scale);
  WeighObject(report, scale);
  // DataCollider 4.2.2: such a race was taken for harmless, and was not.
  const bool both_write =
      !report.earlier.empty() && IsWrite(report.access.kind) && IsWrite(report.earlier.front().kind);
  if (both_write && IsSameLine(report) && harm != Harm::kBenign) {
    scale.Add(0, "that both write on the same line, perhaps the same value, does not make it harmless");
  }
  if (harm == Harm::kBenign) {
    judgement.rank = Judgement::Rank::kLow;
  } else if (scale.total() >= kHighFrom) {
    judgement.rank = Judgement::Rank::kHigh;
  } else {
    judgement.rank = scale.total() < 0 ? Judgement::Rank::kLow : Judgement::Rank::kMedium;
  }
  judgement.reasons = scale.TakeReasons();
  return judgement;
}

void JudgeSpecial(RaceReport& report, std::string_view reason) {
  Judgement& judgement = report.judgement ? *report.judgement : report.judgement.emplace();
  const Pattern* special = PatternByName("special variable");
  judgement.rank = Judgement::Rank::kLow;
  judgement.pattern = special->name;
  judgement.suggestion = special->suggestion;
  judgement.reasons.insert(judgement.reasons.begin(), std::string(reason));
}

void JudgeByInstructions(RaceReport& report, std::string_view pattern, std::string_view reason) {
  Judgement& judgement = report.judgement ? *report.judgement : report.judgement.emplace();
  const Pattern* seen = PatternByName(judgement.pattern);
  const Pattern* found = PatternByName(pattern);
  if (found == nullptr || (seen != nullptr && seen->harm == Harm::kHarmful)) return;
  judgement.rank = Judgement::Rank::kLow;
  judgement.pattern = found->name;
  judgement.suggestion = found->suggestion;
  judgement.reasons.insert(judgement.reasons.begin(), std::string(reason));
}

}  // namespace redflag
