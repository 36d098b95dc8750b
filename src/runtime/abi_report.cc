// What a program can learn of a race that was just found in it, and of an address: the functions that debuggers and test
// frameworks call (declared in sanitizer/tsan_interface.h; those about addresses are known from TSan's debugging interface).
//
// A report is the one of the calling thread, and only while __tsan_on_report runs.
#include <sys/auxv.h>

#include <cstdint>

#include "events/wire.h"
#include "runtime/abi.h"
#include "runtime/emit.h"
#include "runtime/environment.h"
#include "runtime/external_tags.h"
#include "runtime/report_view.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

struct ReportView {
  static constexpr uint32_t kMaxAccesses = RaceRecord::kMaxEarlier + 1;
  static constexpr uint32_t kMaxLocks = 64;

  struct Access {
    const AccessRecord* record;
    uint64_t address;
    uint64_t bytes;
  };

  Runtime& runtime;
  const char* description = "data-race";
  uint32_t stack_count = 0;
  ContextId stacks[kMaxAccesses] = {};
  uint32_t access_count = 0;
  Access accesses[kMaxAccesses] = {};
  uint32_t thread_count = 0;
  Tid threads[kMaxAccesses] = {};
  uint32_t lock_count = 0;
  HeldAt locks[kMaxLocks] = {};
  uint64_t address = 0;
  bool has_block = false;
  BlockInfo block = {};

  void AddStack(ContextId stack) {
    if (stack_count < kMaxAccesses && stack != kNoContext) stacks[stack_count++] = stack;
  }
  void AddThread(Tid tid) {
    for (uint32_t i = 0; i < thread_count; ++i) {
      if (threads[i] == tid) return;
    }
    if (thread_count < kMaxAccesses && tid != kNoThread) threads[thread_count++] = tid;
  }
  void AddLocks(const HeldAt* held, size_t count) {
    for (size_t i = 0; i < count && lock_count < kMaxLocks; ++i) locks[lock_count++] = held[i];
  }
};

[[gnu::tls_model("initial-exec")]] constinit thread_local const ReportView* current = nullptr;

const ReportView* ViewOf(const void* report) {
  return report != nullptr && report == current ? static_cast<const ReportView*>(report) : nullptr;
}

// libc, which calls main and what threads start with. Looked for when it is asked for first.
bool IsOfLibc(uint64_t place) {
  static constinit uint64_t begin = 0, end = 0;
  if (__atomic_load_n(&end, __ATOMIC_ACQUIRE) == 0) {
    ForEachMappedFile(
        [](const MappedFile& file, void*) {
          const auto known = reinterpret_cast<uint64_t>(&getauxval);
          if (known < file.begin || known >= file.end) return true;
          __atomic_store_n(&begin, file.begin, __ATOMIC_RELAXED);
          __atomic_store_n(&end, file.end, __ATOMIC_RELEASE);
          return false;
        },
        nullptr);
  }
  return place >= begin && place < end;
}

// Innermost first, up to main or what the thread starts with; a null behind the last if there is room.
uint64_t FillStack(Runtime& runtime, ContextId context, void** trace, uint64_t room) {
  const ContextTree& tree = runtime.contexts();
  uint64_t count = 0;
  for (ContextId at = tree.PartsOf(context).calls; at != kNoContext && count < room; at = tree.CallerOf(at)) {
    const uint64_t place = tree.PlaceOf(at) & kPlaceMask;
    if (count != 0 && tree.CallerOf(at) == kNoContext && IsOfLibc(place)) break;
    trace[count++] = reinterpret_cast<void*>(place);
  }
  if (count < room) trace[count] = nullptr;
  return count;
}

uint64_t PlaceOf(const ReportView& view, const ReportView::Access& access) {
  const ContextTree& tree = view.runtime.contexts();
  return tree.PlaceOf(tree.PartsOf(access.record->context).calls);
}

template <class T, class V>
void Put(T* to, V value) {
  if (to != nullptr) *to = static_cast<T>(value);
}

}  // namespace

void TellProgram(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes) {
  if (__tsan_on_report == nullptr) return;
  const RaceRecord& record = t.record;
  ReportView view{.runtime = runtime};
  view.accesses[view.access_count++] = {&record.access, addr, bytes};
  view.AddThread(record.access.thread);
  view.AddLocks(t.locks.begin(), t.locks.size());
  for (uint32_t i = 0; i < record.earlier_count; ++i) {
    const AccessRecord& earlier = record.earlier[i];
    view.accesses[view.access_count++] = {
        &earlier, Raw(record.granule) + static_cast<uint64_t>(__builtin_ctz(Raw(earlier.bytes) | 0x100)),
        static_cast<uint64_t>(__builtin_popcount(Raw(earlier.bytes)))};
    view.AddThread(earlier.thread);
    LockLog::Entry entry;
    const ContextId chain = runtime.contexts().PartsOf(earlier.context).chain;
    if (chain != kNoContext && runtime.FindLocks(earlier, chain, entry)) {
      view.AddLocks(entry.locks, entry.count < LockLog::kMaxLocks ? entry.count : LockLog::kMaxLocks);
    }
  }
  for (uint32_t i = 0; i < view.access_count; ++i) view.AddStack(view.accesses[i].record->context);
  view.address = Raw(record.granule) + static_cast<uint64_t>(__builtin_ctz(Raw(record.bytes) | 0x100));
  view.has_block = runtime.FindBlock(view.address, view.block);
  current = &view;
  __tsan_on_report(&view);
  current = nullptr;
}

