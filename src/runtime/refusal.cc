#include "runtime/refusal.h"

#include "base/arch.h"
#include "base/arch_code.h"
#include "base/arena.h"
#include "runtime/abi.h"
#include "runtime/emit.h"
#include "runtime/environment.h"
#include "runtime/race_stop.h"
#include "runtime/runtime.h"

namespace redflag::rt {

IfRacy Runtime::FindIfRacy(const Thread& t, uint64_t addr, uint64_t bytes) {
  if (!kRefuses) return IfRacy::kReported;
  if (!t.refusal.can_refuse) return IfRacy::kGoesOn;
  const uint32_t on_race = Policies::Find(t.refusal.own, t.policy, addr, bytes).on_race;
  const bool is_refused = Refuses(on_race) || (t.refusal.is_check && on_race == REDFLAG_ON_RACE_CALLBACK);
  return is_refused ? IfRacy::kRefused : IfRacy::kGoesOn;
}

bool Runtime::IsRefused(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind, uint64_t place) {
  if (IfRacyOf(t, addr, bytes) != IfRacy::kRefused) return false;
  const ContextId context = t.ContextOf(contexts_, place);
  if (context == kIgnoredContext) return false;
  const uint64_t end = addr + bytes;
  for (uint64_t at = addr; at < end; at = (at | (kGranule - 1)) + 1) {
    const uint64_t granule = at & ~(kGranule - 1);
    if (Any(Examine(t, granule, MaskOf(Addr{at}, end - at), kind, context, IfRacy::kAsked)))
      return Report(t, addr, bytes);
  }
  return false;
}

bool Runtime::Refuse(Thread& t, uint64_t addr, uint64_t bytes, const Policy& policy, bool is_news) {
  // The detector has to be sure, and the user to want to hear of it.
  if (!kRefuses) {
    if (is_news) TellNote(1, "this detector may be wrong, so that no race is thrown: use hb or goldilocks");
    return false;
  }
  Refusal& refusal = t.refusal;
  if (refusal.race == nullptr) refusal.race = static_cast<redflag_race_info*>(MapPages(sizeof *refusal.race));
  Describe(*this, t, addr, bytes, *refusal.race);
  const bool is_callback = policy.on_race == REDFLAG_ON_RACE_CALLBACK;
  if (is_callback && !refusal.is_check) {
    if (policy.callback != nullptr) policy.callback(refusal.race, policy.data);
    return false;
  }
  if (!refusal.can_refuse) {
    const OnRace action = flags_.throw_else;
    if (is_news) TellNote(0, "this race is not thrown: the access is part of a call or of an atomic operation");
    if (action != OnRace::kReport) StopAtRace(*this, t, addr, bytes, action);
    return false;
  }
  refusal.pending = policy.on_race;
  refusal.by = policy;
  refusal.refused = refusal.announced;
  refusal.is_news = is_news;
  return true;
}

void Runtime::Happens(Thread& t, const char* why) {
  const Refusal::Announced access = t.refusal.refused;
  t.refusal.pending = 0;
  t.refusal.is_settled = true;
  AccessRange(t, access.addr, access.bytes, access.kind, access.place);
  t.refusal.is_settled = false;
  if (why == nullptr) return;
  if (t.refusal.is_news) {
    Line line;
    line.Add("this race is not thrown: ").Add(why);
    TellNote(0, line.text());
  }
  if (flags_.throw_else != OnRace::kReport) StopAtRace(*this, t, access.addr, access.bytes, flags_.throw_else);
}

namespace {
constinit const redflag_thrower* thrower = nullptr;
}  // namespace

REDFLAG_ARCH_REFUSED(redflag_refused, redflag_decide);
extern "C" [[gnu::visibility("hidden")]] void redflag_refused();

// Which function is to be called in place of the access, as if by the instruction before frame.return_to; 0: none, and the access happens.
extern "C" [[gnu::visibility("hidden"), gnu::used]] uint64_t redflag_decide(arch::RefusedFrame& frame) {
  Thread& t = *local.thread;
  const Refusal::Announced access = t.refusal.refused;
  const bool is_exit = t.refusal.pending == REDFLAG_ON_RACE_STOP_THREAD;
  t.refusal.pending = 0;
  const redflag_thrower* by = __atomic_load_n(&thrower, __ATOMIC_ACQUIRE);
  const char* why = nullptr;
  if (by == nullptr) {
    why = "nothing in the program can: include <redflag/race_error.hpp> in one of its files";
  } else if (const uint64_t found = arch::FindAccess(access.place, frame, access.addr, access.bytes); found == 0) {
    why = "its instruction was not found behind the call of the compiler's";
  } else {
    frame.return_to = found + 1;
    ++t.mode.ignore;  // what asks may be instrumented itself
    if (!Runtime::Get().flags().throw_unproven) why = by->why_not(found + 1, is_exit ? 1 : 0);
    --t.mode.ignore;
  }
  if (why == nullptr) return reinterpret_cast<uint64_t>(is_exit ? by->exit_thread : by->throw_race);
  frame.return_to = access.place;
  if (Runtime::Enter() == nullptr) return 0;
  Runtime::Get().Happens(t, why);
  Runtime::Leave(&t);
  return 0;
}

void Divert(uint64_t* return_address) { *return_address = reinterpret_cast<uint64_t>(&redflag_refused); }

}  // namespace redflag::rt

