#include "runtime/emit.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/arch.h"
#include "base/hash_map.h"
#include "events/wire.h"
#include "runtime/abi.h"
#include "runtime/account.h"
#include "runtime/brief.h"
#include "runtime/environment.h"
#include "runtime/external_tags.h"
#include "runtime/owner.h"
#include "runtime/policy.h"
#include "runtime/ring_writer.h"
#include "runtime/run_status.h"
#include "runtime/runtime.h"
#include "runtime/told_races.h"
#include "runtime/watch.h"

namespace redflag::rt {
namespace {

// No matter which of them comes first.
uint64_t KeyOfPair(uint64_t a, uint64_t b) { return HashKey(HashKey(a) + HashKey(b)) ^ (HashKey(a) * HashKey(b)); }

int64_t Pid() { return arch::Syscall(SYS_getpid); }

// What there is to tell, as messages. One for the process.
class Emitter {
 public:
  void Start(const Flags& flags);
  void Restart(const Flags& flags, bool at_once);
  void Stop(const Flags& flags);
  bool Flush(const Flags& flags);
  ToldRace Race(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes, const ToleratedRace* tolerated);
  void MarkSuppressed(uint64_t sequence) {
    ScopedLock guard(lock_);
    told_.MarkSuppressed(sequence);
  }
  void Seen(Runtime& runtime, const Watched& watched);
  void TellMisuse(Runtime& runtime, const Misuse& misuse);
  void NoteSwitchedOff() {
    OpenStatus();
    if (status_ != nullptr) __atomic_store_n(&status_->switched_off, 1, __ATOMIC_RELAXED);
  }
  uint64_t duplicates() const { return told_.repeats(); }
  ToldRaces& told() { return told_; }
  void NoteInstrumented() {
    if (status_ != nullptr) __atomic_store_n(&status_->instrumented, 1, __ATOMIC_RELAXED);
  }
  uint64_t suppressed() const { return ring_.suppressed(); }
  void Tag(uint32_t number, const char* object_type, const char* header);
  void Note(uint32_t severity, const char* text);
  void Modules();
  void ThreadChanged(Runtime& runtime, Tid tid);
  void Counters(Runtime& runtime);
  void ModulesGone(uint64_t begin, uint64_t bytes);

 private:
  void StartIfDeferred() {
    if (deferred_ != nullptr) StartDeferred();
  }
  [[gnu::cold, gnu::noinline]] void StartDeferred();
  void ReplaceReader(const Flags& flags);
  void PutTag(uint32_t number, const char* object_type, const char* header);
  void Put(Message& message) { ring_.Put(message); }
  void PutModules();
  void PutSuppressions(const Flags& flags);
  void PutThread(Runtime& runtime, Tid tid);
  bool IsNews(Runtime& runtime, const RaceRecord& record, bool is_locked, BlockInfo& block, uint32_t& place);
  void PutRepeats();
  static void TakeApart(const ContextTree& tree, RaceRecord& record);

  void OpenStatus() {
    if (status_ == nullptr) status_ = OpenRunStatus();
  }

