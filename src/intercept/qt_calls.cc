// What Qt 5 calls in another thread than the one that asked for it: runnables of pools of threads, functions and slots that are invoked through the event
// loop of another thread. The names are those of its binary interface.
//
// Not known: what an event carries that the program posts itself, and slots that were connected by SIGNAL and SLOT, as text.
#include <cstdint>

#include "base/mem.h"
#include "intercept/first_call.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

// ---- Tables of what was given away ----

// Something of Qt's, by address, with what the program has to do with it.
struct Given {
  const void* key;    // null: free
  void* function;     // the program's own
  const void* order;  // the object whose order it follows: what was released to that comes before
  char object;        // the same, of its own
};

constexpr uint32_t kMost = 1u << 14;
constexpr uint32_t kProbes = 64;
constinit Given given[kMost] = {};
constinit AtomicMem::Lock lock;

uint64_t HomeOf(const void* key) { return (reinterpret_cast<uint64_t>(key) >> 4) * 0x9e3779b97f4a7c15u >> 50; }

// The places that a key may have are those after its home: nothing moves, so that an entry's address stays good. Null: none, or none is free.
Given* Find(const void* key, const void* wanted) {
  for (uint32_t i = 0; i < kProbes; ++i) {
    Given& place = given[(HomeOf(key) + i) % kMost];
    if (place.key == wanted) return &place;
  }
  return nullptr;
}

Given* Put(const void* key, void* function, const void* order) {
  const ScopedLock guard(lock);
  Given* place = Find(key, key);
  if (place == nullptr) place = Find(key, nullptr);
  if (place == nullptr) return nullptr;
  place->key = key;
  place->function = function;
  place->order = order == nullptr ? &place->object : order;
  return place;
}

Given Get(const void* key, bool takes) {
  const ScopedLock guard(lock);
  Given* place = Find(key, key);
  if (place == nullptr) return {};
  const Given found = *place;
  if (takes) place->key = nullptr;
  return found;
}

// ---- Runnables ----

constexpr uint32_t kRun = 0;

void Run(void* runnable) {
  const auto table = FirstCall::Restore(runnable);
  const Given entry = Get(runnable, true);
  if (hooks::Active()) hooks::Acquire(0, runnable);
  reinterpret_cast<void (*)(void*)>(table[kRun])(runnable);
  if (entry.order != nullptr && hooks::Active()) hooks::Release(0, entry.order);
}

void GiveAway(hooks::Pc pc, void* pool, void* runnable) {
  if (runnable == nullptr || !hooks::Active()) return;
  void* const run = reinterpret_cast<void*>(Run);
  if (!FirstCall::Expect(runnable, {.first = kRun, .second = kRun, .first_function = run, .second_function = run}))
    return;
  Put(runnable, nullptr, pool);
  hooks::Release(pc, runnable);
}

}  // namespace

REDFLAG_INTERCEPT(void, _ZN11QThreadPool5startEP9QRunnablei, void* pool, void* runnable, int priority) {
  GiveAway(REDFLAG_CALLER, pool, runnable);
  real::_ZN11QThreadPool5startEP9QRunnablei(pool, runnable, priority);
}
REDFLAG_INTERCEPT(bool, _ZN11QThreadPool8tryStartEP9QRunnable, void* pool, void* runnable) {
  GiveAway(REDFLAG_CALLER, pool, runnable);
  const bool started = real::_ZN11QThreadPool8tryStartEP9QRunnable(pool, runnable);
  if (!started && runnable != nullptr) FirstCall::Restore(runnable);
  return started;
}
REDFLAG_REAL(void*, _ZN9QRunnable6createESt8functionIFvvEE, void* function)
// A std::function is passed by its address.
REDFLAG_INTERCEPT(void, _ZN11QThreadPool5startESt8functionIFvvEEi, void* pool, void* function, int priority) {
  if (!hooks::Active()) return real::_ZN11QThreadPool5startESt8functionIFvvEEi(pool, function, priority);
  void* runnable = real::_ZN9QRunnable6createESt8functionIFvvEE(function);
  GiveAway(REDFLAG_CALLER, pool, runnable);
  real::_ZN11QThreadPool5startEP9QRunnablei(pool, runnable, priority);
}
REDFLAG_INTERCEPT(bool, _ZN11QThreadPool11waitForDoneEi, void* pool, int milliseconds) {
  const bool done = real::_ZN11QThreadPool11waitForDoneEi(pool, milliseconds);
  if (done && hooks::Active()) hooks::Acquire(REDFLAG_CALLER, pool);
  return done;
}

