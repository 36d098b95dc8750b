// For code that a compiler generates: the table and the epilog, under C names (include/redflag/tolerate/epilog.h).
#include <redflag/tolerate/epilog.h>

#include <cstdint>
#include <redflag/tolerate/engine.hpp>

#include "tolerate/log.h"
#include "tolerate/registry.h"

using namespace redflag;            // NOLINT: this file is the outside of that namespace
using namespace redflag::tolerate;  // NOLINT

static_assert(static_cast<int>(on_conflict::report) == REDFLAG_TOLERATE_REPORT);
static_assert(static_cast<int>(on_conflict::local_wins) == REDFLAG_TOLERATE_LOCAL_WINS);
static_assert(static_cast<int>(on_conflict::other_wins) == REDFLAG_TOLERATE_OTHER_WINS);
static_assert(static_cast<int>(on_conflict::abort) == REDFLAG_TOLERATE_ABORT);

extern "C" {

redflag_tolerate_action redflag_tolerate_table(uint64_t original, uint64_t local, uint64_t global) {
  return redflag_tolerate_decide(original, local, global);
}

int redflag_tolerate_chosen(redflag_tolerate_site* site) {
  int32_t choice = __atomic_load_n(&site->choice, __ATOMIC_RELAXED);
  if (choice == 0) {
    const bool has_name = site->section != nullptr && site->section[0] != '\0';
    const mode told = Registry::Get().ModeOf(has_name ? site->section : PlaceTitle(site->file, site->line));
    choice = 1 + static_cast<int32_t>(told);
    __atomic_store_n(&site->choice, choice, __ATOMIC_RELAXED);
  }
  return choice != 1 + static_cast<int32_t>(mode::off);
}

redflag_tolerate_action redflag_tolerate_epilog(redflag_tolerate_site* site, void* global, uint64_t original,
                                                uint64_t local, uint32_t bytes) {
  // Values are passed as numbers, and copies are bytes.
  alignas(8) unsigned char copies[2 * sizeof(uint64_t)];
  const auto put = [&](auto unit) {
    put_value<decltype(unit)>(copies, 0, original);
    put_value<decltype(unit)>(copies, 1, local);
  };
  switch (bytes) {
    case 1:
      put(unit1{});
      break;
    case 2:
      put(unit2{});
      break;
    case 4:
      put(unit4{});
      break;
    default:
      put(unit8{});
      break;
  }
  cell variable(global, copies, 1, static_cast<uint8_t>(bytes), static_cast<on_conflict>(site->policy), nullptr);
  class Unlisted : public section {
   public:
    using section::section;
  } const where(site->section, site->file, site->line);
  tallies counts;
  ending end(where, counts, __atomic_load_n(&site->choice, __ATOMIC_RELAXED) == 1 + static_cast<int32_t>(mode::testing),
             false);
  engine<hardware>::epilog(&variable, nullptr, end);
  if (counts.conflicts != 0) return REDFLAG_TOLERATE_CONFLICT;
  return counts.published != 0 ? REDFLAG_TOLERATE_PUBLISH : REDFLAG_TOLERATE_LEAVE;
}

}  // extern "C"
