#include "report/patterns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "report/own_code.h"
#include "report/statement.h"

namespace redflag {
namespace {

// ---- What there is to recognise ----

constexpr Pattern kFreeInUse{"free while in use", Harm::kHarmful, "memory is given back while another thread uses it",
                             "let the last user free it: join the thread, or share ownership with std::shared_ptr"};
constexpr Pattern kUseAfterFree{"use after free", Harm::kHarmful, "memory is used that has been given back",
                                "free it after its last use, or forget the pointer when it is freed"};
constexpr Pattern kClosedInUse{"descriptor closed while in use", Harm::kHarmful,
                               "its number may be that of another file before the other thread has used it",
                               "close it when its users have ended: join them, or let the last one close it"};
constexpr Pattern kReferenceCount{"reference count", Harm::kHarmful,
                                  "a lost update of a reference count leaks the object or frees it too early",
                                  "count with std::atomic, and decrement with memory_order_acq_rel"};
constexpr Pattern kVptrInDestructor{
    "vptr in destructor", Harm::kHarmful, "a virtual call during destruction reaches the wrong function",
    "let nobody call the object once its destructor may run: synchronize before `delete`"};
constexpr Pattern kVptrInConstructor{"vptr in constructor", Harm::kHarmful,
                                     "another thread sees the object before its constructor is done",
                                     "publish `this` after construction, with release and acquire or under a lock"};
constexpr Pattern kStackEscapes{
    "stack object escaping", Harm::kHarmful,
    "another thread uses a local variable of a function that may have returned",
    "join the thread before the variable goes out of scope, or give it a copy or a shared_ptr"};
constexpr Pattern kStackShared{
    "stack object shared", Harm::kUnclear, "a local variable is used by another thread",
    "protect it with a mutex or make it std::atomic; join the thread before it goes out of scope"};
constexpr Pattern kDestruction{"destruction while in use", Harm::kHarmful,
                               "an object is destroyed while another thread uses it",
                               "wait for the other users before the object is destroyed"};
constexpr Pattern kContainer{"container mutated", Harm::kHarmful,
                             "a container that changes while it is used is in no valid state",
                             "hold one mutex around every use of the container"};
constexpr Pattern kSmartPointer{"smart pointer replaced", Harm::kHarmful,
                                "one smart pointer object is not safe for several threads, only its count is",
                                "give each thread its own copy, or use std::atomic<std::shared_ptr<T>>"};
constexpr Pattern kWriteUnderReadLock{"write under read lock", Harm::kHarmful,
                                      "a lock that is held for reading does not exclude other readers",
                                      "take the lock for writing around the write"};
constexpr Pattern kBitFields{
    "bit-field neighbours", Harm::kHarmful, "to write a bit-field is to write its neighbours: an update may be lost",
    "separate the fields with `unsigned : 0`, give each its own byte, or hold one mutex for both"};
constexpr Pattern kDoubleChecked{
    "double-checked locking", Harm::kHarmful, "the first check may see the flag before what it stands for",
    "use a static local variable, std::call_once, or an atomic flag with acquire and release"};
constexpr Pattern kWeakLock{
    "weak lock", Harm::kHarmful,
    "both sides hold one lock of the program's own making, whose atomic operations order nothing",
    "take the lock with memory_order_acquire and give it back with memory_order_release"};
constexpr Pattern kDifferentLocks{"different locks", Harm::kHarmful, "two different locks do not exclude each other",
                                  "agree on one lock for this variable"};
constexpr Pattern kForgottenLock{"forgotten lock", Harm::kHarmful, "the other side holds a lock, the write does not",
                                 "hold the same lock here"};
constexpr Pattern kUnlockedRead{"unlocked read", Harm::kUnclear,
                                "writes are locked and the read is not: it may see an old or half-written state",
                                "hold the lock for the read too, or make the variable std::atomic"};
constexpr Pattern kFlagUpdates{"flag updates overwrite each other", Harm::kHarmful,
                               "both sides read, change and write back the same word: the bits of one are lost",
                               "use std::atomic with fetch_or and fetch_and, or a mutex"};
constexpr Pattern kSafeFlag{"safe flag update", Harm::kBenign, "one side reads other bits than the other changes",
                            "make the word std::atomic (relaxed) to say so"};
constexpr Pattern kLazy{"lazy initialisation", Harm::kHarmful,
                        "two threads may both initialise, and one result is lost",
                        "use a static local variable or std::call_once"};
constexpr Pattern kPublication{"publication without barrier", Harm::kHarmful,
                               "the pointer may be seen before what it points to",
                               "store it with memory_order_release and load it with memory_order_acquire"};
constexpr Pattern kNotification{"notification flag", Harm::kHarmful,
                                "the compiler may read a plain flag once, and nothing orders the data behind it",
                                "make the flag std::atomic<bool>, or use a condition variable"};
constexpr Pattern kStatistics{"statistics counter", Harm::kBenign,
                              "a counter that only grows: updates may be lost, and nothing else depends on it",
                              "make it std::atomic and add with memory_order_relaxed"};
constexpr Pattern kLostUpdate{"lost update", Harm::kHarmful, "both sides compute the new value from the old one",
                              "hold a mutex from the read to the write, or use compare_exchange"};
constexpr Pattern kSpecial{"special variable", Harm::kBenign, "races on this variable are expected",
                           "none is needed if the program can bear an old value"};
constexpr Pattern kCheckThenAct{"check then act", Harm::kHarmful,
                                "what was checked may have changed before it is acted upon",
                                "hold one mutex around the check and the action"};
constexpr Pattern kMixed{"atomic and plain access", Harm::kUnclear, "one side is atomic, the other is not",
                         "make every access to the variable atomic"};
constexpr Pattern kUnsynchronized{"unsynchronized access", Harm::kUnclear, "neither side holds a lock",
                                  "protect the variable with a mutex, or make it std::atomic"};

constexpr std::array kPatterns = {
    &kFreeInUse,    &kUseAfterFree,  &kClosedInUse,  &kReferenceCount, &kVptrInDestructor, &kVptrInConstructor,
    &kStackEscapes, &kStackShared,   &kDestruction,  &kContainer,      &kSmartPointer,     &kWriteUnderReadLock,
    &kBitFields,    &kDoubleChecked, &kWeakLock,     &kDifferentLocks, &kForgottenLock,    &kUnlockedRead,
    &kFlagUpdates,  &kSafeFlag,      &kLazy,         &kPublication,    &kNotification,     &kStatistics,
    &kLostUpdate,   &kSpecial,       &kCheckThenAct, &kMixed,          &kUnsynchronized};

// Variables of the C library that programs change and read at will (DataCollider's "special variables").
constexpr std::array<std::string_view, 9> kSpecialVariables = {
    "environ", "__environ", "stdin", "stdout", "stderr", "program_invocation_name", "timezone", "daylight", "tzname"};

constexpr std::array<std::string_view, 16> kContainers = {
    "vector",   "deque",    "list",       "_List",         "forward_list",  "map",   "set",   "multimap",
    "multiset", "_Rb_tree", "_Hashtable", "unordered_map", "unordered_set", "queue", "stack", "basic_string"};
constexpr std::array<std::string_view, 5> kSmartPointers = {"shared_ptr", "__shared_ptr", "__shared_count", "weak_ptr",
                                                            "unique_ptr"};
constexpr std::array<std::string_view, 6> kCountWords = {"ref", "owner", "use_count", "usecount", "users", "pins"};
constexpr std::array<std::string_view, 13> kStatisticsWords = {
    "stat", "count", "hit", "miss", "total", "perf", "calls", "bytes", "num", "packets", "events", "ops", "rcvd"};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

template <class Words>
bool HasWord(std::string_view name, const Words& words) {
  const std::string lower = Lower(name);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// ---- One side of a race ----

struct Side {
  const AccessSite& site;
  const Frame* frame;  // the innermost of the user's own; null: no stack
  std::string function;
  const std::vector<std::string>* lines = nullptr;  // of its file; null: cannot be had
  Statement statement{};

  Side(const AccessSite& access, SourceText& source) : site(access), frame(InnermostOwn(access.stack)) {
    if (frame == nullptr) return;
    function = PlainName(frame->function);
    const std::vector<std::string>& text = source.Lines(frame->file, frame->module);
    if (text.empty()) return;
    lines = &text;
    statement = Statement::At(text, frame->line);
  }

  bool writes() const { return IsWrite(site.kind); }
  bool frees() const { return site.origin == AccessOrigin::kFree; }
  bool holds_none() const { return site.locks_known && site.locks.empty(); }

  // Of whatever class, at whatever depth.
  bool IsInDestructor() const {
    return std::any_of(site.stack.begin(), site.stack.end(), [](const Frame& each) {
      return each.function.find('~') != std::string::npos && LastPart(PlainName(each.function)).starts_with('~');
    });
  }

  // Is the innermost code that of a class of the standard library whose name is one of these?
  template <class Names>
  bool IsInLibrary(const Names& names) const {
    for (const Frame& each : site.stack) {
      if (IsOwnCode(each)) return false;
      std::string name = PlainName(each.function);
      for (std::string_view rest = name; !rest.empty();) {
        const size_t colon = std::min(rest.find("::"), rest.size());
        if (std::find(names.begin(), names.end(), rest.substr(0, colon)) != names.end()) return true;
        rest.remove_prefix(std::min(colon + 2, rest.size()));
      }
    }
    return false;
  }

  // The write of this statement that is about `name`; null: none.
  const Statement::Write* WriteOf(std::string_view name) const {
    for (const Statement::Write& write : statement.writes()) {
      if (write.path.back() == name || (write.path.front() == name && write.path.size() > 1)) return &write;
    }
    return nullptr;
  }
};

// ---- Both ----

class Recogniser {
 public:
  Recogniser(const RaceReport& report, SourceText& source)
      : report_(report), a_(report.access, source), b_(report.earlier.front(), source) {
    name_ = NameOfVariable();
  }

  const Pattern* Find() const {
    for (const auto step :
         {&Recogniser::Lifetime, &Recogniser::Library, &Recogniser::Locks, &Recogniser::Source, &Recogniser::Rest}) {
      if (const Pattern* found = (this->*step)()) return found;
    }
    return nullptr;
  }

 private:
  // The racy name as both statements have it; the written one first.
  std::string NameOfVariable() const {
    std::string known = NameInStatements(report_.variable);
    for (const auto& [one, other] : {std::pair(&a_, &b_), std::pair(&b_, &a_)}) {
      for (const Statement::Write& write : one->statement.writes()) {
        const std::string& name = write.path.back();
        if (!write.declares && other->statement.Mentions(name)) return name;
      }
    }
    if (!known.empty()) return known;
    for (const Side* side : {&a_, &b_}) {
      for (const Statement::Write& write : side->statement.writes()) {
        if (!write.declares && side->writes()) return write.path.back();
      }
    }
    return {};
  }

  template <class Holds>
  bool Either(Holds holds) const {
    return holds(a_, b_) || holds(b_, a_);
  }

  const Pattern* Lifetime() const {
    if (a_.site.descriptor) return &kClosedInUse;
    if (IsUseAfterFree(report_)) return &kUseAfterFree;
    if (a_.frees() || b_.frees()) {
      const bool counted = Either([&](const Side& frees, const Side& other) {
        return frees.frees() && !other.frees() && IsAtomic(other.site.kind) && other.writes();
      });
      return counted || HasWord(name_, kCountWords) ? &kReferenceCount : &kFreeInUse;
    }
    if (a_.site.vptr || b_.site.vptr) {
      if (a_.IsInDestructor() || b_.IsInDestructor()) return &kVptrInDestructor;
      return &kVptrInConstructor;
    }
    const bool on_stack = report_.block && report_.block->place == RacyBlock::Place::kStack;
    if (a_.IsInDestructor() || b_.IsInDestructor()) return on_stack ? &kStackEscapes : &kDestruction;
    if (on_stack && Either([&](const Side& side, const Side&) { return IsReused(side); })) return &kStackEscapes;
    const std::string variable = PlainName(report_.variable);
    if (std::find(kSpecialVariables.begin(), kSpecialVariables.end(), variable) != kSpecialVariables.end()) {
      return &kSpecial;
    }
    return nullptr;
  }

  // The owner of the stack is in a function that the other thread was not started from: the place serves somebody else by now.
  bool IsReused(const Side& owner) const {
    const RacyBlock& block = *report_.block;
    if (owner.site.thread != block.thread) return false;
    const AccessSite& other = &owner == &a_ ? b_.site : a_.site;
    for (const ThreadInfo& thread : report_.threads) {
      if (thread.name != other.thread || thread.creator != block.thread || thread.created_at.empty()) continue;
      const Frame* starter = InnermostOwn(thread.created_at);
      const std::string name = PlainName(starter->function);
      return std::none_of(owner.site.stack.begin(), owner.site.stack.end(),
                          [&](const Frame& frame) { return PlainName(frame.function) == name; });
    }
    return false;
  }

  const Pattern* Library() const {
    if (a_.IsInLibrary(kSmartPointers) || b_.IsInLibrary(kSmartPointers)) return &kSmartPointer;
    if (a_.IsInLibrary(kContainers) || b_.IsInLibrary(kContainers)) return &kContainer;
    return nullptr;
  }

  const Pattern* Locks() const {
    const auto under_read_lock = [](const Side& writer, const Side& other) {
      return writer.writes() && std::any_of(writer.site.locks.begin(), writer.site.locks.end(), [&](const auto& lock) {
               return lock.mode == LockMode::kShared &&
                      std::any_of(other.site.locks.begin(), other.site.locks.end(),
                                  [&](const auto& same) { return same.name == lock.name; });
             });
    };
    if (Either(under_read_lock)) return &kWriteUnderReadLock;
    if (Either([&](const Side& one, const Side& other) { return AreBitFields(one, other); })) return BitFields();
    if (HoldsExcluding(a_.site, b_.site)) return &kWeakLock;
    if (!a_.site.locks_known || !b_.site.locks_known || a_.holds_none() == b_.holds_none()) {
      return a_.site.locks.empty() || b_.site.locks.empty() ? nullptr : &kDifferentLocks;
    }
    const Side& bare = a_.holds_none() ? a_ : b_;
    const Side& locked = a_.holds_none() ? b_ : a_;
    if (!bare.writes() && bare.statement.Checks(name_) && IsCheckedAgain(bare, locked)) return &kDoubleChecked;
    constexpr uint64_t kWord = 8;
    return bare.writes() || report_.size > kWord ? &kForgottenLock : &kUnlockedRead;
  }

  // The lock was taken, or the write done, in the function that checked without it.
  static bool IsCheckedAgain(const Side& bare, const Side& locked) {
    if (locked.function == bare.function) return true;
    return std::any_of(locked.site.locks.begin(), locked.site.locks.end(), [&](const HeldLockInfo& lock) {
      const Frame* taker = InnermostOwn(lock.taken_at);
      return taker != nullptr && PlainName(taker->function) == bare.function;
    });
  }

  // Two members of one object, by different names, and yet the same bytes.
  bool AreBitFields(const Side& writer, const Side& other) const {
    if (writer.site.bit_field && other.site.bit_field) return true;
    for (const Statement::Write& write : writer.statement.writes()) {
      if (write.path.size() < 2 || other.statement.Mentions(write.path.back())) continue;
      const Statement::Path object(write.path.begin(), write.path.end() - 1);
      for (const Statement::Path& path : other.statement.paths()) {
        if (path.size() != write.path.size() || !std::equal(object.begin(), object.end(), path.begin())) continue;
        if (writer.lines == other.lines && HasDeclaration(*writer.lines, write.path.back()) &&
            !DeclaresBitField(*writer.lines, write.path.back())) {
          continue;
        }
        return true;
      }
    }
    return false;
  }

  // Something of that name followed by `;` or `=`, with a type before it.
  static bool HasDeclaration(const std::vector<std::string>& lines, const std::string& name) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      const size_t at = line.find(" " + name);
      return at != std::string::npos && at != line.find_first_not_of(' ') - 1 &&
             line.find_first_of(";={", at + 1) == at + 1 + name.size();
    });
  }

