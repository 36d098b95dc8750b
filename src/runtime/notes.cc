// What the runtime writes down of what it sees (recorder.h): the parts that are out of the way of those who record nothing.
#include "runtime/emit.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

// Ranges in a trace are not longer.
constexpr uint64_t kLongestAccess = uint64_t{1} << 28;
constexpr uint64_t kLongestRange = uint64_t{1} << 40;

}  // namespace

void Runtime::Record(Thread& t) {
  if (!Recorder::is_open() || Recorder::is_on()) return;
  Recorder::Begin();
  TellModules();
  Retag(t);
  for (const HeldAt& held : t.locks) {
    SyncTable::Locked object(syncs_, held.address);
    NoteSync(t, EventKind::kLock, *object, kNoContext, held.mode, EventFlagOf(held));
  }
}

void Runtime::NoteBenign(Thread& t, uint64_t addr, uint64_t bytes, EventFlag flag) {
  const MemoryNote note(*this, t, EventKind::kBenignRace, addr, bytes, 0, flag);
}

ContextId Runtime::PrepareNote(Thread& t, uint64_t place) {
  if (place == 0) return kNoContext;
  if (t.mode.locks_to_log) LogLocks(t);
  ContextId context = t.ContextOf(contexts_, place);
  if (context == kIgnoredContext) context = t.CallsAt(contexts_, place);  // more happens there than accesses
  return Recorder::Prepare(t, contexts_, context) ? context : kNoContext;
}

Event Runtime::EventOf(Thread& t, EventKind kind, ContextId context) {
  Event event{.kind = kind, .thread = t.state.tid};
  if (context != kNoContext) event.position = PositionId{Raw(context)};
  return event;
}

void Runtime::MemoryNote::Add(Thread& t, EventKind kind, uint64_t addr, uint64_t bytes, EventFlag flag) {
  Event event = EventOf(t, kind, context_);
  event.flag = flag;
  for (; bytes != 0; addr += event.size, bytes -= event.size) {
    event.addr = Addr{addr};
    event.size = bytes < kLongestRange ? bytes : kLongestRange;
    Recorder::Note(t, event);
  }
}

void Runtime::AtomicNote::AddEvent(EventKind kind, MemoryOrder order) const {
  const auto access = kind == EventKind::kAtomicLoad ? AccessKind::kAtomicRead : AccessKind::kAtomicWrite;
  Runtime& runtime = Get();
  if (thread_.Ignores(access) || !runtime.is_watching() ||
      thread_.ContextOf(runtime.contexts_, place_) == kIgnoredContext) {
    return AddIgnored(kind, order);
  }
  Event event = EventOf(thread_, kind, context_);
  event.order = order;
  event.addr = Addr{addr_};
  event.size = bytes_;
  Recorder::Note(thread_, event);
}

// Orders like any other, and accesses nothing.
void Runtime::AtomicNote::AddIgnored(EventKind kind, MemoryOrder order) const {
  const bool is_write = kind != EventKind::kAtomicLoad;
  const EventKind begin = is_write ? EventKind::kIgnoreWritesBegin : EventKind::kIgnoreReadsBegin;
  const EventKind end = is_write ? EventKind::kIgnoreWritesEnd : EventKind::kIgnoreReadsEnd;
  Event event = EventOf(thread_, kind, context_);
  event.order = order;
  event.addr = Addr{addr_};
  event.size = bytes_;
  Recorder::Note(thread_, Event::OnThread(begin, thread_.state.tid));
  Recorder::Note(thread_, event);
  Recorder::Note(thread_, Event::OnThread(end, thread_.state.tid));
}

void Runtime::AddSync(Thread& t, EventKind kind, uint64_t addr, SyncId name, ContextId context, LockMode mode,
                      EventFlag flag) {
  Event event = EventOf(t, kind, context);
  event.mode = mode;
  event.flag = flag;
  event.addr = Addr{addr};
  event.object = Raw(name);
  Recorder::Note(t, event);
}

void Runtime::AddBarrier(Thread& t, EventKind kind, const Barriers::Phase& phase) {
  Event event = Event::OnMemory(kind, t.state.tid, Addr{phase.barrier}, phase.parties);
  event.object = Raw(phase.name);
  Recorder::Note(t, event);
}

void Runtime::AddThread(Thread& t, EventKind kind, Tid other, ContextId context) {
  Event event = EventOf(t, kind, context);
  event.object = Raw(other);
  Recorder::Note(t, event);
}

void Runtime::RecordRange(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind, uint64_t place) {
  for (; bytes > kLongestAccess; addr += kLongestAccess, bytes -= kLongestAccess) {
    RecordRange(t, addr, kLongestAccess, kind, place);
  }
  if (t.mode.locks_to_log) LogLocks(t);
  const ContextId context = t.ContextOf(contexts_, place);
  if (context == kIgnoredContext) return;
  // What happens while nobody watches is forgotten before somebody does.
  const bool is_prepared = is_watching() && Recorder::Prepare(t, contexts_, context);
  const Lines lines(t, addr, bytes);
  if (is_prepared) Recorder::Access(t, IsWrite(kind), addr, bytes, context, lines.changed_hands());
  ExamineRange(t, addr, bytes, kind, place);
}

void Runtime::NoteTold(Thread& t) {
  Event event = EventOf(t, EventKind::kTold, kNoContext);
  event.addr = t.record.granule;
  event.size = Raw(t.record.bytes);
  Recorder::NoteOfLast(t, event);
}

// Everything that was seen is forgotten; nobody else is in the runtime.
void Runtime::NoteEra(Thread& t) {
  if (!Recorder::is_on()) return;
  Recorder::ForgetLines();
  constexpr uint64_t kFirst = 4096, kEnd = uint64_t{1} << 47;
  const Event like = EventOf(t, EventKind::kForget, kNoContext);
  for (uint64_t addr = kFirst; addr < kEnd; addr += kLongestRange) {
    Event event = like;
    event.flag = EventFlag::kCells;
    event.addr = Addr{addr};
    event.size = kEnd - addr < kLongestRange ? kEnd - addr : kLongestRange;
    Recorder::Note(t, event);
  }
}

}  // namespace redflag::rt
