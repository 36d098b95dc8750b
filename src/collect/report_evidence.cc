// What a report says of what was observed around its race (report/evidence.h): names for what the process has told by number and address.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collect/report_builder.h"
#include "report/evidence.h"

namespace redflag {
namespace {

// The name that the report has for a lock, if that is one of its locks: there may be more known of it.
std::string NameInReport(const RaceReport& report, uint64_t address, std::string otherwise) {
  const auto look = [&](const AccessSite& site) {
    for (const HeldLockInfo& lock : site.locks) {
      if (lock.addr == Addr{address}) otherwise = lock.name;
    }
  };
  look(report.access);
  for (const AccessSite& site : report.earlier) look(site);
  return otherwise;
}

}  // namespace

OwnersByName ReportBuilder::NamesOf(const RawOwners& owners, const RaceReport& report) {
  OwnersByName names;
  names.more = owners.more;
  const auto name = [&](const auto& owner) {
    return owner.kind == wire::OwnerKind::kThread ? ThreadName(static_cast<uint32_t>(owner.object))
                                                  : NameInReport(report, owner.object, LockName(owner.object));
  };
  const auto by = [&](const RawOwner& owner, const char* how) {
    return owner.giver ? fmt::format("{} ({} by {})", name(owner), how, name(*owner.giver)) : name(owner);
  };
  for (const RawOwner& owner : owners.owners) {
    switch (owner.kind) {
      case wire::OwnerKind::kThread:
        if (!owner.giver) {
          names.threads.push_back(name(owner));
        } else if (owner.giver->kind == wire::OwnerKind::kTransaction) {
          names.threads.push_back(name(owner) + " (through a transaction)");
        } else {
          names.threads.push_back(fmt::format("{} ({} {})", name(owner),
                                              owner.giver->kind == wire::OwnerKind::kThread ? "from" : "through",
                                              name(*owner.giver)));
        }
        break;
      case wire::OwnerKind::kLock:
        names.locks.push_back(by(owner, "unlocked"));
        break;
      case wire::OwnerKind::kWriteLock:
        names.write_locks.push_back(by(owner, "unlocked"));
        break;
      case wire::OwnerKind::kSignal:
        names.signals.push_back(by(owner, "released"));
        break;
      case wire::OwnerKind::kTransaction:
        names.transactions = true;
        break;
    }
  }
  return names;
}

// Of the first earlier access: the others have their own stories, and one is enough.
void ReportBuilder::AddEvidence(const RaceMessage& race, RaceReport& report) {
  if (race.accesses.size() < 2) return;
  const RawAccess& earlier = race.accesses[1];
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) report.evidence.push_back(std::move(sentence));
  };
  if (earlier.known) {
    const RawKnown& known = *earlier.known;
    const bool is_thread = known.how == wire::Handover::kCreate;
    const std::string object = is_thread ? ThreadName(static_cast<uint32_t>(known.object))
                                         : NameInReport(report, known.object, LockName(known.object));
    std::vector<Frame> place = OwnFrameOf({.frames = {known.place, known.caller}, .truncated = false});
    if (const auto created = threads_.find(static_cast<uint32_t>(known.object));
        is_thread && created != threads_.end()) {
      place = OwnFrameOf(created->second.created_at);
    }
    add(DescribeKnown({.how = known.how, .object = object, .place = std::move(place)}, report.access,
                      report.earlier[0]));
  }
  if (earlier.owners) add(DescribeOwners(NamesOf(*earlier.owners, report), report.access, report.earlier[0]));
  if (earlier.weak) {
    const RawWeak& weak = *earlier.weak;
    add(DescribeWeak({.object = LockName(weak.object),
                      .store = FrameOf(weak.store_place),
                      .load = FrameOf(weak.load_place),
                      .store_order = weak.store_order,
                      .load_order = weak.load_order},
                     report.access, report.earlier[0]));
  }
}

// Of stacks no more is looked up than is said of them.
void ReportBuilder::AddWatched(const WatchedMessage& watched, RaceReport& report) {
  std::vector<AccessSite> sites;
  for (const RawAccess& access : watched.accesses) {
    AccessSite& site = sites.emplace_back();
    site.thread = ThreadName(access.thread);
    site.kind = access.kind;
    site.origin = access.origin;
    site.locks_known = !access.locks_unknown;
    site.stack = OwnFrameOf(access.stack);
    for (const RawLock& lock : access.locks) {
      site.locks.push_back({.name = NameInReport(report, lock.address, LockName(lock.address)),
                            .mode = lock.shared ? LockMode::kShared : LockMode::kExclusive,
                            .taken_at = {},
                            .addr = Addr{lock.address}});
    }
  }
  if (std::string sentence = DescribeLocking(report, sites); !sentence.empty()) {
    report.evidence.push_back(std::move(sentence));
  }
}

}  // namespace redflag
