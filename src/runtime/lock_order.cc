#include "runtime/lock_order.h"

namespace redflag::rt {

LockOrder::~LockOrder() {
  while (first_ != nullptr) Remove(first_->name);
}

bool LockOrder::Add(ThreadStep when, const OrderedLock& wanted, const OrderedLock* held, uint32_t count,
                    const Rules& rules, Cycle& cycle) {
  ScopedLock guard(lock_);
  auto* acquisition = static_cast<Acquisition*>(arena_.Allocate(SizeOf(count)));
  acquisition->when = when;
  acquisition->wanted = wanted;
  acquisition->key = Raw(wanted.mode);
  acquisition->members = 0;
  acquisition->users = 1;  // this function
  acquisition->count = count;
  for (uint32_t i = 0; i < count; ++i) {
    acquisition->held[i] = held[i];
    acquisition->key += HashKey(uint64_t{Raw(held[i].name)} << 8 | Raw(held[i].mode));
    acquisition->members |= BitOf(held[i].name);
  }
  // Those that are at the end of the line first: the newcomer gets its place behind them.
  Node* to = nullptr;
  if (nodes_.Find(Raw(wanted.name)) == nullptr) {
    Node* latest = nullptr;
    for (uint32_t i = 0; i < count; ++i) {
      Node* node = NodeOf(held[i].name);
      if (latest == nullptr || node->place > latest->place) latest = node;
    }
    to = NodeOf(wanted.name);
    TakeOut(to);
    PlaceBehind(to, latest);
  } else {
    to = NodeOf(wanted.name);
  }
  bool is_new = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (held[i].name == wanted.name) continue;
    is_new |= AddWitness(EdgeOf(NodeOf(held[i].name), to), acquisition, i);
  }
  const bool is_found = is_new && against_ != 0 && FindCycle(acquisition, rules, cycle);
  Leave(acquisition);
  return is_found;
}

void LockOrder::Remove(SyncId lock) {
  ScopedLock guard(lock_);
  Node** found = nodes_.Find(Raw(lock));
  if (found == nullptr) return;
  Node* node = *found;
  while (node->out != nullptr) RemoveEdge(node->out);
  while (node->in != nullptr) RemoveEdge(node->in);
  TakeOut(node);
  nodes_.Erase(Raw(lock));
  arena_.Free(node, sizeof(Node));
}

// At the beginning of the line, if it is new: that is before whatever it comes before.
LockOrder::Node* LockOrder::NodeOf(SyncId name) {
  Node*& node = nodes_.Insert(Raw(name));
  if (node == nullptr) {
    node = ::new (arena_.Allocate(sizeof(Node))) Node{};
    node->name = name;
    PlaceBehind(node, nullptr);
  }
  return node;
}

LockOrder::Edge* LockOrder::EdgeOf(Node* from, Node* to) {
  Edge*& known = edges_.Insert(KeyOf(from->name, to->name));
  if (known != nullptr) return known;
  Edge* edge = known = ::new (arena_.Allocate(sizeof(Edge))) Edge{};
  edge->from = from;
  edge->to = to;
  edge->next_out = from->out;
  if (from->out != nullptr) from->out->previous_out = edge;
  from->out = edge;
  edge->next_in = to->in;
  if (to->in != nullptr) to->in->previous_in = edge;
  to->in = edge;
  Align(edge);
  return edge;
}

void LockOrder::RemoveEdge(Edge* edge) {
  (edge->previous_out == nullptr ? edge->from->out : edge->previous_out->next_out) = edge->next_out;
  if (edge->next_out != nullptr) edge->next_out->previous_out = edge->previous_out;
  (edge->previous_in == nullptr ? edge->to->in : edge->previous_in->next_in) = edge->next_in;
  if (edge->next_in != nullptr) edge->next_in->previous_in = edge->previous_in;
  while (edge->witnesses != nullptr) {
    Witness* witness = edge->witnesses;
    edge->witnesses = witness->next;
    Leave(witness->acquisition);
    arena_.Free(witness, sizeof(Witness));
  }
  if (edge->is_against) --against_;
  edges_.Erase(KeyOf(edge->from->name, edge->to->name));
  arena_.Free(edge, sizeof(Edge));
}