  // A read of one while another is written loses nothing (DataCollider's safe flag updates); two writes do.
  const Pattern* BitFields() const { return a_.writes() && b_.writes() ? &kBitFields : BitFieldsRead(); }
  const Pattern* BitFieldsRead() const {
    const bool reads_only =
        Either([&](const Side& reader, const Side&) { return !reader.writes() && reader.statement.writes().empty(); });
    return reads_only ? &kSafeFlag : &kBitFields;
  }

  bool BothMention() const { return !name_.empty() && a_.statement.Mentions(name_) && b_.statement.Mentions(name_); }
  static bool IsOneOf(const Statement::Write* write, std::initializer_list<std::string_view> signs) {
    return write != nullptr && std::find(signs.begin(), signs.end(), write->sign) != signs.end();
  }
  bool IsDecreased() const {
    return (a_.lines != nullptr && Decreases(*a_.lines, name_)) || (b_.lines != nullptr && Decreases(*b_.lines, name_));
  }

  // From the source lines of both sides.
  const Pattern* Source() const {
    if (!BothMention()) return nullptr;
    const Statement::Write* a = a_.WriteOf(name_);
    const Statement::Write* b = b_.WriteOf(name_);
    const auto is_step = [](const Statement::Write* write) { return IsOneOf(write, {"++", "--", "+=", "-="}); };
    if (is_step(a) && is_step(b) && (HasWord(name_, kCountWords) || IsDecreased())) return &kReferenceCount;

    const auto is_flag = [](const Statement::Write* write) { return IsOneOf(write, {"|=", "&=", "^="}); };
    if (is_flag(a) && is_flag(b)) return &kFlagUpdates;
    if (Either([&](const Side& writer, const Side& reader) { return IsOtherBit(writer, reader); })) return &kSafeFlag;

    if (Either([&](const Side& one, const Side& other) { return IsLazy(one, other); })) return &kLazy;
    if (Either([&](const Side& writer, const Side& reader) { return IsPublication(writer, reader); }))
      return &kPublication;
    if (Either([&](const Side& writer, const Side& reader) {
          return IsOneOf(writer.WriteOf(name_), {"="}) && reader.statement.LoopsOn(name_);
        })) {
      return &kNotification;
    }
    const auto grows = [](const Statement::Write* write) { return IsOneOf(write, {"++", "+="}); };
    if (grows(a) && grows(b)) return &kStatistics;
    if ((grows(a) && b == nullptr) || (grows(b) && a == nullptr)) {
      if (HasWord(name_, kStatisticsWords) && !IsDecreased()) return &kStatistics;
    }
    if (IsRecomputed(a) && IsRecomputed(b)) return &kLostUpdate;
    if (Either([&](const Side& writer, const Side& reader) {
          return IsOneOf(writer.WriteOf(name_), {"="}) && !reader.writes() && reader.statement.Checks(name_);
        })) {
      return &kCheckThenAct;
    }
    return nullptr;
  }

