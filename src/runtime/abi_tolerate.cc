// Races that tolerant sections find (docs/tolerate.md): libredflag_tolerate tells them here, and they go the way of all races.
#include "events/tolerated.h"
#include "runtime/abi.h"
#include "runtime/benign.h"
#include "runtime/emit.h"
#include "runtime/race_stop.h"
#include "runtime/report_view.h"
#include "runtime/runtime.h"

namespace redflag::rt {

// The section's access completes the race. Of the other, nothing is known but that it wrote.
void Runtime::Tolerated(Thread& t, const ToleratedRace& race) {
  if (!flags_.report_bugs || !is_watching()) return;
  const Addr addr{race.address};
  const AccessRecord mine{.thread = t.state.tid,
                          .context = t.CallsAt(contexts_, race.place),
                          .bytes = MaskOf(addr, race.bytes),
                          .kind = race.writes != 0 ? AccessKind::kWrite : AccessKind::kRead};
  t.record = {};
  t.record.Begin(Access{.granule = GranuleOf(addr), .bytes = mine.bytes, .kind = mine.kind}, mine);
  t.record.AddEarlier({.bytes = mine.bytes, .kind = AccessKind::kWrite});
  if (IsBenign(t.record) || EmitTolerated(*this, t, race) == 0) return;
  __atomic_fetch_add(&races_, 1, __ATOMIC_RELAXED);
  TellProgram(*this, t, race.address, race.bytes);
  StopAtRace(*this, t, race.address, race.bytes, flags_.on_race);
}

}  // namespace redflag::rt

using namespace redflag;      // NOLINT: this file is the outside of that namespace
using namespace redflag::rt;  // NOLINT

REDFLAG_ABI int __redflag_tolerated(const ToleratedRace* race) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return 0;
  Runtime::Get().Tolerated(*t, *race);
  Runtime::Leave(t);
  return 1;
}