// ---- Witnesses ----

void LockOrder::Leave(Acquisition* acquisition) {
  if (--acquisition->users == 0) arena_.Free(acquisition, SizeOf(acquisition->count));
}

// Of one thread and the same locks, the first and the latest are kept: whoever comes next is ordered with the latest if he is with any, and
// those that are there already have met the first. "no": it says nothing new.
bool LockOrder::AddWitness(Edge* edge, Acquisition* acquisition, uint32_t held) {
  Witness* latest_alike = nullptr;
  uint32_t alike = 0;
  for (Witness* witness = edge->witnesses; witness != nullptr; witness = witness->next) {
    const Acquisition& known = *witness->acquisition;
    if (known.key != acquisition->key || known.when.thread != acquisition->when.thread) continue;
    if (known.when.step == acquisition->when.step) return false;
    if (latest_alike == nullptr) latest_alike = witness;  // newcomers are in front
    ++alike;
  }
  Witness* witness = alike >= 2 ? latest_alike : nullptr;
  if (witness == nullptr && edge->witness_count >= kMaxWitnesses) {
    witness = edge->witnesses;
    for (uint64_t skipped = HashKey(search_++) % (kMaxWitnesses / 2); skipped > 0; --skipped) witness = witness->next;
  }
  if (witness != nullptr) {
    Leave(witness->acquisition);
  } else {
    witness = static_cast<Witness*>(arena_.Allocate(sizeof(Witness)));
    witness->next = edge->witnesses;
    edge->witnesses = witness;
    ++edge->witness_count;
  }
  ++acquisition->users;
  witness->acquisition = acquisition;
  witness->held = held;
  return true;
}

// ---- The line ----

// Behind `before`, or first of all. Places are numbers far apart; where there is no more room between two, all are spread out again.
void LockOrder::PlaceBehind(Node* node, Node* before) {
  Node* after = before == nullptr ? first_ : before->next;
  const auto low = [&] { return before == nullptr ? 0 : before->place; };
  const auto high = [&] { return after == nullptr ? UINT64_MAX : after->place; };
  if (high() - low() < 2) SpreadOut();
  node->place = low() + (high() - low()) / 2;
  node->previous = before;
  node->next = after;
  (before == nullptr ? first_ : before->next) = node;
  (after == nullptr ? last_ : after->previous) = node;
}

void LockOrder::TakeOut(Node* node) {
  (node->previous == nullptr ? first_ : node->previous->next) = node->next;
  (node->next == nullptr ? last_ : node->next->previous) = node->previous;
}

void LockOrder::SpreadOut() {
  const uint64_t distance = UINT64_MAX / (nodes_.size() + 2);
  uint64_t place = 0;
  for (Node* node = first_; node != nullptr; node = node->next) node->place = place += distance;
}

// Is there a way along the line? Marks all that is on ways from `from` and not behind `to`.
bool LockOrder::Reaches(Node* from, const Node* to) {
  ++search_;
  pending_.Clear();
  pending_.Push(from);
  from->mark = search_;
  while (!pending_.empty()) {
    const Node* node = pending_.back();
    pending_.Remove(pending_.size() - 1);
    if (node == to) return true;
    for (const Edge* edge = node->out; edge != nullptr; edge = edge->next_out) {
      if (edge->is_against || edge->to->mark == search_ || edge->to->place > to->place) continue;
      edge->to->mark = search_;
      pending_.Push(edge->to);
    }
  }
  return false;
}

// Makes the line go along with a new edge, if that can be: what its end leads to goes behind its beginning.
void LockOrder::Align(Edge* edge) {
  if (edge->from->place < edge->to->place) return;
  if (Reaches(edge->to, edge->from)) {
    edge->is_against = true;
    ++against_;
    return;
  }
  Node* behind = edge->from;
  for (Node* node = edge->to; node != edge->from;) {
    Node* next = node->next;
    if (node->mark == search_) {
      TakeOut(node);
      PlaceBehind(node, behind);
      behind = node;
    }
    node = next;
  }
}

}  // namespace redflag::rt