  bool IsOtherBit(const Side& writer, const Side& reader) const {
    const Statement::Write* write = writer.WriteOf(name_);
    const std::string mask = reader.statement.MaskOf(name_);
    if (reader.writes() || reader.WriteOf(name_) != nullptr || mask.empty() || !IsOneOf(write, {"|=", "&="}))
      return false;
    std::string changed = write->value;
    for (const char sign : {'~', '(', ')', ' '})
      changed.erase(std::remove(changed.begin(), changed.end(), sign), changed.end());
    return changed != mask;
  }

  // One side checks what the other, or another thread in the same function, sets there.
  bool IsLazy(const Side& writer, const Side& other) const {
    const Statement::Write* write = writer.WriteOf(name_);
    if (!IsOneOf(write, {"="}) || writer.function != other.function) return false;
    if (other.statement.Checks(name_)) return true;
    return other.WriteOf(name_) != nullptr && writer.lines != nullptr &&
           IsCheckedBefore(*writer.lines, writer.frame->line);
  }
  bool IsCheckedBefore(const std::vector<std::string>& lines, uint32_t line) const {
    constexpr uint32_t kNear = 4;
    for (uint32_t back = 0; back < kNear && line > back; ++back) {
      if (Statement::At(lines, line - back).Checks(name_)) return true;
    }
    return false;
  }

