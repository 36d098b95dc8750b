// Reading order: the pieces of a scene (Rights first: they are why a trace without mistakes has no race),
// then the Generator: setting the stage, the scripts, playing them.
#include "tests/differential/generator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redflag {
namespace {

constexpr uint32_t kMaxThreads = 12;
constexpr uint32_t kMaxVariables = 24;  // and the heap blocks, within the 32 bits of a Set
constexpr uint32_t kMaxHeapBlocks = 4;
constexpr uint32_t kMaxLocks = 5;
constexpr uint32_t kMaxSignals = 4;
constexpr uint32_t kMaxBarriers = 2;
constexpr uint32_t kMaxParties = 3;
constexpr uint32_t kMaxScript = 64;
constexpr uint32_t kNobody = UINT32_MAX;
constexpr uint8_t kAnyVariable = UINT8_MAX;
constexpr uint64_t kDataBase = 0x1000;
constexpr uint64_t kHeapBase = 0x2000;
constexpr uint64_t kHeapSlot = 176;   // distance of heap blocks: they share cache lines, and some cover whole ones
constexpr uint64_t kCounterSize = 8;  // of the reference count at the start of a heap block

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(((Next() >> 32) * bound) >> 32); }
  uint32_t Between(uint32_t low, uint32_t high) { return low + Below(high - low + 1); }
  bool Chance(uint32_t part, uint32_t whole) { return Below(whole) < part; }

 private:
  uint64_t state_;
};

// A set of variables, or of threads, by index.
using Set = uint32_t;
constexpr Set Only(uint32_t index) { return Set{1} << index; }

// What one may do. Rights lie with a thread, or travel in an object that synchronizes: who releases puts
// rights into it, who acquires takes them out. So each access that is covered by a right is ordered after all
// that conflict.
struct Rights {
  Set own = 0;    // alone: read and write. Moves.
  Set share = 0;  // with others: read a data variable, operate on an atomic one. Is copied, never taken back.
  Set refs = 0;   // one reference to a counted heap block: read it. Moves.

  void Take(Rights& from) {
    own |= std::exchange(from.own, 0);
    share |= from.share;
    const Set taken = from.refs & ~refs;
    refs |= taken;
    from.refs &= ~taken;
  }
  void Revoke(Set variables) {
    own &= ~variables;
    share &= ~variables;
    refs &= ~variables;
  }
};

struct Variable {
  enum class Kind : uint8_t { kData, kGuarded, kAtomic, kTransactional, kHeap };

  Kind kind = Kind::kData;
  bool live = true;         // kHeap: allocated
  uint32_t references = 0;  // kHeap: while counted
  uint64_t addr = 0;
  uint32_t size = 0;
  Rights carried{};  // kAtomic: for an acquiring reader; kTransactional: for a later transaction on all of it
};

struct Lock {
  bool shared_allowed = false;
  bool destroyed = false;
  Set guards = 0;  // variables
  uint32_t writer = kNobody;
  uint32_t readers = 0;       // how many
  Rights carried;             // from exclusive sections, for every later section
  Rights carried_by_readers;  // from shared sections, for later exclusive ones
};

struct SignalObject {
  SyncKind kind = SyncKind::kSignal;
  uint32_t signals = 0;  // of a semaphore: those that nobody waited for yet
  Rights carried;
};

struct Barrier {
  uint32_t parties = 2;
  uint32_t arrived = 0;
  std::array<uint8_t, kMaxParties> arrivals{};
  Rights carried;
};

// A step of a script. It turns into at most one event, whose details are chosen when its turn comes.
struct Step {
  enum class Do : uint8_t {
    kTouch,         // some variable that the thread has a right to; flag: one that it just received
    kTouchGuarded,  // object: the lock; flag: may write
    kTouchIgnored,  // any variable; flag: write
    kLock,          // object; flag: shared
    kUnlock,        // object
    kAtomic,        // object: the variable; kind; order; flag: puts rights in; takes: takes them out
    kFence,         // order
    kSignal,        // object
    kWait,          // object
    kArrive,        // object
    kLeave,         //
    kTxAccess,      // object: the variable, or kAnyVariable; kind; flag: all of it
    kTxCommit,      // flag: puts rights in
    kOpen,          // kind, object: a call, an ignored section
    kClose,         // kind, object
  };
  Do what;
  EventKind kind = EventKind::kRead;
  MemoryOrder order = MemoryOrder::kRelaxed;
  uint8_t object = 0;
  bool flag = false;
  bool takes = false;
  bool mistake = false;  // kAtomic: takes them although it does not acquire
  uint8_t skip = 0;      // how many steps to leave out if no rights were received
};

struct Thread {
  bool alive = true;
  bool joined = false;
  uint32_t barrier = kNobody;  // where it has arrived, and not left
  bool phase_complete = false;
  Rights rights;
  Rights unfenced;                        // read by a relaxed operation, waits for an acquire fence
  Rights awaited;                         // from the barrier
  Set spare_refs = 0;                     // second references, to be handed on
  Set recent = 0;                         // received last
  bool collecting = false;                // a transaction
  Set footprint = 0;                      // of the transaction
  Set whole = 0;                          // the variables that are in it with all their bytes
  Set past_threads = 0;                   // threads that are over, as far as this one is ordered after them; and itself
  std::array<uint8_t, kMaxLocks> held{};  // depth
  std::array<LockMode, kMaxLocks> mode{};
  int open = 0;  // calls, or ignored sections: a script has one of them

  std::array<Step, kMaxScript> script;
  uint32_t next = 0;
  uint32_t end = 0;

  bool Idle() const { return next == end && barrier == kNobody; }
};

class Generator {
 public:
  Generator(uint64_t seed, const GeneratorOptions& options) : random_(seed), options_(options) {}

  Trace Run() {
    SetStage();
    Schedule();
    CloseOpenEnds();

    for (uint32_t line = 1; line <= trace_.events.size(); ++line) trace_.lines.push_back(line);
    for (uint32_t thread = 0; thread < Created(); ++thread) {
      trace_.threads.push_back("t" + std::to_string(thread));
    }
    return std::move(trace_);
  }

 private:
  using Do = Step::Do;
  using Kind = Variable::Kind;
  using Idiom = bool (Generator::*)(uint32_t thread);  // false: impossible now
  enum class Progress : uint8_t { kEvent, kEventButNotDone, kNothing, kBlocked };

  bool Has(uint32_t features) const { return (features_ & features) == features; }
  bool Coin() { return random_.Chance(1, 2); }
  bool Slip() { return mistakes_ != 0 && random_.Chance(mistakes_, 1024); }
  // For mistakes that seldom have an occasion, or seldom an effect.
  bool Blunder() { return mistakes_ != 0 && random_.Chance(1, 4); }

