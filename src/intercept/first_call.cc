#include "intercept/first_call.h"

#include "base/mem.h"

namespace redflag {
namespace {

constexpr uint32_t kCopies = 512;
constexpr uint32_t kBefore = 2;  // words before the functions: how far it is to the whole object, and its type
constexpr uintptr_t kPage = 4096;

struct Copy {
  FirstCall::Table original;  // null: free
  void* words[kBefore + FirstCall::kWords];

  FirstCall::Table functions() { return words + kBefore; }
};

constinit Copy copies[kCopies] = {};
constinit uint32_t used = 0;
constinit AtomicMem::Lock lock;

FirstCall::Table& TableOf(void* object) { return *static_cast<FirstCall::Table*>(object); }

Copy* CopyOf(FirstCall::Table original, const FirstCall::Kind& kind) {
  const uint32_t known = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < known; ++i) {
    if (copies[i].original == original) return &copies[i];
  }
  const ScopedLock guard(lock);
  for (uint32_t i = known; i < used; ++i) {
    if (copies[i].original == original) return &copies[i];
  }
  if (used == kCopies) return nullptr;
  Copy& copy = copies[used];
  copy.original = original;
  // The table may be shorter than that, and the last in its page: what the object has is before the end of it.
  const auto end = (reinterpret_cast<uintptr_t>(original + kind.second) / kPage + 1) * kPage;
  for (uint32_t i = 0; i < kBefore + FirstCall::kWords; ++i) {
    void** from = original - kBefore + i;
    copy.words[i] = reinterpret_cast<uintptr_t>(from) < end ? *from : nullptr;
  }
  copy.functions()[kind.first] = kind.first_function;
  copy.functions()[kind.second] = kind.second_function;
  __atomic_store_n(&used, used + 1, __ATOMIC_RELEASE);
  return &copy;
}

Copy* FindCopy(FirstCall::Table table) {
  const auto at = reinterpret_cast<uintptr_t>(table) - reinterpret_cast<uintptr_t>(copies);
  return at < sizeof copies ? &copies[at / sizeof(Copy)] : nullptr;
}

}  // namespace

bool FirstCall::Expect(void* object, const Kind& kind) {
  if (FindCopy(TableOf(object)) != nullptr) return true;
  Copy* copy = CopyOf(TableOf(object), kind);
  if (copy != nullptr) TableOf(object) = copy->functions();
  return copy != nullptr;
}

FirstCall::Table FirstCall::Restore(void* object) {
  if (Copy* copy = FindCopy(TableOf(object)); copy != nullptr) TableOf(object) = copy->original;
  return TableOf(object);
}

}  // namespace redflag
