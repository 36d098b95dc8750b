#include "runtime/policy.h"

#include "base/mem.h"
#include "runtime/environment.h"

namespace redflag::rt {
namespace {

struct MemoryPolicy {
  uint64_t begin, end;
  Policy policy;
};

// Few, and looked at only if there are any.
constexpr uint32_t kMostPolicies = 1024;
constinit AtomicMem::Lock policies_lock;
constinit MemoryPolicy of_memory[kMostPolicies] = {};
constinit uint32_t policy_count = 0;
constinit Policy of_process = {.on_race = REDFLAG_ON_RACE_REPORT, .reserved = 0, .callback = nullptr, .data = nullptr};

bool FindMemory(uint64_t addr, uint64_t bytes, Policy& found) {
  if (__atomic_load_n(&policy_count, __ATOMIC_RELAXED) == 0) return false;
  ScopedLock guard(policies_lock);
  for (uint32_t i = policy_count; i-- > 0;) {  // the latest counts
    if (of_memory[i].begin < addr + bytes && addr < of_memory[i].end) {
      found = of_memory[i].policy;
      return true;
    }
  }
  return false;
}

}  // namespace

constinit bool Policies::are_on_ = false;
constinit bool Policies::act_at_once_ = false;

void Policies::SetProcess(const Policy& policy, Policy* old) {
  TurnOnFor(policy.on_race);
  ScopedLock guard(policies_lock);
  if (old != nullptr) *old = of_process;
  of_process = policy;
  if (policy.on_race == REDFLAG_ON_RACE_INHERIT) of_process.on_race = REDFLAG_ON_RACE_REPORT;
}

void Policies::SetMemory(uint64_t addr, uint64_t bytes, const Policy& policy) {
  ForgetMemory(addr, bytes);
  if (policy.on_race == REDFLAG_ON_RACE_INHERIT || bytes == 0) return;
  TurnOnFor(policy.on_race);
  ScopedLock guard(policies_lock);
  if (policy_count == kMostPolicies) {
    Complain("Redflag: there are 1024 policies for memory, and no room for more: the one of the thread holds there");
    return;
  }
  of_memory[policy_count] = {.begin = addr, .end = addr + bytes, .policy = policy};
  __atomic_store_n(&policy_count, policy_count + 1, __ATOMIC_RELAXED);
}

void Policies::ForgetMemory(uint64_t addr, uint64_t bytes) {
  if (__atomic_load_n(&policy_count, __ATOMIC_RELAXED) == 0) return;
  ScopedLock guard(policies_lock);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < policy_count; ++i) {
    const bool is_inside = of_memory[i].begin >= addr && of_memory[i].end <= addr + bytes;
    if (!is_inside) of_memory[kept++] = of_memory[i];
  }
  __atomic_store_n(&policy_count, kept, __ATOMIC_RELAXED);
}

Policy Policies::Find(const Policy* own, const Policy& thread, uint64_t addr, uint64_t bytes) {
  Policy found{};
  if (own != nullptr) found = *own;
  if (found.on_race == REDFLAG_ON_RACE_INHERIT && !FindMemory(addr, bytes, found)) found = thread;
  if (found.on_race == REDFLAG_ON_RACE_INHERIT || found.callback == nullptr) {
    ScopedLock guard(policies_lock);
    if (found.on_race == REDFLAG_ON_RACE_INHERIT) return of_process;
    found.callback = of_process.callback;
    found.data = of_process.data;
  }
  return found;
}

}  // namespace redflag::rt