namespace {

// As ThreadSanitizer calls them.
const char* DescriptionOf(wire::Flaw flaw) {
  switch (flaw) {
    case wire::Flaw::kUnlockNotHeld:
      return "mutex-bad-unlock";
    case wire::Flaw::kDestroyHeld:
      return "mutex-destroy-locked";
    case wire::Flaw::kDoubleLock:
      return "mutex-double-lock";
    case wire::Flaw::kInvalidLock:
      return "mutex-invalid-access";
    case wire::Flaw::kReadLockOfWritten:
      return "mutex-bad-read-lock";
    case wire::Flaw::kReadUnlockOfWritten:
      return "mutex-bad-read-unlock";
    case wire::Flaw::kHeldInWrongContext:
      return "mutex-held-in-wrong-context";
    case wire::Flaw::kThreadLeak:
      return "thread-leak";
    case wire::Flaw::kSpoiltErrno:
      return "errno-in-signal-handler";
    case wire::Flaw::kLockOrder:
      return "lock-order-inversion";
    case wire::Flaw::kUnsafeInHandler:
      return "signal-unsafe-call";
    case wire::Flaw::kEndsIgnoring:
      return "thread-ends-ignoring";
  }
  return "";
}

}  // namespace

void TellProgram(Runtime& runtime, const Misuse& misuse) {
  if (__tsan_on_report == nullptr) return;
  ReportView view{.runtime = runtime};
  view.description = DescriptionOf(misuse.flaw);
  const auto add_lock = [&](uint64_t address, ContextId made_at) {
    const HeldAt lock{.address = address, .context = made_at, .chain = kNoContext, .mode = {}, .depth = 1};
    view.AddLocks(&lock, 1);
  };
  view.AddThread(misuse.thread);
  if (misuse.cycle == nullptr) {
    view.AddStack(misuse.where);
    view.AddStack(misuse.taken_at);
    if (misuse.lock != 0) add_lock(misuse.lock, misuse.made_at);
  } else {
    for (const Waiter& waiter : *misuse.cycle) {
      view.AddStack(waiter.wanted.taken_at);
      view.AddThread(waiter.when.thread);
      add_lock(waiter.held.address, runtime.WhereMade(waiter.held.address));
    }
  }
  current = &view;
  __tsan_on_report(&view);
  current = nullptr;
}

}  // namespace redflag::rt

using namespace redflag;      // NOLINT: this file is the outside of that namespace
using namespace redflag::rt;  // NOLINT

REDFLAG_ABI void* __tsan_get_current_report() { return const_cast<ReportView*>(current); }

REDFLAG_ABI int __tsan_get_report_data(void* report, const char** description, int* count, int* stack_count,
                                       int* mop_count, int* loc_count, int* mutex_count, int* thread_count,
                                       int* unique_tid_count, void** sleep_trace, unsigned long trace_size) {
  const ReportView* view = ViewOf(report);
  if (view == nullptr) return 0;
  Put(description, view->description);
  Put(count, 0);
  Put(stack_count, view->stack_count);
  Put(mop_count, view->access_count);
  Put(loc_count, view->access_count != 0 ? 1 : 0);
  Put(mutex_count, view->lock_count);
  Put(thread_count, view->thread_count);
  Put(unique_tid_count, view->thread_count);
  if (sleep_trace != nullptr && trace_size != 0) sleep_trace[0] = nullptr;
  return 1;
}

REDFLAG_ABI int __tsan_get_report_tag(void* report, unsigned long* tag) {
  const ReportView* view = ViewOf(report);
  if (view == nullptr || view->access_count == 0) return 0;
  const uint64_t place = PlaceOf(*view, view->accesses[0]);
  Put(tag, reinterpret_cast<uint64_t>(HandleOf(TagOfPlace(place))));
  return 1;
}

REDFLAG_ABI int __tsan_get_report_stack(void* report, unsigned long index, void** trace, unsigned long trace_size) {
  const ReportView* view = ViewOf(report);
  if (view == nullptr || index >= view->stack_count) return 0;
  FillStack(view->runtime, view->stacks[index], trace, trace_size);
  return 1;
}

REDFLAG_ABI int __tsan_get_report_mop(void* report, unsigned long index, int* tid, void** addr, int* size, int* write,
                                      int* atomic, void** trace, unsigned long trace_size) {
  const ReportView* view = ViewOf(report);
  if (view == nullptr || index >= view->access_count) return 0;
  const ReportView::Access& access = view->accesses[index];
  Put(tid, Raw(access.record->thread));
  if (addr != nullptr) *addr = reinterpret_cast<void*>(access.address);
  Put(size, access.bytes);
  Put(write, IsWrite(access.record->kind) ? 1 : 0);
  Put(atomic, IsAtomic(access.record->kind) ? 1 : 0);
  if (trace != nullptr) FillStack(view->runtime, access.record->context, trace, trace_size);
  return 1;
}

