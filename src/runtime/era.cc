// Eras. A label has 20 bits for a time and 10 for a slot: after some 10^9 releases a process has used them all. Then everything that is
// labelled is forgotten, once, and counting begins anew: cells, clocks of threads and of synchronization objects, logs of locks. Or the
// program asks for it (AnnotateFlushState).
// Races between the last accesses before and the first after that are not found; nothing is invented.
//
// Begun by whoever enters the runtime next (Runtime::Enter), in its own thread; nobody else may be inside meanwhile (gate.h). Accesses
// that are recorded without entering it look for their region first (regions.h), and find none: they come to the gate, and wait there. What can't be reached from here knows its era: threads that have not
// begun or are not joined yet, phases of barriers that are being left.
#include "runtime/emit.h"
#include "runtime/environment.h"
#include "runtime/gate.h"
#include "runtime/runtime.h"

namespace redflag::rt {

void Runtime::StopAtGate(Thread& t) {
  Runtime& runtime = Get();
  if (!Gate::Answers(t)) {
    Gate::Wait(t);
    if (t.is_stale) runtime.Retag(t);
    return;
  }
  if (Gate::Close(t)) {
    runtime.regions_.Reset();
    if (Gate::AwaitOthers(t)) runtime.BeginEra(t);
  }
  Gate::Open(t);
}

void Runtime::BeginEra(Thread& t) {
  ++era_;
  shadow_.ReleaseAllCells();
  if (kHasPlanes) regions_.ForgetPlanes();  // whoever remembers one finds it empty
  if (!kIsBoxed) {                          // elsewhere labels are no times that clocks know
    syncs_.ClearAll();
    barriers_.ClearAll();
  }
  for (LockLog& log : logs_) log.Clear();
  for (SyncLog& log : sync_logs_) log.Clear();
  detector_.BeginEra();
  // Others go on to compare cells with their old tags, and find nothing, until they tag themselves anew.
  Gate::ForEachOther(t, [&](Thread& other) {
    Restart(other);
    other.is_stale = true;
    Label(other);
  });
  Restart(t);
  Retag(t);
  NoteEra(t);
  if (flags_.verbosity > 0) {
    Complain(
        "Redflag: what was before is forgotten (a billion releases, or asked to), and races with it are not found");
  }
}

void Runtime::Restart(Thread& t) {
  t.era = era_;
  detector_.Restart(t.state);
  t.ForgetSeen();
}

}  // namespace redflag::rt