  // ---- Setting the stage

  void SetStage() {
    features_ = options_.features;
    if (options_.vary_features) features_ &= static_cast<uint32_t>(random_.Next());
    constexpr std::array<uint32_t, 8> kMistakes = {0, 0, 16, 32, 32, 64, 64, 128};
    mistakes_ = options_.mistakes;
    if (mistakes_ == GeneratorOptions::kDrawn) mistakes_ = kMistakes[random_.Below(kMistakes.size())];
    target_events_ = random_.Between(options_.min_events, options_.max_events);
    trace_.events.reserve(target_events_ + 32);
    trace_.lines.reserve(target_events_ + 32);

    target_threads_ = random_.Between(options_.min_threads, options_.max_threads);
    many_readers_ = random_.Chance(1, 5);
    if (many_readers_) target_threads_ = std::max(target_threads_, std::min(options_.max_threads, 6u));
    threads_.reserve(kMaxThreads);  // references to threads stay valid
    const uint32_t initial = Coin() ? 1 : random_.Between(1, target_threads_);
    for (uint32_t thread = 0; thread < initial; ++thread) {
      StartThread();
      trace_.initial_threads.push_back(Tid{thread});
    }
    PlaceSyncs();
    PlaceVariables();
    for (const WeightedIdiom& idiom : Idioms()) weights_ += Has(idiom.features) ? idiom.weight : 0;
  }

  uint32_t Created() const { return static_cast<uint32_t>(threads_.size()); }
  uint32_t StartThread() {
    const uint32_t thread = Created();
    threads_.emplace_back().past_threads = Only(thread);
    ++alive_;
    return thread;
  }

  void PlaceSyncs() {
    locks_used_ = random_.Between(1, kMaxLocks);
    for (uint32_t lock = 0; lock < locks_used_; ++lock) {
      locks_[lock].shared_allowed = Has(kRwlocks) && Coin();
      trace_.syncs.push_back({"m" + std::to_string(lock), SyncKind::kLock});
    }
    const auto add_signal = [this](SyncKind kind, const char* name) {
      trace_.syncs.push_back({name + std::to_string(signals_used_), kind});
      signals_[signals_used_++].kind = kind;
    };
    if (Has(kSignals)) add_signal(SyncKind::kSignal, "h");
    if (Has(kSignals)) add_signal(SyncKind::kCondition, "cv");
    if (Has(kSemaphores)) add_signal(SyncKind::kSemaphore, "sem");
    if (Has(kSemaphores) && Coin()) add_signal(SyncKind::kSemaphore, "sem");
    if (Has(kBarriers)) barriers_used_ = random_.Between(1, kMaxBarriers);
    for (uint32_t barrier = 0; barrier < barriers_used_; ++barrier) {
      barriers_[barrier].parties = random_.Between(2, kMaxParties);
      trace_.syncs.push_back({"b" + std::to_string(barrier), SyncKind::kBarrier});
    }
  }
  uint32_t SyncOfSignal(uint32_t signal) const { return locks_used_ + signal; }
  uint32_t SyncOfBarrier(uint32_t barrier) const { return locks_used_ + signals_used_ + barrier; }

  // Variables lie close together, so that they share granules and a byte too many hits the neighbour.
  void PlaceVariables() {
    uint64_t next = kDataBase;
    variables_used_ = std::min(random_.Between(options_.min_variables, options_.max_variables), kMaxVariables);
    for (uint32_t index = 0; index < variables_used_; ++index) {
      Variable& variable = variables_[index];
      if (Has(kAtomics) && (index == 0 || (index != 1 && random_.Chance(1, 5)))) {
        variable.kind = Kind::kAtomic;
        atomics_ |= Only(index);
      } else if (Has(kTransactions) && (index == 1 || random_.Chance(1, 6))) {
        variable.kind = Kind::kTransactional;
        transactional_ |= Only(index);
      } else if (random_.Chance(1, 3)) {
        variable.kind = Kind::kGuarded;
        locks_[random_.Below((locks_used_ + 1) / 2)].guards |= Only(index);
      } else {
        data_ |= Only(index);
      }

      if (variable.kind == Kind::kAtomic) {
        variable.size = 1u << random_.Below(5);
      } else {
        variable.size = Has(kMixedSizes) ? random_.Between(1, 16) : 1u << random_.Below(4);
      }
      if (variable.kind == Kind::kAtomic || !Has(kMixedSizes)) {
        next = (next + variable.size - 1) & ~uint64_t{variable.size - 1};
      } else if (random_.Chance(1, 4)) {
        next += random_.Between(1, 5);
      }
      variable.addr = next;
      next += variable.size;
      static constexpr std::array<const char*, 4> kNames = {"x", "g", "a", "tx"};
      trace_.ranges.push_back(
          {kNames[static_cast<size_t>(variable.kind)] + std::to_string(index), Addr{variable.addr}, variable.size, 0});

      if (variable.kind != Kind::kGuarded) {
        const bool is_data = variable.kind == Kind::kData;
        const bool shared = is_data ? random_.Chance(many_readers_ ? 4 : 1, 6) : random_.Chance(3, 4);
        (shared ? shared_by_all_ : threads_[random_.Below(Created())].rights.own) |= Only(index);
      }
    }
    if (!Has(kAllocFree)) return;
    for (uint32_t block = random_.Between(1, kMaxHeapBlocks); block > 0; --block) {
      Variable& variable = variables_[variables_used_];
      variable = {.kind = Kind::kHeap, .live = false, .addr = kHeapBase + block * kHeapSlot, .size = 16};
      heap_ |= Only(variables_used_++);
    }
  }

  struct WeightedIdiom {
    uint32_t weight;
    uint32_t features;  // that it needs
    Idiom idiom;
  };
  static std::span<const WeightedIdiom> Idioms() {
    static constexpr WeightedIdiom kIdioms[] = {
        {6, 0, &Generator::Touches},
        {10, 0, &Generator::EnterCriticalSection},
        {2, 0, &Generator::JoinThread},
        {1, 0, &Generator::EndThread},
        {10, 0, &Generator::Send},
        {14, 0, &Generator::ReceiveMessage},
        {4, kAtomics, &Generator::OperateAtomically},
        {3, kSignals, &Generator::UseCondition},
        {5, kTransactions, &Generator::Transact},
        {3, kBarriers, &Generator::MeetAtBarrier},
        {3, kAllocFree, &Generator::Allocate},
        {2, kAllocFree, &Generator::Free},
        {5, kAllocFree | kAtomics, &Generator::CountReferences},
        {2, kAnnotations, &Generator::Publish},
        {2, kAnnotations, &Generator::RenewMemory},
        {1, kAnnotations, &Generator::MarkBenign},
        {2, kAnnotations, &Generator::IgnoreAccesses},
        {1, kAnnotations, &Generator::RenewLock},
        {1, kAnnotations, &Generator::Remark},
        {2, kAnnotations, &Generator::Call},
    };
    return kIdioms;
  }

