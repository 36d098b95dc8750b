// RaceTrack (Yu, Rodeheffer, Chen 2005), transcribed: Figure 2 and the text of 2.4.1, 2.4.2, 3.5 (arrays) and 3.6, with a
// map for each vector clock and threadset and a set for each lockset. Slow and obvious; tests only. Shares nothing with
// src/detectors/racetrack*.h.
//
// Where the paper is silent, and what the detector does too:
// - An access counts once for each aligned word of 8 bytes that it touches; a field is a byte.
// - A state whose lockset is found empty when it is entered is left in the same step.
// - Exclusive2 has C_x = L_t of its access, as Figure 2 has it for |S_x| = 1.
// - The access that refines an object does not count for its fields.
// - Order beyond fork and join: signals, barriers, publications, atomics and fences, commits, annotated locks; as in hb.
// - Atomic accesses are not looked at (3.4). The accesses of a transaction hold one more lock, TL.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/differential/reference_walk.h"
#include "trace/trace.h"

namespace redflag {

class RaceTrackReference : private ReferenceWalk {
 public:
  using Report = std::pair<uint64_t, uint64_t>;  // event, byte

  struct Options {
    bool threadset = true;
    bool adaptive_threadset = true;
    bool object_first = true;
    uint64_t array_sample = 0;
    bool report_object_level = false;
  };

  RaceTrackReference(const Trace& trace, const Options& options) : ReferenceWalk(trace), options_(options) {}

  std::set<Report> Run() {
    for (const Tid thread : trace_.initial_threads) clocks_[Raw(thread)] = Clock{{Raw(thread), 1}};
    for (const NamedRange& range : trace_.ranges) {
      if (range.first_event == 0) Declare(Raw(range.addr), Raw(range.addr) + range.size);
    }
    Walk();
    return reports_;
  }

 private:
  // 2.1: vector clocks and threadsets, both maps from threads to clock values.
  using Clock = std::map<uint32_t, uint64_t>;
  static uint64_t At(const Clock& v, uint32_t u) { return v.contains(u) ? v.at(u) : 0; }
  static Clock Merge(Clock v, const Clock& w) {
    for (const auto& [u, k] : w) v[u] = std::max(At(v, u), k);
    return v;
  }
  static Clock Remove(const Clock& v, const Clock& w) {
    Clock result;
    for (const auto& [u, k] : v) {
      if (k > At(w, u)) result[u] = k;
    }
    return result;
  }
  static Locks Intersect(const Locks& a, const Locks& b) {
    Locks both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
    return both;
  }

  // ---- Variables ----

  enum class State { kVirgin, kE0, kE1, kSR, kSM1, kE2, kSM2, kReportRace };

  struct Variable {
    State state = State::kVirgin;
    uint32_t thread = 0;     // kE0
    std::optional<Locks> c;  // nothing: the set of all locks
    Clock s;
    uint32_t reporter = 0;  // kReportRace
    int reports = 0;
  };

  struct Object {
    Variable whole;
    bool refined = false;
    std::map<uint64_t, Variable> fields;  // by byte
  };

  // One access to x; true: Report-Race is reached by it.
  bool Access(Variable& x, const WordAccess& a) {
    if (!options_.threadset) return LocksetOnly(x, a);
    return options_.adaptive_threadset ? Adaptive(x, a) : Basic(x, a);
  }

  // Figure 2, t:Rd(x) or t:Wr(x).
  bool Basic(Variable& x, const WordAccess& a) {
    const uint32_t t = a.thread;
    x.s = Merge(Remove(x.s, clocks_[t]), Clock{{t, clocks_[t][t]}});
    if (x.s.size() > 1) {
      x.c = x.c ? Intersect(*x.c, a.locks) : a.locks;
    } else {
      x.c = a.locks;
    }
    return x.s.size() > 1 && x.c->empty();
  }

