#include "intercept/thunks.h"

#include <utility>

#include "base/mem.h"

namespace redflag {
namespace {

constexpr uint32_t kThunks = 256;

using Function = void* (*)(void*, void*, void*, void*);

struct Target {
  Function function;
  char object;  // what is released to it
};

constinit Target targets[kThunks] = {};
constinit uint32_t used = 0;
constinit AtomicMem::Lock lock;

template <uint32_t index>
void* CallTarget(void* a, void* b, void* c, void* d) {
  Target& target = targets[index];
  if (hooks::Active()) hooks::Acquire(0, &target.object);
  return target.function(a, b, c, d);
}

template <uint32_t... indices>
Function ThunkAt(uint32_t index, std::integer_sequence<uint32_t, indices...>) {
  static constexpr Function kAll[] = {CallTarget<indices>...};
  return kAll[index];
}

Function ThunkAt(uint32_t index) { return ThunkAt(index, std::make_integer_sequence<uint32_t, kThunks>()); }

// The place of a function, or of the function that a thunk is for; kThunks: there is none left.
uint32_t PlaceOf(Function function) {
  const ScopedLock guard(lock);
  for (uint32_t i = 0; i < used; ++i) {
    if (targets[i].function == function || ThunkAt(i) == function) return i;
  }
  if (used == kThunks) return kThunks;
  targets[used].function = function;
  return used++;
}

}  // namespace

void* ThunkOf(hooks::Pc pc, void* function) {
  if (function == nullptr || !hooks::Active()) return function;
  const uint32_t place = PlaceOf(reinterpret_cast<Function>(function));
  if (place == kThunks) return function;
  hooks::Release(pc, &targets[place].object);
  return reinterpret_cast<void*>(ThunkAt(place));
}

}  // namespace redflag