  // ---- Rights

  void Receive(Thread& thread, Rights& from) {
    thread.recent = from.own | from.refs | (from.share & ~thread.rights.share);
    thread.rights.Take(from);
  }

  void HandOn(Thread& from, Rights& to) {
    if (from.rights.own != 0 && random_.Chance(1, 5)) {
      const Set shared = Only(Pick(from.rights.own));
      from.rights.own &= ~shared;
      from.rights.share |= shared;
    }
    const Set moved = from.rights.own & static_cast<Set>(random_.Next());
    to.own |= moved;
    if (!Slip()) from.rights.own &= ~moved;
    to.share |= from.rights.share;
    const Set references = from.spare_refs & ~to.refs;
    to.refs |= references;
    from.spare_refs &= ~references;
  }

  // A new lifetime: nobody has any right to these variables.
  void Revoke(Set variables) {
    shared_by_all_ &= ~variables;
    benign_ &= ~variables;
    for (Thread& thread : threads_) {
      thread.rights.Revoke(variables);
      thread.unfenced.Revoke(variables);
      thread.awaited.Revoke(variables);
      thread.spare_refs &= ~variables;
    }
    for (Variable& variable : variables_) variable.carried.Revoke(variables);
    for (Lock& lock : locks_) {
      lock.carried.Revoke(variables);
      lock.carried_by_readers.Revoke(variables);
    }
    for (SignalObject& signal : signals_) signal.carried.Revoke(variables);
    for (Barrier& barrier : barriers_) barrier.carried.Revoke(variables);
  }

  // Ordered after everything that ever happened.
  bool Alone(uint32_t thread) const { return threads_[thread].past_threads == Only(Created()) - 1; }
  Set Unallocated() const {
    Set set = 0;
    for (Set rest = heap_; rest != 0; rest &= rest - 1) {
      const auto block = static_cast<uint32_t>(std::countr_zero(rest));
      if (!variables_[block].live) set |= Only(block);
    }
    return set;
  }
  Set All() const { return Only(variables_used_) - 1; }
  // In the footprint of a transaction that is to be committed.
  Set Collected() const {
    Set set = 0;
    for (const Thread& thread : threads_) set |= thread.footprint;
    return set;
  }

  Set Guarded(const Thread& thread, bool for_writing) const {
    Set set = 0;
    for (uint32_t lock = 0; lock < locks_used_; ++lock) {
      const bool enough = !for_writing || thread.mode[lock] == LockMode::kExclusive;
      if (thread.held[lock] != 0 && enough) set |= locks_[lock].guards;
    }
    return set;
  }
  Set Writable(uint32_t thread) const {
    if (Alone(thread)) return All() & ~Unallocated();
    return threads_[thread].rights.own | benign_ | Guarded(threads_[thread], /*for_writing=*/true);
  }
  Set Readable(uint32_t thread) const {
    const Rights& rights = threads_[thread].rights;
    return Writable(thread) | ((rights.share | shared_by_all_) & ~(atomics_ | transactional_)) | rights.refs |
           Guarded(threads_[thread], /*for_writing=*/false);
  }
  // Of these variables, atomic or transactional, those that may be used as what they are.
  Set Usable(uint32_t thread, Set variables) const {
    if (Alone(thread)) return variables;
    const Rights& rights = threads_[thread].rights;
    return variables & (rights.own | rights.share | shared_by_all_ | benign_);
  }

  // ---- Events

  uint32_t Pick(Set set) {
    for (int skipped = static_cast<int>(random_.Below(std::popcount(set))); skipped > 0; --skipped) {
      set &= set - 1;
    }
    return static_cast<uint32_t>(std::countr_zero(set));
  }

  void Emit(EventKind kind, uint32_t thread, uint64_t addr, uint64_t size, MemoryOrder order = MemoryOrder::kRelaxed) {
    trace_.events.push_back(Event::OnMemory(kind, Tid{thread}, Addr{addr}, size, order));
  }
  void EmitOnAll(EventKind kind, uint32_t thread, const Variable& variable) {
    Emit(kind, thread, variable.addr, variable.size);
  }
  void EmitOnObject(EventKind kind, uint32_t thread, uint32_t object, LockMode mode = LockMode::kExclusive) {
    trace_.events.push_back(Event::OnObject(kind, Tid{thread}, object, mode));
  }

  // An access to some bytes of a variable. Returns whether it was all of them.
  bool EmitAccess(EventKind kind, uint32_t thread, const Variable& variable, bool all) {
    const uint64_t reserved = variable.references > 0 ? kCounterSize : 0;
    uint64_t addr = variable.addr + reserved;
    uint64_t size = variable.size - reserved;
    if (size > 16 || (Has(kMixedSizes) && !all && Coin())) {
      const auto room = static_cast<uint32_t>(size);
      const uint32_t offset = Has(kMixedSizes) ? random_.Below(room) : 8 * random_.Below(room / 8);
      addr += offset;
      size = std::min<uint64_t>(size - offset, Has(kMixedSizes) ? random_.Between(1, 16) : 8);
    }
    const bool was_all = size == variable.size;
    if (Slip() && size < 16) {
      if (Coin()) --addr;
      ++size;
    }
    Emit(kind, thread, addr, size);
    return was_all;
  }

  MemoryOrder LoadOrder(bool acquires) {
    if (!acquires) return MemoryOrder::kRelaxed;
    return random_.Chance(2, 3) ? MemoryOrder::kAcquire : MemoryOrder::kSeqCst;
  }
  MemoryOrder StoreOrder(bool releases) {
    if (!releases) return MemoryOrder::kRelaxed;
    return random_.Chance(2, 3) ? MemoryOrder::kRelease : MemoryOrder::kSeqCst;
  }
  // Of a fence or a read-modify-write that does at least `least`.
  MemoryOrder OrderFrom(MemoryOrder least) {
    constexpr std::array kStronger = {MemoryOrder::kAcqRel, MemoryOrder::kSeqCst};
    return Coin() ? least : kStronger[random_.Below(2)];
  }

