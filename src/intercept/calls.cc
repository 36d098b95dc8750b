#include "intercept/calls.h"

namespace redflag {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local Calls own_calls = {};
[[gnu::tls_model("initial-exec")]] constinit thread_local Calls* fiber_calls = nullptr;

void Leave(bool by_exception) {
  Calls& calls = CurrentCalls();
  if (calls.open_count == 0) return;
  if (--calls.open_count >= Calls::kMostOpen) return hooks::LeaveFunction();
  const Calls::Open& call = calls.open[calls.open_count];
  if (!call.told) return;
  hooks::LeaveFunction();
  if (by_exception && call.releases != nullptr) hooks::Release(call.pc, call.releases);
}

}  // namespace

Calls& CurrentCalls() { return fiber_calls != nullptr ? *fiber_calls : own_calls; }
void SwitchCalls(Calls* to) { fiber_calls = to; }

Call::Call(hooks::Pc pc, const void* releases) {
  Calls& calls = CurrentCalls();
  const bool kept = calls.open_count < Calls::kMostOpen;
  const bool told = !kept || hooks::Active();
  if (kept) calls.open[calls.open_count] = {.pc = pc, .releases = releases, .told = told};
  ++calls.open_count;
  if (told) hooks::EnterFunction(pc);
}

Call::~Call() { Leave(false); }

// The personality of frames with REDFLAG_LEFT_BY_EXCEPTIONS, by the C++ ABI (exception handling, 1.6.2): asked first whether there is
// a handler here, and then, innermost frame first, to clean up.
extern "C" [[gnu::visibility("hidden"), gnu::used]] int redflag_left_by_exception(int, int actions, uint64_t, void*,
                                                                                  void*) {
  constexpr int kCleanupPhase = 2;
  constexpr int kContinueUnwind = 8;
  if ((actions & kCleanupPhase) != 0) Leave(true);
  return kContinueUnwind;
}

}  // namespace redflag
