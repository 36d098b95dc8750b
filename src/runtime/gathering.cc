// What threads have gathered (gathered.h) is recorded.
#include "runtime/gate.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

ByteMask BytesOf(uint32_t first, uint32_t size) { return ByteMask(static_cast<uint8_t>(((1u << size) - 1) << first)); }

}  // namespace

void Runtime::RecordGathered(Thread& t, const Gathered::Entry& entry) {
  const uint64_t granule = entry.granule();
  const AccessKind kind = entry.kind();
  const PackedAccess mine(t.now | uint64_t{Raw(kind)} << PackedAccess::kKindShift |
                          uint64_t{entry.bytes} << PackedAccess::kBytesShift | Raw(t.ContextOf(contexts_, entry)));
  if (!kIsBoxed && RecordsInRegion(t, granule, mine)) {
    Detector::Count(t.state, kind);
    if (static_cast<const Detector::Cell*>(shadow_.CellAt(granule))->has_record()) {
      NoteSeen(granule, mine.bytes(), IsWrite(kind));
    }
    return;
  }
  // Something is out of the ordinary: one after the other, as they were made.
  entry.ForEach([&](uint32_t first, uint32_t size, ContextId context) {
    AccessCell<false>(t, granule, BytesOf(first, size), kind, 0, context, granule + first, size);
  });
}

// The process ends. Others may be anywhere, asleep, and never come to record what they have gathered.
void Runtime::RecordGatheredByOthers(Thread& t) {
  if (kIsBoxed || Gate::IsAlone(t)) return;
  if (Gate::Close(t)) {
    Gate::ForEachOther(t, [&](Thread& other) {
      other.gathered.TakeAll([&](Gathered::Entry& gathered) {
        const Gathered::Entry entry = gathered;
        gathered.key = 0;
        entry.ForEach([&](uint32_t first, uint32_t size, ContextId context) {
          ExamineCell(other, entry.granule(), BytesOf(first, size), entry.kind(), context, entry.granule() + first,
                      size);
        });
      });
    });
  }
  Gate::Open(t);
}

}  // namespace redflag::rt