using namespace redflag;      // NOLINT: this file is the outside of that namespace
using namespace redflag::rt;  // NOLINT

REDFLAG_ABI int redflag_check_access(const volatile void* memory, size_t bytes, int is_write,
                                     const redflag_race_policy* own, const redflag_race_info** race) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return 0;
  if (own != nullptr) Policies::TurnOnFor(own->on_race);
  Refusal& refusal = t->refusal;
  refusal.can_refuse = refusal.is_check = true;
  refusal.own = own;
  refusal.announced = {.addr = reinterpret_cast<uint64_t>(memory),
                       .bytes = bytes,
                       .place = REDFLAG_CALLER,
                       .kind = is_write != 0 ? AccessKind::kWrite : AccessKind::kRead};
  Runtime::Get().AccessRange(*t, refusal.announced.addr, bytes, refusal.announced.kind, refusal.announced.place);
  refusal.can_refuse = refusal.is_check = false;
  refusal.own = nullptr;
  const auto pending = static_cast<int>(refusal.pending);
  refusal.pending = 0;
  Runtime::Leave(t);
  if (pending != 0) *race = refusal.race;
  return pending;
}

REDFLAG_ABI void redflag_refused_access_happens(const char* why) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().Happens(*t, why);
  Runtime::Leave(t);
}

REDFLAG_ABI void redflag_set_process_policy(const redflag_race_policy* policy, redflag_race_policy* old) {
  if (Runtime::IsActive()) Policies::SetProcess(*policy, old);
}

REDFLAG_ABI void redflag_set_thread_policy(const redflag_race_policy* policy, redflag_race_policy* old) {
  if (!Runtime::IsActive()) {
    if (old != nullptr) *old = {};
    return;
  }
  if (old != nullptr) *old = local.thread->policy;
  Policies::TurnOnFor(policy->on_race);
  local.thread->policy = *policy;
}

REDFLAG_ABI void redflag_set_memory_policy(const volatile void* memory, size_t bytes,
                                           const redflag_race_policy* policy) {
  if (Runtime::IsActive()) Policies::SetMemory(reinterpret_cast<uint64_t>(memory), bytes, *policy);
}

REDFLAG_ABI void redflag_set_thrower(const redflag_thrower* by) {
  if (by->version == 1) __atomic_store_n(&thrower, by, __ATOMIC_RELEASE);
}

REDFLAG_ABI const redflag_race_info* redflag_current_race() {
  return local.thread == nullptr ? nullptr : local.thread->refusal.race;
}

REDFLAG_ABI int redflag_throws_unproven() {
  return Runtime::IsActive() && Runtime::Get().flags().throw_unproven ? 1 : 0;
}

REDFLAG_ABI void redflag_current_policy(redflag_race_policy* policy) {
  *policy = local.thread == nullptr ? redflag_race_policy{} : local.thread->refusal.by;
}
