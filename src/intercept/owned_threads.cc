#include "intercept/owned_threads.h"

#include <sys/syscall.h>

#include <ctime>

#include "base/arch.h"
#include "base/mem.h"

namespace redflag {
namespace {

constexpr uint32_t kMost = 1024;  // at a time; those beyond are not awaited
constexpr int kPatience = 2000;   // in steps of a millisecond: it is about to end, unless somebody has stopped it

struct Running {
  const void* owner;  // null: free
};

constinit Running running[kMost] = {};
constinit AtomicMem::Lock lock;

[[gnu::tls_model("initial-exec")]] constinit thread_local const void* starting = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local const void* own = nullptr;

// Changes the first place of this owner; false if there is none.
bool Replace(const void* owner, const void* by) {
  const ScopedLock guard(lock);
  for (Running& place : running) {
    if (place.owner != owner) continue;
    place.owner = by;
    return true;
  }
  return false;
}

bool IsRunning(const void* owner) {
  const ScopedLock guard(lock);
  for (const Running& place : running) {
    if (place.owner == owner) return true;
  }
  return false;
}

}  // namespace

void OwnedThreads::Starting(const void* owner) { starting = owner; }
void OwnedThreads::Started() { starting = nullptr; }

const void* OwnedThreads::Creating() {
  const void* owner = starting;
  if (owner == nullptr) return nullptr;
  return Replace(nullptr, owner) ? owner : nullptr;
}

void OwnedThreads::NotCreated(const void* owner) {
  if (owner != nullptr) Replace(owner, nullptr);
}

void OwnedThreads::Begun(const void* owner) { own = owner; }

void OwnedThreads::Ending() {
  const void* owner = own;
  if (owner == nullptr) return;
  own = nullptr;
  if (hooks::Active()) hooks::Release(0, owner);
  Replace(owner, nullptr);
}

void OwnedThreads::Await(hooks::Pc pc, const void* owner) {
  if (owner == own || !hooks::Active()) return;
  for (int i = 0; i < kPatience && IsRunning(owner); ++i) {
    const timespec millisecond{.tv_sec = 0, .tv_nsec = i < 10 ? 50'000 : 1'000'000};
    arch::Syscall(SYS_nanosleep, reinterpret_cast<intptr_t>(&millisecond), 0);
  }
  hooks::Acquire(pc, owner);
}

}  // namespace redflag