// ---- Functions and slots ----

namespace {

// A slot object is a count and a function, which destroys it, calls it or compares it.
enum Operation : int { kDestroy, kCall, kCompare };
using SlotFunction = void (*)(int operation, void* slot, void* receiver, void** arguments, bool* result);
struct SlotObject {
  uint64_t count;
  SlotFunction function;
};

void Operate(int operation, void* slot, void* receiver, void** arguments, bool* result) {
  const Given entry = Get(slot, operation == kDestroy);
  const auto function = reinterpret_cast<SlotFunction>(entry.function);
  if (operation == kCompare || !hooks::Active()) return function(operation, slot, receiver, arguments, result);
  hooks::Acquire(0, entry.order);
  function(operation, slot, receiver, arguments, result);
  if (operation == kCall) hooks::Release(0, entry.order);
}

// `order`: the object whose signals it is called by; null: it is called once. Null if nothing is known of it.
Given* Wrap(void* slot, const void* order) {
  if (slot == nullptr || !hooks::Active()) return nullptr;
  auto& object = *static_cast<SlotObject*>(slot);
  if (object.function == Operate) return nullptr;
  Given* entry = Put(slot, reinterpret_cast<void*>(object.function), order);
  if (entry != nullptr) object.function = Operate;
  return entry;
}

}  // namespace

REDFLAG_INTERCEPT(bool,
                  _ZN11QMetaObject16invokeMethodImplEP7QObjectPN9QtPrivate15QSlotObjectBaseEN2Qt14ConnectionTypeEPv,
                  void* object, void* slot, int type, void* result) {
  constexpr int kBlocks = 3;  // Qt::BlockingQueuedConnection
  const Given* entry = Wrap(slot, nullptr);
  if (entry != nullptr) hooks::Release(REDFLAG_CALLER, &entry->object);
  const bool done =
      real::_ZN11QMetaObject16invokeMethodImplEP7QObjectPN9QtPrivate15QSlotObjectBaseEN2Qt14ConnectionTypeEPv(
          object, slot, type, result);
  if (entry != nullptr && type == kBlocks) hooks::Acquire(REDFLAG_CALLER, &entry->object);
  return done;
}

// QMetaObject::Connection, which is answered in memory, because it has a destructor.
struct Connection {
  ~Connection() {}  // NOLINT: that it has one is what counts
  void* data;
};

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif
REDFLAG_INTERCEPT(
    Connection,
    _ZN7QObject11connectImplEPKS_PPvS1_S3_PN9QtPrivate15QSlotObjectBaseEN2Qt14ConnectionTypeEPKiPK11QMetaObject,
    void* sender, void* signal, void* receiver, void* slot, void* slot_object, int type, void* types, void* meta) {
  Wrap(slot_object, sender);
  return real::
      _ZN7QObject11connectImplEPKS_PPvS1_S3_PN9QtPrivate15QSlotObjectBaseEN2Qt14ConnectionTypeEPKiPK11QMetaObject(
          sender, signal, receiver, slot, slot_object, type, types, meta);
}

REDFLAG_INTERCEPT(void, _ZN11QMetaObject8activateEP7QObjectPKS_iPPv, void* sender, void* meta, int signal,
                  void** arguments) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, sender);
  real::_ZN11QMetaObject8activateEP7QObjectPKS_iPPv(sender, meta, signal, arguments);
}

}  // namespace redflag