  // ---- Scripts. Each makes an event at once, or appends steps to the thread's script.

  bool Room(uint32_t thread, uint32_t steps) const { return threads_[thread].end + steps <= kMaxScript; }
  void Push(uint32_t thread, Step step) {
    if (Room(thread, 1)) threads_[thread].script[threads_[thread].end++] = step;
  }

  bool StartScript(uint32_t thread) {
    threads_[thread].next = threads_[thread].end = 0;
    if (alive_ < target_threads_ && random_.Chance(1, alive_ == 1 ? 3 : 6) && ForkThread(thread)) return true;
    if (open_barrier_ != kNobody && random_.Chance(1, 3)) return MeetAtBarrier(thread);
    if (many_readers_ && random_.Chance(1, 6)) return Touches(thread);
    uint32_t drawn = random_.Below(weights_);
    for (const WeightedIdiom& candidate : Idioms()) {
      if (!Has(candidate.features)) continue;
      if (drawn < candidate.weight) return (this->*candidate.idiom)(thread);
      drawn -= candidate.weight;
    }
    return false;
  }

  bool Touches(uint32_t thread) {
    for (uint32_t steps = random_.Between(1, 3); steps > 0; --steps) Push(thread, {.what = Do::kTouch});
    return true;
  }

  bool EnterCriticalSection(uint32_t thread) { return CriticalSection(thread, 0); }

  // Locks are nested in ascending order only, so that nobody waits for ever.
  bool CriticalSection(uint32_t thread, uint32_t lowest_lock) {
    if (lowest_lock >= locks_used_) return false;
    const auto lock = static_cast<uint8_t>(random_.Between(lowest_lock, locks_used_ - 1));
    const bool writes = !(locks_[lock].shared_allowed && Coin());
    const bool shared = locks_[lock].shared_allowed && (!writes || Slip());
    const bool forgotten = Slip();
    const Step touch = {.what = Do::kTouchGuarded, .object = lock, .flag = writes};
    const Step enter = {.what = Do::kLock, .object = lock, .flag = shared};
    const Step leave = {.what = Do::kUnlock, .object = lock};
    if (!forgotten) Push(thread, enter);
    for (uint32_t steps = random_.Between(1, 3); steps > 0 && Room(thread, 24); --steps) {
      switch (random_.Below(16)) {
        case 0:
          Push(thread, {.what = Do::kTouch});
          break;
        case 1:
          CriticalSection(thread, lock + 1);
          break;
        case 2:
          if (forgotten) break;
          Push(thread, enter);
          Push(thread, touch);
          Push(thread, leave);
          break;
        case 3:
          Send(thread);
          break;
        case 4:
          ReceiveMessage(thread);
          break;
        case 5:
          OperateAtomically(thread);
          break;
        default:
          Push(thread, touch);
          break;
      }
    }
    if (!forgotten) Push(thread, leave);
    return true;
  }

  // Message passing: write something, then tell.
  bool Send(uint32_t thread) {
    for (uint32_t steps = random_.Below(3); steps > 0; --steps) Push(thread, {.what = Do::kTouch});
    const Set operable = Usable(thread, atomics_);
    const uint32_t way = random_.Below(5);
    if (way < 3 && operable != 0) {
      Step step = {.what = Do::kAtomic, .object = static_cast<uint8_t>(Pick(operable)), .flag = true};
      step.kind = Coin() ? EventKind::kAtomicStore : EventKind::kAtomicRmw;
      if (Has(kFences) && random_.Chance(2, 5)) {
        Push(thread, {.what = Do::kFence, .order = OrderFrom(MemoryOrder::kRelease)});
      } else if (!Slip()) {
        step.order = step.kind == EventKind::kAtomicStore ? StoreOrder(true) : OrderFrom(MemoryOrder::kRelease);
      }
      Push(thread, step);
      return true;
    }
    if (const Set usable = Usable(thread, transactional_); way == 3 && usable != 0) {
      const auto variable = static_cast<uint8_t>(Pick(usable));
      const EventKind kind = random_.Chance(3, 4) ? EventKind::kTxWrite : EventKind::kTxRead;
      Push(thread, {.what = Do::kTxAccess, .kind = kind, .object = variable, .flag = true});
      Push(thread, {.what = Do::kTxCommit, .flag = true});
      return true;
    }
    if (signals_used_ == 0) return false;
    Push(thread, {.what = Do::kSignal, .object = static_cast<uint8_t>(random_.Below(signals_used_))});
    return true;
  }

  // The other side: look whether there is something, and if so use it.
  bool ReceiveMessage(uint32_t thread) {
    const Rights& rights = threads_[thread].rights;
    const auto has_news = [&rights](const Rights& carried) {
      return (carried.own | carried.refs | (carried.share & ~rights.share)) != 0;
    };
    const auto touches = static_cast<uint8_t>(random_.Between(1, 3));
    const bool anywhere = random_.Chance(1, 8);
    const auto use = [&] {
      for (uint32_t i = 0; i < touches; ++i) Push(thread, {.what = Do::kTouch, .flag = true});
      return true;
    };

    Set interesting = 0;
    for (Set rest = Usable(thread, atomics_ | transactional_); rest != 0; rest &= rest - 1) {
      const auto variable = static_cast<uint32_t>(std::countr_zero(rest));
      if (anywhere || has_news(variables_[variable].carried)) interesting |= Only(variable);
    }
    if (interesting != 0 && random_.Chance(3, 4)) {
      const auto variable = static_cast<uint8_t>(Pick(interesting));
      if ((transactional_ & Only(variable)) != 0) {
        Push(thread, {.what = Do::kTxAccess, .kind = EventKind::kTxRead, .object = variable, .flag = true});
        Push(thread, {.what = Do::kTxCommit, .skip = touches});
        return use();
      }
      Step step = {.what = Do::kAtomic, .object = variable, .takes = true, .skip = touches};
      step.kind = random_.Chance(2, 3) ? EventKind::kAtomicLoad : EventKind::kAtomicRmw;
      const bool fenced = Has(kFences) && random_.Chance(2, 5);
      step.mistake = !fenced && Slip();
      if (fenced) {
        step.skip = touches + 1;
      } else if (!step.mistake) {
        step.order = step.kind == EventKind::kAtomicLoad ? LoadOrder(true) : OrderFrom(MemoryOrder::kAcquire);
      }
      Push(thread, step);
      if (fenced) Push(thread, {.what = Do::kFence, .order = OrderFrom(MemoryOrder::kAcquire)});
      return use();
    }
    for (uint32_t tries = 0; tries < signals_used_; ++tries) {
      const auto signal = static_cast<uint8_t>(random_.Below(signals_used_));
      if (!anywhere && !has_news(signals_[signal].carried)) continue;
      Push(thread, {.what = Do::kWait, .object = signal, .skip = touches});
      return use();
    }
    return false;
  }

