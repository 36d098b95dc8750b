// Refusal: an access that races and is not to happen. Where the program asks before the access (redflag_check_access) it is told, and throws.
// Where the compiler has instrumented the access, the call that announces it does not return to the access but to
// redflag_refused (base/arch.h), which has the registers that the access would have had. There it is found out which instruction the access is,
// and whether whoever throws at that instruction is caught; then the program's own function throws, as if it had been called by that
// instruction. Otherwise the access happens after all (Runtime::Happens).
//
// Touched by its own thread only.
#pragma once

#include <redflag/race_abi.h>

#include <cstdint>

#include "events/access.h"
#include "runtime/policy.h"

namespace redflag::rt {

struct Refusal {
  struct Announced {
    uint64_t addr = 0, bytes = 0, place = 0;
    AccessKind kind{};
  };

  // ---- Of the access that is being looked at ----
  bool can_refuse = false;      // somebody will see to it that it does not happen
  bool is_check = false;        // that is who asked, and can do more than throw
  bool is_settled = false;      // what was to be done about it has been done
  const Policy* own = nullptr;  // its own policy
  Announced announced;

  // ---- Of the one that was refused last ----
  uint32_t pending = 0;  // how: a redflag_on_race; 0: that was done
  bool is_news = false;  // its report is the first of its kind
  Policy by{};           // whose doing that is
  Announced refused;
  redflag_race_info* race = nullptr;  // null: there never was one; pages of its own
};

// The call that announces the access that the thread was refused is about to return, to what `return_address` holds: it returns to
// redflag_refused.
void Divert(uint64_t* return_address);

}  // namespace redflag::rt