  AtomicMem::Lock lock_;
  RunStatus* status_ = nullptr;
  RingWriter ring_;
  const Flags* deferred_ = nullptr;  // in the child of a fork: nobody has needed a helper yet
  uint32_t replaced_ = 0;            // helpers that died before the program
  uint64_t sequence_ = 0;
  ToldRaces told_;
  uint8_t told_threads_[1u << 16] = {};  // by thread id; later ones are told again and again
  Account message_;
};

constinit Emitter emitter;

// ---- The beginning and the end ----

void Emitter::Start(const Flags& flags) {
  OpenStatus();
  if (!ring_.Open(deferred_ != nullptr)) {
    if (flags.verbosity > 0) Complain("Redflag: no helper process: reports will be brief");
    return;
  }
  message_.Begin(wire::MessageType::kProcess);
  timespec now = {};
  arch::Syscall(SYS_clock_gettime, CLOCK_REALTIME, reinterpret_cast<int64_t>(&now));
  message_.Add(wire::Process{
      .pid = static_cast<uint32_t>(Pid()),
      .watch_ms = flags.watch_ms > 0 ? static_cast<uint32_t>(flags.watch_ms) : 0,
      .start_time = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec)});
  static char command[512];
  const int64_t length = arch::Syscall(SYS_readlinkat, AT_FDCWD, reinterpret_cast<int64_t>("/proc/self/exe"),
                                       reinterpret_cast<int64_t>(command), sizeof command - 1);
  command[length > 0 ? length : 0] = '\0';
  const auto* asked_for = reinterpret_cast<const char*>(getauxval(AT_EXECFN));  // where there is no /proc
  message_.AddText(length > 0 || asked_for == nullptr ? command : asked_for);
  Put(message_);
  PutSuppressions(flags);
}

// The ring that was there is the parent's, and what was told through it was told of the parent. Most children of a fork do nothing but
// exec: a helper is started for those that have something to tell.
void Emitter::Restart(const Flags& flags, bool at_once) {
  ring_.Leave();
  CloseRunStatus(status_);
  lock_ = {};
  status_ = nullptr;
  deferred_ = &flags;
  if (sequence_ != 0 || !told_.IsEmpty() || at_once) {
    for (uint8_t& told : told_threads_) told = 0;
    sequence_ = 0;
    told_.Clear();
  }
  if (at_once) StartDeferred();
}

void Emitter::StartDeferred() {
  Start(*deferred_);
  deferred_ = nullptr;
  if (!ring_.has_reader()) return;
  for (uint32_t tag = 1; ObjectTypeOf(tag) != nullptr; ++tag) PutTag(tag, ObjectTypeOf(tag), HeaderOf(tag));
}

// The helper was killed: another one takes its place, and is told what that one has not read. Not for ever.
void Emitter::ReplaceReader(const Flags& flags) {
  constexpr uint32_t kMost = 8;
  if (!ring_.reader_died() || replaced_ == kMost) return;
  ++replaced_;
  RingWriter before = ring_;
  ring_ = {};
  for (uint8_t& told : told_threads_) told = 0;
  deferred_ = &flags;
  StartDeferred();
  if (ring_.has_reader()) {
    PutModules();
    ring_.TakeOver(before);
  }
  before.Leave();
}

// Of the program, in parts of whole lines that fit a message; and the user's file.
void Emitter::PutSuppressions(const Flags& flags) {
  const char* text = __tsan_default_suppressions != nullptr ? __tsan_default_suppressions() : nullptr;
  while (text != nullptr && *text != '\0') {
    static char part[wire::kMaxMessage / 2];
    size_t length = 0;
    size_t lines = 0;
    for (; length < sizeof part - 1 && text[length] != '\0'; ++length) {
      part[length] = text[length];
      if (text[length] == '\n') lines = length + 1;
    }
    if (text[length] != '\0' && lines != 0) length = lines;
    part[length] = '\0';
    text += length;
    message_.Begin(wire::MessageType::kSuppressions);
    message_.Add(wire::Suppressions{.is_file = 0, .wants_usage = 0});
    message_.AddText(part);
    Put(message_);
  }
  if (flags.suppressions.text[0] == '\0' && !flags.print_suppressions) return;
  message_.Begin(wire::MessageType::kSuppressions);
  message_.Add(wire::Suppressions{.is_file = 1, .wants_usage = flags.print_suppressions ? 1u : 0u});
  message_.AddText(flags.suppressions.text);
  Put(message_);
}

void Emitter::Tag(uint32_t number, const char* object_type, const char* header) {
  if (!ring_.has_reader()) return;
  ScopedLock guard(lock_);
  PutTag(number, object_type, header);
}

void Emitter::PutTag(uint32_t number, const char* object_type, const char* header) {
  message_.Begin(wire::MessageType::kTag);
  message_.Add(wire::Tag{.number = number, .reserved = 0});
  message_.AddText(object_type);
  message_.AddText(header);
  Put(message_);
}

void Emitter::Note(uint32_t severity, const char* text) {
  ScopedLock guard(lock_);
  StartIfDeferred();
  if (!ring_.has_reader()) return Complain("Redflag: ", text);
  message_.Begin(wire::MessageType::kNote);
  message_.Add(wire::Note{.severity = severity, .reserved = 0});
  message_.AddText(text);
  Put(message_);
}

void Emitter::Stop(const Flags& flags) {
  if (!ring_.has_reader()) return;
  {
    ScopedLock guard(lock_);
    if (ring_.has_unread()) ReplaceReader(flags);
    message_.Begin(wire::MessageType::kEnd);
    Put(message_);
    ring_.End();
  }
  if (sequence_ == 0) return;
  for (bool is_first = true; !ring_.Await(flags.flush_timeout_ms); is_first = false) {
    // It was killed at the last moment, or before it could say that it lived.
    if (!ring_.reader_died() && !(is_first && ring_.GiveUpWaiting())) return;
    ScopedLock guard(lock_);
    const uint32_t before = replaced_;
    ReplaceReader(flags);
    if (replaced_ == before || !ring_.has_reader()) return;
    ring_.End();
  }
  if (status_ != nullptr) __atomic_fetch_sub(&status_->reports, suppressed(), __ATOMIC_RELEASE);
}

// "no": there is nobody who writes it. Patience has its limits.
bool Emitter::Flush(const Flags& flags) {
  if (!ring_.has_reader()) return false;
  {
    ScopedLock guard(lock_);
    message_.Begin(wire::MessageType::kFlush);
    Put(message_);
  }
  return ring_.Await(flags.flush_timeout_ms);
}

// ---- Messages ----

// Modules are told anew before each race: a file that was mapped since is among them. Races are few.
void Emitter::PutModules() {
  ForEachMappedFile(
      [](const MappedFile& file, void* data) {
        auto& self = *static_cast<Emitter*>(data);
        self.message_.Begin(wire::MessageType::kModule);
        self.message_.Add(wire::Module{.begin = file.begin, .end = file.end, .bias = file.bias});
        self.message_.AddText(file.path);
        self.Put(self.message_);
        return true;
      },
      this);
}

void Emitter::Modules() {
  if (!ring_.has_reader() && deferred_ == nullptr) return;
  ScopedLock guard(lock_);
  StartIfDeferred();
  if (!ring_.has_reader()) return;
  PutModules();
}

void Emitter::ThreadChanged(Runtime& runtime, Tid tid) {
  if (!ring_.has_reader()) return;
  ScopedLock guard(lock_);
  if (Raw(tid) < sizeof told_threads_) told_threads_[Raw(tid)] = 0;
  PutThread(runtime, tid);
}

void Emitter::Counters(Runtime& runtime) {
  if (!ring_.has_reader()) return;
  ScopedLock guard(lock_);
  message_.Begin(wire::MessageType::kCounters);
  message_.Add(wire::Counters{.races = runtime.races(),
                              .duplicates = told_.repeats(),
                              .dropped_messages = ring_.dropped(),
                              .contexts = runtime.contexts().size(),
                              .contexts_lost = runtime.contexts().lost(),
                              .threads = runtime.thread_count(),
                              .slots = runtime.slot_count(),
                              .flushes = runtime.flushes()});
  Put(message_);
  PutRepeats();
}

void Emitter::PutRepeats() {
  told_.ForEachRepeated([&](uint32_t sequence, uint32_t repeats) {
    message_.Begin(wire::MessageType::kRepeats);
    message_.Add(wire::Repeats{.sequence = sequence, .count = repeats});
    Put(message_);
  });
}

void Emitter::ModulesGone(uint64_t begin, uint64_t bytes) {
  if (!ring_.has_reader()) return;
  ScopedLock guard(lock_);
  message_.Begin(wire::MessageType::kModuleGone);
  message_.Add(wire::Module{.begin = begin, .end = begin + bytes, .bias = begin});
  message_.AddText("");
  Put(message_);
}

void Emitter::PutThread(Runtime& runtime, Tid tid) {
  if (tid == kNoThread) return;
  if (Raw(tid) < sizeof told_threads_ && told_threads_[Raw(tid)] != 0) return;
  const ThreadInfo& info = runtime.InfoOf(tid);
  if (info.is_forgotten()) return;
  if (Raw(tid) < sizeof told_threads_) told_threads_[Raw(tid)] = 1;
  PutThread(runtime, info.creator);
  message_.Begin(wire::MessageType::kThread);
  message_.Add(wire::Thread{.id = Raw(tid), .creator = Raw(info.creator), .os_id = info.os_id, .flags = info.flags});
  message_.AddText(info.name);
  message_.AddStack(runtime, info.created_at);
  Put(message_);
}

// Earlier accesses that a cell kept as one, taken apart.
void Emitter::TakeApart(const ContextTree& tree, RaceRecord& record) {
  const RaceRecord whole = record;
  record.earlier_count = 0;
  record.earlier_total -= whole.earlier_count;
  for (uint32_t i = 0; i < whole.earlier_count; ++i) {
    tree.ForEachSource(whole.earlier[i].context, whole.earlier[i].bytes, [&](ContextId context, ByteMask bytes) {
      AccessRecord part = whole.earlier[i];
      part.context = context;
      part.bytes = bytes;
      record.AddEarlier(part);
    });
  }
}

// Call stacks and variables that have names are told apart: one on the heap stands for all. Most races were told before, and need not wait
// for one another. "no": `place` is where its repetitions are counted. `is_locked`: it is told from now on. `block`: where it is on the heap, or without bytes.
bool Emitter::IsNews(Runtime& runtime, const RaceRecord& record, bool is_locked, BlockInfo& block, uint32_t& place) {
  const ContextTree& tree = runtime.contexts();
  const ContextId mine = tree.PartsOf(record.access.context).calls;
  const ContextId theirs = tree.PartsOf(record.earlier[0].context).calls;
  const bool is_on_heap = runtime.FindBlock(Raw(record.granule), block);
  if (!is_on_heap) block.bytes = 0;
  const uint64_t where = is_on_heap ? 0 : Raw(record.granule);
  const uint64_t stacks = KeyOfPair(Raw(mine), Raw(theirs)) ^ HashKey(where);
  const uint64_t places = KeyOfPair(tree.PlaceOf(mine), tree.PlaceOf(theirs));
  if (told_.Knows(places, stacks, place)) return false;
  if (is_locked) told_.Add(places, stacks, sequence_ + 1);
  return true;
}

ToldRace Emitter::Race(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes, const ToleratedRace* tolerated) {
  const RaceRecord& record = t.record;
  uint32_t place;
  const auto repeat = [&] {
    told_.CountRepeat(place, Raw(t.state.tid));
    return ToldRace{.is_suppressed = told_.IsSuppressed(place)};
  };
  const AccessRecord& earlier = record.earlier[0];
  const uint64_t key = ToldLately::KeyOf(record.access.context, earlier.context, earlier.bytes, told_.generation());
  if (t.told_lately.Knows(key, record.granule, place) && !Policies::are_on()) return repeat();
  TakeApart(runtime.contexts(), t.record);
  BlockInfo block = {};
  if (!IsNews(runtime, record, false, block, place)) {
    t.told_lately.Add(key, block.begin, block.bytes, place);
    return repeat();
  }
  ScopedLock guard(lock_);
  if (!IsNews(runtime, record, true, block, place)) return repeat();
  StartIfDeferred();
  ReplaceReader(runtime.flags());
  ++sequence_;
  if (status_ != nullptr) __atomic_fetch_add(&status_->reports, 1, __ATOMIC_RELEASE);
  if (!ring_.has_reader() || ring_.reader_failed()) {
    PrintBriefly(runtime.contexts(), record, addr);
    return {.sequence = sequence_};
  }
  PutModules();
  PutThread(runtime, record.access.thread);
  for (uint32_t i = 0; i < record.earlier_count; ++i) PutThread(runtime, record.earlier[i].thread);

  const Whereabouts where(runtime, record);
  if (where.is_on_heap) PutThread(runtime, where.block.thread);
  if (where.is_owned) PutThread(runtime, where.owned.thread);
  if (tolerated != nullptr) {
    message_.Begin(wire::MessageType::kTolerated);
    message_.Add(wire::Tolerated{.sequence = sequence_, .local = tolerated->local, .global = tolerated->global});
    message_.AddText(tolerated->words);
    Put(message_);
  }
  message_.TellRace(runtime, t, sequence_, addr, bytes, where);
  Put(message_);
  return {.sequence = sequence_, .is_on_stack = where.is_on_stack()};
}

void Emitter::TellMisuse(Runtime& runtime, const Misuse& misuse) {
  ScopedLock guard(lock_);
  StartIfDeferred();
  ReplaceReader(runtime.flags());
  ++sequence_;
  if (status_ != nullptr) __atomic_fetch_add(&status_->reports, 1, __ATOMIC_RELEASE);
  if (!ring_.has_reader() || ring_.reader_failed())
    return Complain(
        "Redflag: a lock, a thread or a signal is misused, or locks are taken in opposite orders (no helper process "
        "says more)");
  PutModules();
  PutThread(runtime, misuse.thread);
  const uint64_t waiters = misuse.cycle == nullptr ? 0 : misuse.cycle->size();
  OwnedMemory owned;
  const bool is_owned = misuse.lock != 0 && waiters == 0 && FindOwner(runtime, misuse.lock, owned);
  if (is_owned) PutThread(runtime, owned.thread);
  for (uint64_t i = 0; i < waiters; ++i) PutThread(runtime, (*misuse.cycle)[i].when.thread);
  message_.TellMisuse(runtime, misuse, sequence_, is_owned ? &owned : nullptr);
  Put(message_);
}

void Emitter::Seen(Runtime& runtime, const Watched& watched) {
  if (!ring_.has_reader()) return;
  ScopedLock guard(lock_);
  PutModules();
  for (uint32_t i = 0; i < watched.count; ++i) PutThread(runtime, watched.seen[i].thread);
  message_.TellWatched(runtime, watched);
  Put(message_);
}

}  // namespace

