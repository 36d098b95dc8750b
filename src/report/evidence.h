// What was observed around a race, in sentences: the latest that one thread knows of the other, atomic operations that were too weak to
// order them, and what is usually done to the variable.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "events/event.h"
#include "events/wire.h"
#include "report/race_report.h"

namespace redflag {

// wire::Known with names.
struct KnownHandover {
  wire::Handover how{};
  std::string object;        // or the thread that was created
  std::vector<Frame> place;  // innermost first; may be empty
};

// wire::Weak with names.
struct WeakAtomics {
  std::string object;
  std::vector<Frame> store, load;  // where; may be empty
  MemoryOrder store_order{}, load_order{};
};

// wire::Owners with names.
struct OwnersByName {
  std::vector<std::string> threads{}, locks{}, write_locks{}, signals{};
  bool transactions = false;  // those that have a byte in common
  uint32_t more = 0;
};

// "the write by T1 was handed on to T3, and to whoever locks m or acquires flag; T2 is none of them". Only locksets can tell.
std::string DescribeOwners(const OwnersByName& owners, const AccessSite& completing, const AccessSite& earlier);

// "the last that T2 knows of T1 is its unlock of m at x.cc:9; the write by T1 came after that". Empty: there is nothing to say.
std::string DescribeKnown(const KnownHandover& known, const AccessSite& completing, const AccessSite& earlier);

std::string DescribeWeak(const WeakAtomics& weak, const AccessSite& completing, const AccessSite& earlier);

// "14 of 16 accesses hold m; not the read at x.cc:9 by T2". Of the accesses that race, and those that were seen since. Empty: too few.
std::string DescribeLocking(const RaceReport& report, const std::vector<AccessSite>& since);

}  // namespace redflag
