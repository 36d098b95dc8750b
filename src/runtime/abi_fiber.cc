// Fibers: threads of execution that the program switches between by itself (sanitizer/tsan_interface.h). To the detector a fiber is
// a thread; which one runs is a matter of what `local` points to. The program says so immediately before it changes stacks.
//
// A switch orders what was done before it before what the fiber does next, unless the program asks for no_sync.
#include <cstdint>

#include "intercept/calls.h"
#include "runtime/abi.h"
#include "runtime/emit.h"
#include "runtime/runtime.h"

namespace redflag::rt {

// The handle. Of a thread itself, or of a fiber that was created.
struct Fiber {
  Thread* thread;
  Frame* top = nullptr;    // while it does not run
  Calls* calls = nullptr;  // null: the thread's own
};

namespace {

constexpr unsigned kSwitchWithoutSync = 1u << 0;

Fiber* HandleOf(Thread& t) {
  if (t.fiber == nullptr) {
    t.fiber = ::new (Runtime::Get().arena().Allocate(sizeof(Fiber))) Fiber{.thread = &t};
  }
  return t.fiber;
}

void Switch(Thread& from, Fiber& to, bool sync) {
  Runtime& runtime = Runtime::Get();
  const auto edge = reinterpret_cast<uint64_t>(&to);
  if (sync) runtime.Release(from, edge, 0);
  HandleOf(from)->top = local.top;
  to.thread->mode.inside = Thread::kInside;
  __atomic_store_n(&from.mode.inside, 0, __ATOMIC_RELEASE);  // for others to see: always in one of the two (gate.cc)
  runtime.Begin(to.thread);                                  // but in the middle of its calls
  if (to.top != nullptr) local.top = to.top;
  SwitchCalls(to.calls);
  if (sync) runtime.Acquire(*to.thread, edge);
  to.thread->mode.inside = 0;
}

}  // namespace
}  // namespace redflag::rt

using namespace redflag;      // NOLINT: this file is the outside of that namespace
using namespace redflag::rt;  // NOLINT

REDFLAG_ABI void* __tsan_get_current_fiber() {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return nullptr;
  Fiber* fiber = HandleOf(*t);
  Runtime::Leave(t);
  return fiber;
}

REDFLAG_ABI void* __tsan_create_fiber(unsigned) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return nullptr;
  Runtime& runtime = Runtime::Get();
  Fiber* fiber = HandleOf(*runtime.NewThread(t, REDFLAG_CALLER, true));
  fiber->thread->is_fiber = true;
  fiber->calls = ::new (runtime.arena().Allocate(sizeof(Calls))) Calls();
  Runtime::Leave(t);
  return fiber;
}

REDFLAG_ABI void __tsan_destroy_fiber(void* handle) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  auto* fiber = static_cast<Fiber*>(handle);
  if (fiber != nullptr && fiber->thread != t && fiber->calls != nullptr) {
    Runtime& runtime = Runtime::Get();
    runtime.ForgetSync(*t, reinterpret_cast<uint64_t>(fiber));
    runtime.EndOf(fiber->thread);
    runtime.Drop(fiber->thread);
    runtime.arena().Free(fiber->calls, sizeof(Calls));
    runtime.arena().Free(fiber, sizeof(Fiber));
  }
  Runtime::Leave(t);
}

REDFLAG_ABI void __tsan_switch_to_fiber(void* handle, unsigned flags) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  auto* fiber = static_cast<Fiber*>(handle);
  if (fiber == nullptr || fiber->thread == t) return Runtime::Leave(t);
  Switch(*t, *fiber, (flags & kSwitchWithoutSync) == 0);
}

REDFLAG_ABI void __tsan_set_fiber_name(void* handle, const char* name) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  if (handle != nullptr && name != nullptr) {
    char* to = Runtime::Get().InfoOf(static_cast<Fiber*>(handle)->thread->state.tid).name;
    size_t i = 0;
    for (; i < sizeof(ThreadInfo::name) - 1 && name[i] != '\0'; ++i) to[i] = name[i];
    to[i] = '\0';
    if (Recorder::is_on()) TellThread(Runtime::Get(), static_cast<Fiber*>(handle)->thread->state.tid);
  }
  Runtime::Leave(t);
}
