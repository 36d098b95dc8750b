#include "report/race_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace redflag {
namespace {

std::string LockNames(const AccessSite& site) {
  std::string names;
  for (const HeldLockInfo& lock : site.locks) {
    if (!names.empty()) names += ", ";
    names += lock.name;
    if (lock.mode == LockMode::kShared) names += " (for reading)";
  }
  return names;
}

}  // namespace

bool HoldsExcluding(const AccessSite& a, const AccessSite& b) {
  return std::any_of(a.locks.begin(), a.locks.end(), [&](const HeldLockInfo& lock) {
    return std::any_of(b.locks.begin(), b.locks.end(), [&](const HeldLockInfo& other) {
      return other.name == lock.name && (other.mode == LockMode::kExclusive || lock.mode == LockMode::kExclusive);
    });
  });
}

namespace {

bool HoldsInCommon(const AccessSite& a, const AccessSite& b) {
  return std::any_of(a.locks.begin(), a.locks.end(), [&](const HeldLockInfo& lock) {
    return std::any_of(b.locks.begin(), b.locks.end(),
                       [&](const HeldLockInfo& other) { return other.name == lock.name; });
  });
}

std::string ExplainLocks(const AccessSite& access, const AccessSite& earlier) {
  if (!access.locks_known || !earlier.locks_known) return "not all locks that they held are known";
  if (access.locks.empty() && earlier.locks.empty()) return "neither thread holds a lock";
  if (access.locks.empty())
    return fmt::format("{} holds {}, {} holds no lock", earlier.thread, LockNames(earlier), access.thread);
  if (earlier.locks.empty())
    return fmt::format("{} holds {}, {} holds no lock", access.thread, LockNames(access), earlier.thread);
  if (HoldsExcluding(access, earlier)) {
    return fmt::format("{} holds {} and {} holds {}: the lock that they both hold excludes them and orders nothing",
                       earlier.thread, LockNames(earlier), access.thread, LockNames(access));
  }
  if (HoldsInCommon(access, earlier)) {
    return fmt::format("{} holds {} and {} holds {}: a lock held for reading on both sides excludes nobody",
                       earlier.thread, LockNames(earlier), access.thread, LockNames(access));
  }
  return fmt::format("they hold different locks: {} holds {}, {} holds {}", earlier.thread, LockNames(earlier),
                     access.thread, LockNames(access));
}

}  // namespace

bool IsUseAfterFree(const RaceReport& report) { return !report.earlier.empty() && report.earlier.front().ordered; }

std::string Describe(const AccessSite& site) {
  switch (site.origin) {
    case AccessOrigin::kAlloc:
      return "allocation";
    case AccessOrigin::kFree:
      return "free";
    case AccessOrigin::kTransaction:
      return IsWrite(site.kind) ? "transactional write" : "transactional read";
    case AccessOrigin::kProgram:
      break;
  }
  if (site.descriptor) return IsWrite(site.kind) ? "close" : "use";
  switch (site.kind) {
    case AccessKind::kAtomicRead:
      return "atomic read";
    case AccessKind::kAtomicWrite:
      return "atomic write";
    case AccessKind::kRead:
      return "read";
    case AccessKind::kWrite:
      return "write";
  }
  return "access";
}

const char* RankName(Judgement::Rank rank) {
  switch (rank) {
    case Judgement::Rank::kHigh:
      return "high";
    case Judgement::Rank::kMedium:
      return "medium";
    case Judgement::Rank::kLow:
      return "low";
  }
  return "unknown";
}

std::string_view LevelOf(const RaceReport& report, std::string_view lowest) {
  if (!report.judgement || report.judgement->rank == Judgement::Rank::kMedium) return "warning";
  return report.judgement->rank == Judgement::Rank::kHigh ? "error" : lowest;
}

std::string DescribeTarget(const RaceReport& report) {
  if (report.variable.empty()) {
    return fmt::format("{} byte{} at {:#x}", report.size, report.size == 1 ? "" : "s", Raw(report.addr));
  }
  return report.offset == 0 ? report.variable : fmt::format("{}+{}", report.variable, report.offset);
}

std::string ExplainRace(const RaceReport& report) {
  if (report.earlier.empty()) return "";
  const AccessSite& earlier = report.earlier.front();
  const std::string first = fmt::format("the {} by {}", Describe(earlier), earlier.thread);
  const std::string second = fmt::format("the {} by {}", Describe(report.access), report.access.thread);
  if (earlier.ordered)
    return fmt::format("{} came before {}: what is used there may be something else by now", first, second);
  const std::string locks = ExplainLocks(report.access, earlier);
  switch (report.claim) {
    case Claim::kUnordered:
      break;
    case Claim::kUnorderedButByLocks:
      return fmt::format(
          "nothing orders {} before {}, unless locks do, which may come the other way in another run; {}", first,
          second, locks);
    case Claim::kUnprotected:
      return fmt::format("no lock protects both {} and {}, whatever else orders them; {}", first, second, locks);
    case Claim::kSimultaneous:
      if (report.access.thread == kUnknownWriter) {
        return fmt::format(
            "{} was stopped right before its {} when the bytes changed, and no thread was seen to do it: the kernel, "
            "another process, or a thread that blocks signals",
            earlier.thread, Describe(earlier));
      }
      return fmt::format("caught in the act: {} was stopped right before its {} when {} came to the same bytes",
                         earlier.thread, Describe(earlier), second);
  }
  return fmt::format("nothing in this run orders {} before {}; {}", first, second, locks);
}

}  // namespace redflag