void StartEmitting(const Flags& flags) { emitter.Start(flags); }
void StopEmitting(const Flags& flags) { emitter.Stop(flags); }
void FlushReports(const Flags& flags) { emitter.Flush(flags); }
ToldRace EmitRace(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes) {
  return emitter.Race(runtime, t, addr, bytes, nullptr);
}
uint64_t EmitTolerated(Runtime& runtime, Thread& t, const ToleratedRace& race) {
  return emitter.Race(runtime, t, race.address, race.bytes, &race).sequence;
}
bool IsFoundAgain(const Thread& t, ContextId mine, ContextId earlier, ByteMask bytes, Addr granule, uint32_t& place) {
  return t.told_lately.Knows(ToldLately::KeyOf(mine, earlier, bytes, emitter.told().generation()), granule, place);
}
void CountFoundAgain(const Thread& t, uint32_t place) { emitter.told().CountRepeat(place, Raw(t.state.tid)); }
void MarkSuppressed(uint64_t sequence) { emitter.MarkSuppressed(sequence); }
void EmitMisuse(Runtime& runtime, const Misuse& misuse) { emitter.TellMisuse(runtime, misuse); }
void TellWatched(Runtime& runtime, const Watched& watched) { emitter.Seen(runtime, watched); }
uint64_t DuplicateReports() { return emitter.duplicates(); }
void NoteSwitchedOff() { emitter.NoteSwitchedOff(); }
uint64_t SuppressedRaces() { return emitter.suppressed(); }
void TellTag(uint32_t number, const char* object_type, const char* header) { emitter.Tag(number, object_type, header); }
void TellNote(uint32_t severity, const char* text) { emitter.Note(severity, text); }
void TellModules() { emitter.Modules(); }
void TellModulesGone(uint64_t begin, uint64_t bytes) { emitter.ModulesGone(begin, bytes); }
void NoteInstrumented() { emitter.NoteInstrumented(); }
void RestartEmitting(const Flags& flags, bool at_once) {
  Watch::Clear();
  emitter.Restart(flags, at_once);
}
void TellThread(Runtime& runtime, Tid tid) { emitter.ThreadChanged(runtime, tid); }
void TellCounters(Runtime& runtime) { emitter.Counters(runtime); }

}  // namespace redflag::rt