  // Operations of any order that are nobody's message: they extend release sequences, or end them.
  bool OperateAtomically(uint32_t thread) {
    const Set operable = Usable(thread, atomics_);
    if (operable == 0) return false;
    for (uint32_t steps = random_.Between(1, 2); steps > 0; --steps) {
      Step step = {.what = Do::kAtomic, .object = static_cast<uint8_t>(Pick(operable))};
      switch (random_.Below(Has(kFences) ? 8 : 7)) {
        case 0:
        case 1:
          step.kind = EventKind::kAtomicLoad;
          step.order = LoadOrder(Coin());
          break;
        case 2:
        case 3:
          step.kind = EventKind::kAtomicStore;
          step.order = StoreOrder(Coin());
          break;
        case 7:
          step.what = Do::kFence;
          step.order = OrderFrom(Coin() ? MemoryOrder::kAcquire : MemoryOrder::kRelease);
          break;
        default:
          step.kind = EventKind::kAtomicRmw;
          if (Coin()) step.order = OrderFrom(Coin() ? MemoryOrder::kAcquire : MemoryOrder::kRelease);
          break;
      }
      Push(thread, step);
    }
    return true;
  }

  bool UseCondition(uint32_t thread) {
    const auto lock = static_cast<uint8_t>(random_.Below(locks_used_));
    constexpr uint8_t kCondition = 1;  // where PlaceSyncs puts it
    const Step enter = {.what = Do::kLock, .object = lock};
    const Step touch = {.what = Do::kTouchGuarded, .object = lock, .flag = true};
    const Step leave = {.what = Do::kUnlock, .object = lock};
    if (Coin()) {
      for (const Step& step : {enter, touch, Step{.what = Do::kSignal, .object = kCondition}, leave}) {
        Push(thread, step);
      }
    } else {
      const Step wait = {.what = Do::kWait, .object = kCondition};
      for (const Step& step : {enter, touch, leave, wait, enter, touch, leave}) Push(thread, step);
    }
    return true;
  }

  bool Transact(uint32_t thread) {
    for (uint32_t steps = random_.Between(1, 3); steps > 0; --steps) {
      const EventKind kind = Coin() ? EventKind::kTxWrite : EventKind::kTxRead;
      Push(thread, {.what = Do::kTxAccess, .kind = kind, .object = kAnyVariable, .flag = Coin()});
    }
    Push(thread, {.what = Do::kTxCommit, .flag = Coin()});
    return true;
  }

  bool IgnoreAccesses(uint32_t thread) {
    const bool writes = Coin();
    const uint32_t depth = random_.Chance(1, 4) ? 2 : 1;
    const Step begin = {.what = Do::kOpen,
                        .kind = writes ? EventKind::kIgnoreWritesBegin : EventKind::kIgnoreReadsBegin};
    const Step end = {.what = Do::kClose, .kind = writes ? EventKind::kIgnoreWritesEnd : EventKind::kIgnoreReadsEnd};
    for (uint32_t i = 0; i < depth; ++i) Push(thread, begin);
    for (uint32_t steps = random_.Between(1, 3); steps > 0; --steps) {
      Push(thread, {.what = Do::kTouchIgnored, .flag = writes});
    }
    if (Coin()) Push(thread, {.what = Do::kTouch});
    if (Has(kAtomics) && Coin()) OperateAtomically(thread);
    if (Has(kTransactions) && Coin()) Transact(thread);
    for (uint32_t i = 0; i < depth; ++i) Push(thread, end);
    return true;
  }

  bool Call(uint32_t thread) {
    const auto function = static_cast<uint8_t>(random_.Below(4));
    while (trace_.functions.size() <= function) {
      trace_.functions.push_back("f" + std::to_string(trace_.functions.size()));
    }
    Push(thread, {.what = Do::kOpen, .kind = EventKind::kFunctionEnter, .object = function});
    Touches(thread);
    EnterCriticalSection(thread);
    Push(thread, {.what = Do::kClose, .kind = EventKind::kFunctionExit, .object = function});
    return true;
  }

  bool ForkThread(uint32_t thread) {
    if (Created() == kMaxThreads || alive_ >= target_threads_) return false;
    const uint32_t child = StartThread();
    EmitOnObject(EventKind::kThreadFork, thread, child);
    HandOn(threads_[thread], threads_[child].rights);
    return true;
  }

  bool JoinThread(uint32_t thread) {
    if (open_barrier_ != kNobody) return false;
    const uint32_t child = random_.Below(Created());
    Thread& joined = threads_[child];
    if (child == 0 || child == thread || joined.joined || !joined.Idle()) return false;
    if (joined.alive) --alive_;
    joined.alive = false;
    joined.joined = true;
    EmitOnObject(EventKind::kThreadJoin, thread, child);
    Receive(threads_[thread], joined.rights);
    threads_[thread].past_threads |= joined.past_threads;
    return true;
  }

  bool EndThread(uint32_t thread) {
    if (thread == 0 || open_barrier_ != kNobody) return false;
    trace_.events.push_back(Event::OnThread(EventKind::kThreadEnd, Tid{thread}));
    threads_[thread].alive = false;
    --alive_;
    return true;
  }

  // One barrier at a time is being filled, and nobody ends meanwhile, so that it gets full.
  bool CanFill(uint32_t barrier) const {
    uint32_t present = 0;
    for (const Thread& thread : threads_) present += thread.alive && thread.barrier == kNobody;
    return present >= barriers_[barrier].parties - barriers_[barrier].arrived;
  }
  bool MeetAtBarrier(uint32_t thread) {
    const uint32_t barrier = open_barrier_ != kNobody ? open_barrier_ : random_.Below(barriers_used_);
    if (!CanFill(barrier)) return false;
    if (Coin()) Push(thread, {.what = Do::kTouch});
    Push(thread, {.what = Do::kArrive, .object = static_cast<uint8_t>(barrier)});
    Push(thread, {.what = Do::kLeave});
    Push(thread, {.what = Do::kTouch, .flag = true});
    return true;
  }