  // 2.4.1.
  bool Adaptive(Variable& x, const WordAccess& a) {
    const uint32_t t = a.thread;
    const Clock own{{t, clocks_[t][t]}};
    switch (x.state) {
      case State::kVirgin:  // "On the first access we enter Exclusive0."
        x.state = State::kE0;
        x.thread = t;
        return false;
      case State::kE0:  // "When an access occurs from a different thread, we enter Exclusive1."
        if (x.thread == t) return false;
        x.state = State::kE1;
        x.s = own;
        return false;
      case State::kE1: {  // "We remain in this state as long as each successive access maintains |S_x| = 1"
        const Clock next = Merge(Remove(x.s, clocks_[t]), own);
        if (next.size() == 1) {
          x.s = next;
          return false;
        }
        x.s.clear();  // "we discard the threadset and enter Shared-Read or Shared-Modify1"
        x.c = a.locks;
        x.state = a.writes ? State::kSM1 : State::kSR;
        if (a.writes) CheckSharedModify1(x, a, own);
        return false;
      }
      case State::kSR:  // "In this state, we track only the lockset C_x"
        x.c = Intersect(*x.c, a.locks);
        if (a.writes) {
          x.state = State::kSM1;
          CheckSharedModify1(x, a, own);
        }
        return false;
      case State::kSM1:
        x.c = Intersect(*x.c, a.locks);
        CheckSharedModify1(x, a, own);
        return false;
      case State::kE2:
      case State::kSM2: {  // Figure 2 from here on
        const bool report = Basic(x, a);
        x.state = x.s.size() == 1 ? State::kE2 : State::kSM2;
        return report;
      }
      case State::kReportRace:
        break;
    }
    return false;
  }

  // "until the lockset would report a race": then Exclusive2, "initialized to contain only the thread and virtual clock of
  // the access causing the transition"
  static void CheckSharedModify1(Variable& x, const WordAccess& a, const Clock& own) {
    if (!x.c->empty()) return;
    x.state = State::kE2;
    x.s = own;
    x.c = a.locks;
  }

  // Table 2, "lockset": Eraser's states.
  static bool LocksetOnly(Variable& x, const WordAccess& a) {
    switch (x.state) {
      case State::kVirgin:
        x.state = State::kE0;
        x.thread = a.thread;
        return false;
      case State::kE0:
        if (x.thread == a.thread) return false;
        x.c = a.locks;
        x.state = a.writes ? State::kSM1 : State::kSR;
        break;
      default:
        x.c = Intersect(*x.c, a.locks);
        if (a.writes) x.state = State::kSM1;
        break;
    }
    return x.state == State::kSM1 && x.c->empty();
  }

  // ---- Objects and fields: 2.4.2 ----

  void OnTouch(const WordAccess& access) override {
    std::map<Object*, WordAccess> parts;
    for (const uint64_t byte : access.bytes) {
      auto [it, is_new] = parts.try_emplace(ObjectOf(byte), access);
      if (is_new) it->second.bytes.clear();
      it->second.bytes.push_back(byte);
    }
    for (const auto& [object, part] : parts) Touch(*object, part);
  }

  void Touch(Object& object, const WordAccess& a) {
    if (options_.object_first && !object.refined) {
      object.refined = Access(object.whole, a);
      if (!object.refined || !options_.report_object_level) return;
      for (const uint64_t byte : a.bytes) reports_.insert({a.event, byte});
      return;
    }
    if (!IsTracked(object, a.bytes.front())) return;
    for (const uint64_t byte : a.bytes) {
      Variable& x = object.fields[byte];
      if (x.state != State::kReportRace) {
        if (!Access(x, a)) continue;
        x.state = State::kReportRace;
      } else if (x.reporter == a.thread || x.reports == 3) {
        continue;  // 3.6: "If the variable is accessed again by a different thread"; 1.2: "a second or third thread"
      }
      x.reporter = a.thread;
      ++x.reports;
      reports_.insert({a.event, byte});
    }
  }

