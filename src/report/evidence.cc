#include "report/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/own_code.h"

namespace redflag {
namespace {

std::string At(const std::vector<Frame>& stack) {
  const Frame* frame = InnermostOwn(stack);
  if (frame == nullptr) return "";
  if (!frame->file.empty()) return fmt::format(" at {}:{}", frame->file, frame->line);
  if (!frame->module.empty()) return fmt::format(" at {}+{:#x}", frame->module, frame->offset);
  return fmt::format(" at {:#x}", frame->offset);
}

std::string Deed(const KnownHandover& known) {
  switch (known.how) {
    case wire::Handover::kUnlock:
      return "its unlock of " + known.object;
    case wire::Handover::kCreate:
      return "its creation of thread " + known.object;
    case wire::Handover::kSignal:
      return "its signal through " + known.object;
    case wire::Handover::kStore:
      return "its atomic store to " + known.object;
    case wire::Handover::kFence:
      return "its memory fence";
    case wire::Handover::kBarrier:
      return "its arrival at the barrier " + known.object;
    case wire::Handover::kNothing:
    case wire::Handover::kForgotten:
      break;
  }
  return "";
}

const char* OrderName(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::kRelaxed:
      return "relaxed";
    case MemoryOrder::kAcquire:
      return "acquire";
    case MemoryOrder::kRelease:
      return "release";
    case MemoryOrder::kAcqRel:
      return "acq_rel";
    case MemoryOrder::kSeqCst:
      return "seq_cst";
  }
  return "unknown";
}

bool Holds(const AccessSite& site, const std::string& lock) {
  return std::any_of(site.locks.begin(), site.locks.end(), [&](const HeldLockInfo& held) { return held.name == lock; });
}

// Those that hold it not, each place once.
std::string Exceptions(const std::vector<const AccessSite*>& sites, const std::string& lock) {
  constexpr size_t kMost = 3;
  std::vector<std::string> places;
  for (const AccessSite* site : sites) {
    if (Holds(*site, lock)) continue;
    std::string place = fmt::format("the {}{}", Describe(*site), At(site->stack));
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
  }
  const size_t more = places.size() > kMost ? places.size() - kMost : 0;
  places.resize(places.size() - more);
  return fmt::format("{}{}", fmt::join(places, ", "),
                     more == 0 ? "" : fmt::format(" and in {} more place{}", more, more == 1 ? "" : "s"));
}

}  // namespace

std::string DescribeKnown(const KnownHandover& known, const AccessSite& completing, const AccessSite& earlier) {
  const std::string access = fmt::format("the {} by {}", Describe(earlier), earlier.thread);
  switch (known.how) {
    case wire::Handover::kForgotten:
      return "";
    case wire::Handover::kNothing:
      return fmt::format("nothing that {} did has come to {}: no lock, signal, atomic or join hands it on",
                         earlier.thread, completing.thread);
    case wire::Handover::kCreate:
      if (known.object == completing.thread) {
        return fmt::format("{} created {}{}, and made the {} after that: nothing has come from {} to {} since",
                           earlier.thread, completing.thread, At(known.place), Describe(earlier), earlier.thread,
                           completing.thread);
      }
      [[fallthrough]];
    default:
      return fmt::format("the last that {} knows of {} is {}{}; {} came after that", completing.thread, earlier.thread,
                         Deed(known), At(known.place), access);
  }
}

std::string DescribeOwners(const OwnersByName& owners, const AccessSite& completing, const AccessSite& earlier) {
  std::vector<std::string> who, deeds;
  for (const std::string& thread : owners.threads) {
    if (thread != earlier.thread) who.push_back(thread);
  }
  const auto add = [&](const char* deed, const std::vector<std::string>& objects, const char* end) {
    if (!objects.empty()) deeds.push_back(fmt::format("{} {}{}", deed, fmt::join(objects, " or "), end));
  };
  add("locks", owners.locks, "");
  add("locks", owners.write_locks, " for writing");
  add("acquires", owners.signals, "");
  if (owners.transactions) deeds.emplace_back("commits a transaction on the same bytes");
  const std::string access = fmt::format("the {} by {}", Describe(earlier), earlier.thread);
  if (who.empty() && deeds.empty()) {
    if (owners.more != 0) return "";
    return fmt::format("{} was handed on to nobody: {} has unlocked, stored, signalled or created nothing since",
                       access, earlier.thread);
  }
  std::vector<std::string> parts;
  if (!who.empty()) parts.push_back(fmt::format("to {}", fmt::join(who, ", ")));
  if (!deeds.empty()) parts.push_back(fmt::format("to whoever {}", fmt::join(deeds, " or ")));
  if (owners.more != 0) parts.push_back(fmt::format("to {} more", owners.more));
  return fmt::format("{} was handed on {}; {} is none of them", access, fmt::join(parts, ", and "), completing.thread);
}

std::string DescribeWeak(const WeakAtomics& weak, const AccessSite& completing, const AccessSite& earlier) {
  const bool stores_weakly = !Releases(weak.store_order);
  const bool loads_weakly = !Acquires(weak.load_order);
  return fmt::format("{} stores to {} with memory_order_{}{}, and {} loads it with memory_order_{}{}: {}",
                     earlier.thread, weak.object, OrderName(weak.store_order), At(weak.store), completing.thread,
                     OrderName(weak.load_order), At(weak.load),
                     stores_weakly && loads_weakly ? "relaxed operations order nothing else, release and acquire would"
                     : stores_weakly               ? "such a store hands nothing on, release would"
                                                   : "such a load takes nothing over, acquire would");
}

std::string DescribeLocking(const RaceReport& report, const std::vector<AccessSite>& since) {
  std::vector<const AccessSite*> sites = {&report.access};
  for (const AccessSite& site : report.earlier) sites.push_back(&site);
  for (const AccessSite& site : since) sites.push_back(&site);
  std::erase_if(sites, [](const AccessSite* site) {
    return !site->locks_known || site->origin == AccessOrigin::kAlloc || site->origin == AccessOrigin::kFree;
  });
  constexpr size_t kFew = 4;
  if (since.empty() || sites.size() < kFew) return "";
  std::map<std::string, size_t> holders;
  for (const AccessSite* site : sites) {
    std::vector<std::string> names;  // a lock may be held for reading and for writing
    names.reserve(site->locks.size());
    for (const HeldLockInfo& lock : site->locks) names.push_back(lock.name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string& name : names) ++holders[name];
  }
  const auto most = std::max_element(holders.begin(), holders.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == holders.end()) return fmt::format("none of {} accesses that were seen holds a lock", sites.size());
  const std::string& lock = most->first;
  if (most->second == sites.size()) return fmt::format("all {} accesses that were seen hold {}", sites.size(), lock);
  return fmt::format("{} of {} accesses that were seen hold {}; not {}", most->second, sites.size(), lock,
                     Exceptions(sites, lock));
}

}  // namespace redflag