  bool Allocate(uint32_t thread) {
    const Set free = Unallocated();
    if (free == 0) return false;
    const uint32_t index = Pick(free);
    Variable& block = variables_[index];
    const uint64_t slot = block.addr - (block.addr - kHeapBase) % kHeapSlot;
    const uint32_t shift = random_.Chance(2, 3) ? 0 : random_.Between(1, 8);
    block.addr = slot + (Has(kMixedSizes) ? shift : shift & 8);
    block.size = Has(kMixedSizes) ? random_.Between(9, 32) : 8 * random_.Between(2, 4);
    if (random_.Chance(1, 5)) block.size = 8 * random_.Between(14, 20);
    block.live = true;
    trace_.ranges.push_back({"p" + std::to_string(allocations_++), Addr{block.addr}, block.size, trace_.events.size()});
    EmitOnAll(EventKind::kAlloc, thread, block);
    threads_[thread].rights.own |= Only(index);
    Push(thread, {.what = Do::kTouch});
    return true;
  }

  bool Free(uint32_t thread) {
    const Set live = heap_ & ~Unallocated();
    const Set blocks = Slip() ? live : live & threads_[thread].rights.own & ~Collected();
    if (blocks == 0) return false;
    const uint32_t index = Pick(blocks);
    EmitOnAll(EventKind::kFree, thread, variables_[index]);
    variables_[index].live = false;
    variables_[index].references = 0;
    Revoke(Only(index));
    return true;
  }

  // A heap block whose first bytes count references; who drops the last one owns it again.
  bool CountReferences(uint32_t thread) {
    Thread& self = threads_[thread];
    if (const Set counted = self.rights.refs; counted != 0) {
      const uint32_t index = Pick(counted);
      Variable& block = variables_[index];
      const auto operate = [&](MemoryOrder order) {
        Emit(EventKind::kAtomicRmw, thread, block.addr, kCounterSize, order);
      };
      if ((self.spare_refs & Only(index)) == 0 && Coin()) {
        operate(MemoryOrder::kRelaxed);
        self.spare_refs |= Only(index);
        ++block.references;
        Send(thread);
        return true;
      }
      self.rights.refs &= ~Only(index);
      const bool last = --block.references == 0;
      if (Has(kFences) && Coin()) {
        operate(MemoryOrder::kRelease);
        if (last) self.unfenced.own |= Only(index);
        if (last) Push(thread, {.what = Do::kFence, .order = OrderFrom(MemoryOrder::kAcquire)});
      } else {
        operate(Slip() ? MemoryOrder::kRelaxed : Coin() ? MemoryOrder::kAcqRel : MemoryOrder::kSeqCst);
        if (last) self.rights.own |= Only(index);
      }
      if (last) Push(thread, {.what = Do::kTouch, .flag = true});
      return true;
    }

    Set candidates = 0;
    for (Set rest = self.rights.own & heap_; rest != 0; rest &= rest - 1) {
      const auto index = static_cast<uint32_t>(std::countr_zero(rest));
      const bool fits = variables_[index].addr % kCounterSize == 0 && variables_[index].size > kCounterSize;
      if (fits) candidates |= Only(index);
    }
    if (candidates == 0) return false;
    const uint32_t index = Pick(candidates);
    Emit(Coin() ? EventKind::kAtomicStore : EventKind::kWrite, thread, variables_[index].addr, kCounterSize);
    variables_[index].references = 1;
    self.rights.own &= ~Only(index);
    self.rights.refs |= Only(index);
    return true;
  }

  bool Publish(uint32_t thread) {
    Set& own = threads_[thread].rights.own;
    if (own == 0) return false;
    const uint32_t index = Pick(own);
    Variable part = variables_[index];
    if (part.size > 1 && Slip()) --part.size;
    EmitOnAll(EventKind::kPublish, thread, part);
    own &= ~Only(index);
    shared_by_all_ |= Only(index);
    return true;
  }

  bool RenewMemory(uint32_t thread) {
    const Set set = (data_ | atomics_ | transactional_ | heap_) & ~Unallocated() & ~Collected();
    if (set == 0) return false;
    const uint32_t index = Pick(set);
    constexpr EventKind kKinds[] = {EventKind::kUnpublish, EventKind::kNewMemory, EventKind::kForget};
    EmitOnAll(kKinds[random_.Below(3)], thread, variables_[index]);
    if (!Slip()) Revoke(Only(index));
    variables_[index].references = 0;
    if (!Blunder()) variables_[index].carried = {};
    threads_[thread].rights.own |= Only(index);
    return true;
  }

  bool MarkBenign(uint32_t thread) {
    const Set set = (data_ | heap_) & ~Unallocated();
    if (set == 0 || Coin()) return false;
    const uint32_t index = Pick(set);
    Variable part = variables_[index];
    if (part.size > 1 && Slip()) --part.size;
    EmitOnAll(EventKind::kBenignRace, thread, part);
    benign_ |= Only(index);
    return true;
  }

  // Whatever the lock carried is lost, so it must guard nothing.
  bool RenewLock(uint32_t thread) {
    const uint32_t index = random_.Below(locks_used_);
    Lock& lock = locks_[index];
    if (lock.writer != kNobody || lock.readers != 0 || lock.destroyed) return false;
    if (lock.guards != 0 && !Slip()) return false;
    lock.destroyed = Coin();
    EmitOnObject(lock.destroyed ? EventKind::kLockDestroy : EventKind::kLockCreate, thread, index);
    if (!Blunder()) lock.carried = lock.carried_by_readers = {};
    return true;
  }

  bool Remark(uint32_t thread) {
    switch (random_.Below(3)) {
      case 0:
        EmitOnAll(EventKind::kExpectRace, thread, variables_[random_.Below(variables_used_)]);
        break;
      case 1:
        EmitOnObject(EventKind::kPureHbMutex, thread, random_.Below(locks_used_));
        break;
      default:
        EmitOnObject(EventKind::kThreadName, thread, static_cast<uint32_t>(trace_.texts.size()));
        trace_.texts.push_back("worker " + std::to_string(thread));
        break;
    }
    return true;
  }

  // ---- Playing

  void Schedule() {
    uint32_t thread = 0;
    int failures = 0;  // in a row; the bound is a mere precaution
    while (trace_.events.size() < target_events_ && failures < 200) {
      if (failures > 0 || !threads_[thread].alive || random_.Chance(3, 8)) {
        do thread = random_.Below(Created());
        while (!threads_[thread].alive);
      }
      failures = Advance(thread) ? 0 : failures + 1;
    }
  }

  // Plays until there is an event, or there cannot be one now.
  bool Advance(uint32_t thread) {
    Thread& self = threads_[thread];
    if (self.next == self.end) {
      const size_t before = trace_.events.size();
      if (!StartScript(thread)) return false;
      if (trace_.events.size() > before) return true;
    }
    while (self.next < self.end) {
      const Step step = self.script[self.next];
      const Progress progress = Play(thread, step);
      if (progress == Progress::kBlocked) return false;
      if (progress == Progress::kEventButNotDone) return true;
      ++self.next;
      if (step.skip != 0 && self.recent == 0) self.next = std::min(self.next + step.skip, self.end);
      if (progress == Progress::kEvent) return true;
    }
    return false;
  }

