// The part of LockOrder that looks for cycles, the shortest first.
#include "runtime/lock_order.h"

namespace redflag::rt {

bool LockOrder::FindCycle(Acquisition* latest, const Rules& rules, Cycle& cycle) {
  if (!MeasureDistances(*latest)) return false;
  Node* begin = *nodes_.Find(Raw(latest->wanted.name));
  work_ = 0;
  if (begin->distance == 0) return false;
  for (size_t length = begin->distance; length < nodes_.size() && work_ < kMaxWork; ++length) {
    if (Walk(begin, length, latest, rules, cycle)) return true;
  }
  if (work_ >= kMaxWork) ++given_up_;
  return false;
}

// From every node to the nearest of those that are held. "no": there is no way from what is wanted to any.
bool LockOrder::MeasureDistances(const Acquisition& latest) {
  ++search_;
  pending_.Clear();
  for (uint32_t i = 0; i < latest.count; ++i) {
    Node* node = *nodes_.Find(Raw(latest.held[i].name));
    node->mark = search_;
    node->distance = 0;
    pending_.Push(node);
  }
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Node* node = pending_[i];
    for (const Edge* edge = node->in; edge != nullptr; edge = edge->next_in) {
      if (edge->from->mark == search_) continue;
      edge->from->mark = search_;
      edge->from->distance = node->distance + 1;
      pending_.Push(edge->from);
    }
  }
  return (*nodes_.Find(Raw(latest.wanted.name)))->mark == search_;
}

// Could both be at this point at the same time?
bool LockOrder::CanBeAtOnce(const Acquisition& a, const Acquisition& b, const Rules& rules) {
  ++work_;
  if (a.when.thread == b.when.thread) {
    if (!rules.by_order_alone) return false;
  } else if (rules.are_ordered != nullptr && rules.are_ordered(a.when, b.when)) {
    return false;
  }
  if ((a.members & b.members) == 0) return true;
  work_ += uint64_t{a.count} * b.count;
  for (uint32_t i = 0; i < a.count; ++i) {
    for (uint32_t j = 0; j < b.count; ++j) {
      if (a.held[i].name != b.held[j].name) continue;
      if (a.held[i].mode == LockMode::kExclusive || b.held[j].mode == LockMode::kExclusive) return false;
    }
  }
  return true;
}

// Does this one continue the path: wait for nobody that is on it, but for the first, and let the one before wait?
bool LockOrder::Fits(const Witness& witness, const Acquisition& latest, const Rules& rules) {
  const Acquisition& before = path_.empty() ? latest : *path_.back().acquisition;
  if (!Blocks(before, HeldBy(witness), rules) || !CanBeAtOnce(latest, *witness.acquisition, rules)) return false;
  for (const Witness& link : path_) {
    if (HeldBy(link).name == HeldBy(witness).name) return false;
    if (!CanBeAtOnce(*link.acquisition, *witness.acquisition, rules)) return false;
  }
  return true;
}

// All ways of `length` edges from `begin` to something that the new one holds.
bool LockOrder::Walk(Node* begin, size_t length, Acquisition* latest, const Rules& rules, Cycle& cycle) {
  path_.Clear();
  turns_.Clear();
  turns_.Push({.edge = begin->out, .witness = nullptr});
  while (!turns_.empty()) {
    Turn& turn = turns_.back();
    const size_t rest = length - turns_.size();  // edges, behind this one
    if (turn.edge == nullptr) {
      turns_.Remove(turns_.size() - 1);
      if (!turns_.empty()) path_.Remove(path_.size() - 1);
      continue;
    }
    const bool leads_there = turn.edge->to->mark == search_ && turn.edge->to->distance <= rest;
    turn.witness = !leads_there ? nullptr : turn.witness == nullptr ? turn.edge->witnesses : turn.witness->next;
    if (turn.witness == nullptr) {
      turn.edge = turn.edge->next_out;
      continue;
    }
    if (work_ >= kMaxWork) return false;
    if (!Fits(*turn.witness, *latest, rules)) continue;
    path_.Push(*turn.witness);
    if (rest != 0) {
      turns_.Push({.edge = turn.edge->to->out, .witness = nullptr});
      continue;
    }
    if (Closes(latest, rules, cycle)) return true;
    path_.Remove(path_.size() - 1);
  }
  return false;
}

// The last of the path wants something that the new one holds.
bool LockOrder::Closes(Acquisition* latest, const Rules& rules, Cycle& cycle) {
  const Acquisition& last = *path_.back().acquisition;
  for (uint32_t i = 0; i < latest->count; ++i) {
    if (latest->held[i].name != last.wanted.name || !Blocks(last, latest->held[i], rules)) continue;
    path_.Push(Witness{.acquisition = latest, .held = i, .next = nullptr});
    if (IsNews()) {
      cycle.Clear();
      for (const Witness& link : path_) {
        cycle.Push(Waiter{.when = link.acquisition->when, .held = HeldBy(link), .wanted = link.acquisition->wanted});
      }
      return true;
    }
    path_.Remove(path_.size() - 1);
  }
  return false;
}

// Neither these locks in this order nor these places were told before, wherever one begins to count.
bool LockOrder::IsNews() {
  uint64_t locks = 0;
  uint64_t places = 1;
  for (const Witness& link : path_) {
    const OrderedLock& held = HeldBy(link);
    const OrderedLock& wanted = link.acquisition->wanted;
    locks += HashKey(KeyOf(held.name, wanted.name));
    places += HashKey(HashKey(Raw(held.taken_at)) + Raw(wanted.taken_at));
  }
  if (told_.Find(locks) != nullptr || told_.Find(places) != nullptr) return false;
  told_.Insert(locks) = true;
  told_.Insert(places) = true;
  return true;
}

}  // namespace redflag::rt