  bool IsPublication(const Side& writer, const Side& reader) const {
    const Statement::Write* write = writer.WriteOf(name_);
    if (!IsOneOf(write, {"="}) || write->dereferences || reader.WriteOf(name_) != nullptr) return false;
    const std::string value = " " + write->value + " ";
    const bool makes = value.find(" new ") != std::string::npos || value.find("make_") != std::string::npos ||
                       value.starts_with(" & ");
    return makes && (reader.statement.LoopsOn(name_) || reader.statement.Checks(name_) ||
                     reader.statement.Dereferences(name_) || writer.function != reader.function);
  }

  // x = f(x, ...), and x *= 2.
  bool IsRecomputed(const Statement::Write* write) const {
    if (write == nullptr) return false;
    if (write->sign != "=") return true;
    return Statement::Of(write->value).Mentions(name_);
  }

  const Pattern* Rest() const {
    if (report_.block && report_.block->place == RacyBlock::Place::kStack) return &kStackShared;
    if (IsAtomic(a_.site.kind) != IsAtomic(b_.site.kind)) return &kMixed;
    return a_.holds_none() && b_.holds_none() ? &kUnsynchronized : nullptr;
  }

  const RaceReport& report_;
  Side a_;
  Side b_;
  std::string name_;
};

}  // namespace

const Pattern* FindPattern(const RaceReport& report, SourceText& source) {
  if (report.earlier.empty()) return nullptr;
  return Recogniser(report, source).Find();
}

const Pattern* PatternByName(std::string_view name) {
  const auto found =
      std::find_if(kPatterns.begin(), kPatterns.end(), [&](const Pattern* each) { return each->name == name; });
  return found == kPatterns.end() ? nullptr : *found;
}

}  // namespace redflag