  // Commits what was collected, since a footprint without its commit is malformed; and in every other trace
  // closes all that is open.
  void CloseOpenEnds() {
    const bool all = Coin();
    for (uint32_t thread = 0; thread < Created(); ++thread) {
      Thread& self = threads_[thread];
      for (; self.next < self.end; ++self.next) {
        const Step& step = self.script[self.next];
        const bool closes_transaction = step.what == Do::kTxCommit && self.collecting;
        const bool closes = step.what == Do::kUnlock || step.what == Do::kClose;
        if (closes_transaction || (all && closes)) Play(thread, step);
      }
    }
  }

  Progress Play(uint32_t thread, const Step& step) {
    switch (step.what) {
      case Do::kTouch:
        return PlayTouch(thread, step);
      case Do::kTouchGuarded: {
        const Set guards = locks_[step.object].guards;
        if (guards == 0) return Progress::kNothing;
        const EventKind kind = step.flag && Coin() ? EventKind::kWrite : EventKind::kRead;
        EmitAccess(kind, thread, variables_[Pick(guards)], /*all=*/false);
        return Progress::kEvent;
      }
      case Do::kTouchIgnored:
        EmitAccess(step.flag ? EventKind::kWrite : EventKind::kRead, thread, variables_[Pick(All())],
                   /*all=*/false);
        return Progress::kEvent;
      case Do::kLock:
        return PlayLock(thread, step);
      case Do::kUnlock:
        return PlayUnlock(thread, step);
      case Do::kAtomic:
        return PlayAtomic(thread, step);
      case Do::kFence:
        trace_.events.push_back(Event::OnThread(EventKind::kFence, Tid{thread}, step.order));
        if (Acquires(step.order)) {
          Receive(threads_[thread], threads_[thread].unfenced);
          threads_[thread].unfenced = {};
        }
        return Progress::kEvent;
      case Do::kSignal: {
        // A mistake: to signal another object than the one that is waited for.
        const uint32_t signaled = Slip() ? random_.Below(signals_used_) : step.object;
        EmitOnObject(EventKind::kSignal, thread, SyncOfSignal(signaled));
        // Another: the earlier signals are lost, or this one is, to those who take order from locks.
        if (Slip()) trace_.events.back().flag = Coin() ? EventFlag::kReplaces : EventFlag::kNotify;
        ++signals_[signaled].signals;
        HandOn(threads_[thread], signals_[step.object].carried);
        return Progress::kEvent;
      }
      case Do::kWait: {
        SignalObject& signal = signals_[step.object];
        threads_[thread].recent = 0;
        if (signal.signals == 0) {
          if (signal.kind == SyncKind::kSemaphore || !random_.Chance(1, 8)) return Progress::kNothing;
        } else {
          if (signal.kind == SyncKind::kSemaphore) --signal.signals;
          Receive(threads_[thread], signal.carried);
        }
        EmitOnObject(EventKind::kWait, thread, SyncOfSignal(step.object));
        if (Slip()) trace_.events.back().flag = EventFlag::kNotify;
        return Progress::kEvent;
      }
      case Do::kArrive:
        return PlayArrive(thread, step);
      case Do::kLeave:
        return PlayLeave(thread);
      case Do::kTxAccess:
        return PlayTxAccess(thread, step);
      case Do::kTxCommit:
        return PlayTxCommit(thread, step);
      case Do::kOpen:
        ++threads_[thread].open;
        EmitOnObject(step.kind, thread, step.object);
        return Progress::kEvent;
      case Do::kClose:
        if (threads_[thread].open == 0) return Progress::kNothing;
        --threads_[thread].open;
        EmitOnObject(step.kind, thread, step.object);
        return Progress::kEvent;
    }
    return Progress::kNothing;
  }

  Progress PlayTouch(uint32_t thread, const Step& step) {
    const bool late = 3 * trace_.events.size() > 2 * target_events_;
    if (late && many_readers_ && shared_by_all_ != 0 && mistakes_ != 0 && random_.Chance(1, 16)) {
      EmitAccess(EventKind::kWrite, thread, variables_[Pick(shared_by_all_)], /*all=*/false);
      return Progress::kEvent;
    }
    const bool writes = random_.Chance(many_readers_ ? 1 : 2, 5);
    Set set = writes && !Slip() ? Writable(thread) : Readable(thread);
    if (const Set recent = set & threads_[thread].recent; recent != 0 && (step.flag || Coin())) set = recent;
    if (const Set common = set & shared_by_all_; many_readers_ && common != 0 && Coin()) set = common;
    if (Slip()) set = All();
    if (set == 0) return Progress::kNothing;
    EmitAccess(writes ? EventKind::kWrite : EventKind::kRead, thread, variables_[Pick(set)], /*all=*/false);
    return Progress::kEvent;
  }

  Progress PlayLock(uint32_t thread, const Step& step) {
    Thread& self = threads_[thread];
    Lock& lock = locks_[step.object];
    if (lock.destroyed) {
      lock.destroyed = false;
      EmitOnObject(EventKind::kLockCreate, thread, step.object);
      return Progress::kEventButNotDone;
    }
    if (self.held[step.object] == 0) {
      if (lock.writer != kNobody || (!step.flag && lock.readers > 0)) return Progress::kBlocked;
      self.mode[step.object] = step.flag ? LockMode::kShared : LockMode::kExclusive;
      if (step.flag) {
        ++lock.readers;
      } else {
        lock.writer = thread;
        Receive(self, lock.carried_by_readers);
      }
      Receive(self, lock.carried);
    }
    ++self.held[step.object];
    EmitOnObject(EventKind::kLock, thread, step.object, self.mode[step.object]);
    return Progress::kEvent;
  }

  Progress PlayUnlock(uint32_t thread, const Step& step) {
    Thread& self = threads_[thread];
    Lock& lock = locks_[step.object];
    if (self.held[step.object] == 0) return Progress::kNothing;
    const LockMode mode = self.mode[step.object];
    EmitOnObject(EventKind::kUnlock, thread, step.object, mode);
    if (--self.held[step.object] > 0) return Progress::kEvent;
    if (mode == LockMode::kShared) {
      --lock.readers;
    } else {
      lock.writer = kNobody;
    }
    if (random_.Chance(1, 3)) HandOn(self, mode == LockMode::kShared ? lock.carried_by_readers : lock.carried);
    return Progress::kEvent;
  }