  // 3.5: the first, the middle and the last m elements; an element is an aligned word of 8 bytes.
  bool IsTracked(const Object& object, uint64_t byte) const {
    const uint64_t m = options_.array_sample;
    if (m == 0) return true;
    std::vector<uint64_t> words;
    for (const auto& [where, owner] : owners_) {
      if (owner.get() == &object && (words.empty() || words.back() != where / 8)) words.push_back(where / 8);
    }
    if (words.size() <= 3 * m) return true;
    std::set<uint64_t> tracked;
    for (uint64_t i = 0; i < m; ++i) {
      tracked.insert(words[i]);
      tracked.insert(words[(words.size() - m) / 2 + i]);
      tracked.insert(words[words.size() - m + i]);
    }
    return tracked.contains(byte / 8);
  }

  // ---- Which object a byte belongs to ----

  void Declare(uint64_t begin, uint64_t end) {
    for (uint64_t byte = begin; byte < end; ++byte) {
      if (owners_.contains(byte)) return;
    }
    NewObject(begin, end);
  }
  void NewObject(uint64_t begin, uint64_t end) {
    const auto object = std::make_shared<Object>();
    for (uint64_t byte = begin; byte < end; ++byte) owners_[byte] = object;
  }
  // Memory that was never declared or allocated: what lies between objects in one word is an object.
  Object* ObjectOf(uint64_t byte) {
    if (!owners_.contains(byte)) {
      uint64_t begin = byte;
      uint64_t end = byte + 1;
      while (begin % 8 != 0 && !owners_.contains(begin - 1)) --begin;
      while (end % 8 != 0 && !owners_.contains(end)) ++end;
      NewObject(begin, end);
    }
    return owners_[byte].get();
  }
  // The range is one object now. What is left of an older one below it stays that object; what is left above begins anew.
  void OnNewLife(uint64_t begin, uint64_t end) override {
    std::set<Object*> old;
    for (uint64_t byte = begin; byte < end; ++byte) {
      if (owners_.contains(byte)) old.insert(owners_[byte].get());
    }
    uint64_t rest = end;
    while (owners_.contains(rest) && old.contains(owners_[rest].get())) ++rest;
    if (rest != end) NewObject(end, rest);
    NewObject(begin, end);
    for (uint64_t byte = begin; byte < end; ++byte) {
      published_.erase(byte);
      committed_.erase(byte);
      carried_.erase(byte);
    }
  }

  // The bytes are nobody's; the same of what is left.
  void OnForget(uint64_t begin, uint64_t end) override {
    OnNewLife(begin, end);
    for (uint64_t byte = begin; byte < end; ++byte) owners_.erase(byte);
  }

  // ---- Order ----

  void Learn(uint32_t t, const Clock& what) { clocks_[t] = Merge(clocks_[t], what); }
  void Inc(uint32_t t) { ++clocks_[t][t]; }

  void LearnPublished(const Event& range, bool writes) {
    if (IsIgnored(Raw(range.thread), writes)) return;
    for (uint64_t byte = Raw(range.addr); byte < Raw(range.addr) + range.size; ++byte) {
      if (published_.contains(byte)) Learn(Raw(range.thread), published_[byte]);
    }
  }

  void OnLearn(const Event& event) override {
    const uint32_t t = Raw(event.thread);
    const uint64_t address = Raw(event.addr);
    switch (event.kind) {
      case EventKind::kRead:
        return LearnPublished(event, false);
      case EventKind::kWrite:
      case EventKind::kFree:
      case EventKind::kAtomicStore:
        return LearnPublished(event, true);
      case EventKind::kAtomicLoad:
      case EventKind::kAtomicRmw:
        LearnPublished(event, event.kind == EventKind::kAtomicRmw);
        if (Acquires(event.order)) {
          Learn(t, carried_[address]);
        } else {
          seen_[t] = Merge(seen_[t], carried_[address]);
        }
        return;
      case EventKind::kFence:
        if (Acquires(event.order)) Learn(t, seen_[t]);
        return;
      case EventKind::kWait:
        return Learn(t, signalled_[event.object]);
      case EventKind::kBarrierLeave:
        return Learn(t, phases_[{event.object, arrived_in_[t]}]);
      case EventKind::kThreadJoin:
        return Learn(t, clocks_[event.object]);
      case EventKind::kLock:
        if (!annotated_.contains(event.object) || !IsOutermost(event)) return;
        Learn(t, unlocked_[event.object]);
        if (event.mode == LockMode::kExclusive) Learn(t, read_unlocked_[event.object]);
        return;
      case EventKind::kTxCommit:
        for (const Event& part : Footprint(t)) LearnPublished(part, part.kind == EventKind::kTxWrite);
        for (const Event& part : Footprint(t)) {
          for (uint64_t byte = Raw(part.addr); byte < Raw(part.addr) + part.size; ++byte) {
            if (committed_.contains(byte)) Learn(t, committed_[byte]);
          }
        }
        return;
      default:
        return;
    }
  }