REDFLAG_ABI int __tsan_get_report_loc(void* report, unsigned long index, const char** type, void** addr, void** start,
                                      unsigned long* size, int* tid, int* fd, int* suppressable, void** trace,
                                      unsigned long trace_size) {
  const ReportView* view = ViewOf(report);
  if (view == nullptr || index != 0 || view->access_count == 0) return 0;
  Put(type, view->has_block ? "heap" : "global");
  if (addr != nullptr) *addr = reinterpret_cast<void*>(view->address);
  if (start != nullptr) *start = reinterpret_cast<void*>(view->has_block ? view->block.begin : view->address);
  Put(size, view->has_block ? view->block.bytes : 0);
  Put(tid, view->has_block ? Raw(view->block.thread) : 0);
  Put(fd, 0);
  Put(suppressable, 0);
  if (trace == nullptr) return 1;
  if (view->has_block) {
    FillStack(view->runtime, view->block.context, trace, trace_size);
  } else if (trace_size != 0) {
    trace[0] = nullptr;
  }
  return 1;
}

REDFLAG_ABI int __tsan_get_report_loc_object_type(void* report, unsigned long index, const char** object_type) {
  const ReportView* view = ViewOf(report);
  if (view == nullptr || index != 0 || view->access_count == 0) return 0;
  const uint64_t place = PlaceOf(*view, view->accesses[0]);
  const char* type = ObjectTypeOf(TagOfPlace(place));
  Put(object_type, type != nullptr ? type : "");
  return 1;
}

REDFLAG_ABI int __tsan_get_report_mutex(void* report, unsigned long index, uint64_t* mutex_id, void** addr,
                                        int* destroyed, void** trace, unsigned long trace_size) {
  const ReportView* view = ViewOf(report);
  if (view == nullptr || index >= view->lock_count) return 0;
  const HeldAt& lock = view->locks[index];
  Put(mutex_id, lock.address);
  if (addr != nullptr) *addr = reinterpret_cast<void*>(lock.address);
  Put(destroyed, 0);
  if (trace != nullptr) FillStack(view->runtime, lock.context, trace, trace_size);
  return 1;
}

REDFLAG_ABI int __tsan_get_report_thread(void* report, unsigned long index, int* tid, uint64_t* os_id, int* running,
                                         const char** name, int* parent_tid, void** trace, unsigned long trace_size) {
  const ReportView* view = ViewOf(report);
  if (view == nullptr || index >= view->thread_count) return 0;
  const Tid thread = view->threads[index];
  const ThreadInfo& info = view->runtime.InfoOf(thread);
  Put(tid, Raw(thread));
  Put(os_id, info.os_id);
  Put(running, (info.flags & wire::kFinished) == 0 ? 1 : 0);
  Put(name, info.name);
  Put(parent_tid, info.creator == kNoThread ? 0 : Raw(info.creator));
  if (trace != nullptr) FillStack(view->runtime, info.created_at, trace, trace_size);
  return 1;
}

REDFLAG_ABI int __tsan_get_report_unique_tid(void* report, unsigned long index, int* tid) {
  const ReportView* view = ViewOf(report);
  if (view == nullptr || index >= view->thread_count) return 0;
  Put(tid, Raw(view->threads[index]));
  return 1;
}

// ---- Of an address ----

// "heap" with the block, or "" for what the process itself does not know; names are the business of the helper.
REDFLAG_ABI const char* __tsan_locate_address(void* addr, char* name, unsigned long name_size, void** region,
                                              unsigned long* region_size) {
  if (name != nullptr && name_size != 0) name[0] = '\0';
  Thread* t = Runtime::Enter();
  if (t == nullptr) return "";
  BlockInfo block = {};
  const bool found = Runtime::Get().FindBlock(reinterpret_cast<uint64_t>(addr), block);
  Runtime::Leave(t);
  if (region != nullptr) *region = reinterpret_cast<void*>(found ? block.begin : 0);
  Put(region_size, found ? block.bytes : 0);
  return found ? "heap" : "";
}

// The stack of the allocation; answers how many frames. 0: no block of the heap.
REDFLAG_ABI int __tsan_get_alloc_stack(void* addr, void** trace, unsigned long trace_size, int* thread_id,
                                       uint64_t* os_id) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return 0;
  Runtime& runtime = Runtime::Get();
  BlockInfo block = {};
  int frames = 0;
  if (runtime.FindBlock(reinterpret_cast<uint64_t>(addr), block)) {
    frames = static_cast<int>(FillStack(runtime, block.context, trace, trace_size));
    Put(thread_id, Raw(block.thread));
    Put(os_id, runtime.InfoOf(block.thread).os_id);
  }
  Runtime::Leave(t);
  return frames;
}