  Progress PlayAtomic(uint32_t thread, const Step& step) {
    Thread& self = threads_[thread];
    Variable& variable = variables_[step.object];
    Rights& carried = variable.carried;
    self.recent = 0;
    if (Usable(thread, Only(step.object)) == 0) return Progress::kNothing;

    const uint32_t half = variable.size / 2;
    if (!step.flag && !step.takes && half > 0 && Has(kMixedSizes) && random_.Chance(1, 4)) {
      Emit(step.kind, thread, variable.addr + half, half, step.order);  // another object, in the same bytes
      return Progress::kEvent;
    }

    // A store that ends a release sequence which somebody waits for is a mistake.
    const bool awaited = (carried.own | carried.refs) != 0;
    const bool ends_awaited = step.kind == EventKind::kAtomicStore && awaited;
    const bool mistake = ends_awaited && Blunder();
    const EventKind kind = ends_awaited && !mistake ? EventKind::kAtomicRmw : step.kind;
    const bool by_half = half > 0 && Has(kMixedSizes) && random_.Chance(1, 8);
    Emit(kind, thread, variable.addr, by_half ? half : variable.size, step.order);

    if (kind != EventKind::kAtomicStore) {
      if (Acquires(step.order) || step.mistake) {
        Receive(self, carried);
      } else if (step.takes) {
        self.recent = carried.own | carried.refs | (carried.share & ~self.rights.share);
        self.unfenced.Take(carried);
      } else {
        self.unfenced.share |= carried.share;
      }
    } else if (!mistake) {
      carried.share = 0;
    }
    if (step.flag) HandOn(self, carried);
    return Progress::kEvent;
  }

  Progress PlayArrive(uint32_t thread, const Step& step) {
    const uint32_t index = open_barrier_ != kNobody ? open_barrier_ : step.object;
    if (!CanFill(index)) return Progress::kNothing;
    Barrier& barrier = barriers_[index];
    EmitOnBarrier(EventKind::kBarrierArrive, thread, index);
    threads_[thread].barrier = open_barrier_ = index;
    threads_[thread].phase_complete = false;
    HandOn(threads_[thread], barrier.carried);
    barrier.arrivals[barrier.arrived++] = static_cast<uint8_t>(thread);
    if (barrier.arrived < barrier.parties) return Progress::kEvent;

    // The phase is complete: what was brought is dealt out to those who were there.
    for (uint32_t arrival = 0; arrival < barrier.parties; ++arrival) {
      Thread& present = threads_[barrier.arrivals[arrival]];
      Rights part = barrier.carried;
      if (arrival + 1 < barrier.parties) part.own &= static_cast<Set>(random_.Next());
      barrier.carried.own &= ~part.own;
      barrier.carried.refs = 0;
      present.awaited = part;
      present.phase_complete = true;
    }
    barrier.carried = {};
    barrier.arrived = 0;
    open_barrier_ = kNobody;
    return Progress::kEvent;
  }

  Progress PlayLeave(uint32_t thread) {
    Thread& self = threads_[thread];
    if (self.barrier == kNobody) return Progress::kNothing;
    if (!self.phase_complete) return Progress::kBlocked;
    EmitOnBarrier(EventKind::kBarrierLeave, thread, self.barrier);
    self.barrier = kNobody;
    Receive(self, self.awaited);
    self.awaited = {};
    return Progress::kEvent;
  }

  void EmitOnBarrier(EventKind kind, uint32_t thread, uint32_t barrier) {
    EmitOnObject(kind, thread, SyncOfBarrier(barrier));
    trace_.events.back().size = barriers_[barrier].parties;
  }

  Progress PlayTxAccess(uint32_t thread, const Step& step) {
    Thread& self = threads_[thread];
    uint32_t index = step.object;
    if (index == kAnyVariable) {
      Set set = Usable(thread, transactional_);
      if (Coin()) set |= step.kind == EventKind::kTxWrite ? Writable(thread) : Readable(thread);
      if (Slip()) set = All();
      if (set == 0) return Progress::kNothing;
      index = Pick(set);
    } else if (Usable(thread, Only(index)) == 0) {
      return Progress::kNothing;
    }
    const bool all = EmitAccess(step.kind, thread, variables_[index], step.flag);
    self.collecting = true;
    self.footprint |= Only(index);
    if (all || Slip()) self.whole |= Only(index);
    return Progress::kEvent;
  }

  Progress PlayTxCommit(uint32_t thread, const Step& step) {
    Thread& self = threads_[thread];
    if (!self.collecting) return Progress::kNothing;
    trace_.events.push_back(Event::OnThread(EventKind::kTxCommit, Tid{thread}));
    Rights news;
    const Set shared = self.whole & transactional_;
    for (Set rest = shared; rest != 0; rest &= rest - 1) news.Take(variables_[std::countr_zero(rest)].carried);
    Receive(self, news);
    if (step.flag && shared != 0) HandOn(self, variables_[Pick(shared)].carried);
    self.collecting = false;
    self.footprint = self.whole = 0;
    return Progress::kEvent;
  }

  Random random_;
  const GeneratorOptions& options_;
  Trace trace_;

  uint32_t features_ = 0;
  uint32_t mistakes_ = 0;  // in 1/1024
  uint32_t target_events_ = 0;
  uint32_t target_threads_ = 0;
  bool many_readers_ = false;  // who read the same things

  std::vector<Thread> threads_;
  uint32_t alive_ = 0;

  std::array<Variable, kMaxVariables + kMaxHeapBlocks> variables_{};
  uint32_t variables_used_ = 0;
  uint32_t allocations_ = 0;
  Set data_ = 0;  // by kind
  Set atomics_ = 0;
  Set transactional_ = 0;
  Set heap_ = 0;
  Set shared_by_all_ = 0;  // as Rights::share of every thread
  Set benign_ = 0;         // everybody may do anything

  std::array<Lock, kMaxLocks> locks_{};
  uint32_t locks_used_ = 0;
  std::array<SignalObject, kMaxSignals> signals_{};
  uint32_t signals_used_ = 0;
  std::array<Barrier, kMaxBarriers> barriers_{};
  uint32_t barriers_used_ = 0;
  uint32_t open_barrier_ = kNobody;  // where some have arrived, but not all

  uint32_t weights_ = 0;  // of the idioms that can be drawn
};

}  // namespace

Trace Generate(uint64_t seed, const GeneratorOptions& options) { return Generator(seed, options).Run(); }

}  // namespace redflag