  void OnHandOn(const Event& event) override {
    const uint32_t t = Raw(event.thread);
    const uint64_t address = Raw(event.addr);
    const auto hand_to = [&](Clock& where) {
      where = Merge(where, clocks_[t]);
      Inc(t);
    };
    switch (event.kind) {
      case EventKind::kThreadFork:
        clocks_[event.object] = Merge(Clock{{event.object, 1}}, clocks_[t]);
        Inc(t);
        return;
      case EventKind::kSignal:
        if (event.flag == EventFlag::kReplaces) signalled_[event.object].clear();
        return hand_to(signalled_[event.object]);
      case EventKind::kBarrierArrive:
        arrived_in_[t] = arrivals_[event.object]++ / event.size;
        return hand_to(phases_[{event.object, arrived_in_[t]}]);
      case EventKind::kAtomicStore:  // replaces what the variable carried
        carried_[address] = Releases(event.order) ? clocks_[t] : fenced_[t];
        if (Releases(event.order)) Inc(t);
        return;
      case EventKind::kAtomicRmw:  // adds to it
        carried_[address] = Merge(carried_[address], Releases(event.order) ? clocks_[t] : fenced_[t]);
        if (Releases(event.order)) Inc(t);
        return;
      case EventKind::kFence:
        if (!Releases(event.order)) return;
        fenced_[t] = clocks_[t];
        Inc(t);
        return;
      case EventKind::kUnlock:
        if (!annotated_.contains(event.object) || !IsOutermost(event)) return;
        return hand_to((event.mode == LockMode::kExclusive ? unlocked_ : read_unlocked_)[event.object]);
      case EventKind::kTxCommit:
        for (const Event& part : Footprint(t)) {
          for (uint64_t byte = Raw(part.addr); byte < Raw(part.addr) + part.size; ++byte) {
            committed_[byte] = Merge(committed_[byte], clocks_[t]);
          }
        }
        Inc(t);
        return;
      case EventKind::kPublish:
        for (uint64_t byte = address; byte < address + event.size; ++byte) {
          published_[byte] = Merge(published_[byte], clocks_[t]);
        }
        Inc(t);
        return;
      case EventKind::kPureHbMutex:
        annotated_.insert(event.object);
        return;
      case EventKind::kLockCreate:
      case EventKind::kLockDestroy:
        annotated_.erase(event.object);
        unlocked_.erase(event.object);
        read_unlocked_.erase(event.object);
        return;
      default:
        return;
    }
  }

  const Options options_;
  std::map<uint64_t, std::shared_ptr<Object>> owners_;  // by byte
  std::set<Report> reports_;

  std::map<uint32_t, Clock> clocks_;     // B_t
  std::map<uint32_t, Clock> fenced_;     // B_t at the latest release fence of t
  std::map<uint32_t, Clock> seen_;       // what relaxed loads of t have seen
  std::map<uint64_t, Clock> carried_;    // by address of an atomic
  std::map<uint64_t, Clock> published_;  // by byte
  std::map<uint64_t, Clock> committed_;  // by byte
  std::map<uint32_t, Clock> signalled_;
  std::map<uint32_t, Clock> unlocked_;
  std::map<uint32_t, Clock> read_unlocked_;
  std::set<uint32_t> annotated_;
  std::map<uint32_t, uint64_t> arrivals_;
  std::map<uint32_t, uint64_t> arrived_in_;
  std::map<std::pair<uint32_t, uint64_t>, Clock> phases_;
};

}  // namespace redflag
