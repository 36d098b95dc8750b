// LockOrder: in which order threads take locks, and whether they could wait for one another in a circle (Goodlock; RaceTrack section 5
// names it as the useful extension). A deadlock need not happen to be found: it is enough that each of its threads was seen, at some time,
// to take one lock while it held another.
//
//   node          a lock that was held when another was taken, or taken while another was held
//   edge a -> b   somebody took b while he held a
//   witness       who that was, what else he held, where he took either lock
//
// A cycle of witnesses w1 ... wn, where each holds what the one before it wants, is a deadlock that can happen if
//   - its threads differ: one thread does not wait for itself;
//   - no two of them held a lock in common (a gate), other than both for reading;
//   - none wants for reading what the next one holds for reading;
//   - no two are ordered by the creation or the end of threads.
// Attempts that may fail want nothing, but what they took is held.
//
// Most programs have no cycle at all, and that is found out quickly: nodes are kept in a line that goes along with the edges (an order
// that is topological, kept up to date as edges come: Marchetti-Spaccamela, Nanni and Rohnert 1996). An edge that goes along the line costs
// nothing more. One that goes against it either moves nodes or closes a cycle; then it stays against the line, and only while there is
// such an edge is there anything to search.
//
// Locks are named by ids that are never used again. Everything is under one lock, which is nobody else's business: whoever calls has found
// out before that he has something new to tell.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/vector.h"
#include "events/event.h"

namespace redflag::rt {

// A lock as a thread holds it, or wants it.
struct OrderedLock {
  SyncId name{};
  LockMode mode{};
  ContextId taken_at = kNoContext;
  uint64_t address = 0;
};

// A point in the life of a thread: it has created and joined so many others. That is all the order that is asked for.
struct ThreadStep {
  Tid thread{};
  uint32_t step = 0;
};

// One thread of a deadlock: holds what the one before it wants.
struct Waiter {
  ThreadStep when;
  OrderedLock held, wanted;
};

class LockOrder {
 public:
  struct Rules {
    // Report whatever is a cycle, even if one thread alone went round it or all of it is readers; but for gates.
    bool by_order_alone = false;
    // Does the creation or the end of threads put one of these before the other? Null: nothing does.
    bool (*are_ordered)(ThreadStep a, ThreadStep b) = nullptr;
  };
  using Cycle = Vector<Waiter, AtomicMem>;

  explicit LockOrder(Arena<AtomicMem>& arena)
      : arena_(arena), nodes_(arena), edges_(arena), told_(arena), pending_(arena), path_(arena), turns_(arena) {}
  ~LockOrder();
  LockOrder(const LockOrder&) = delete;
  LockOrder& operator=(const LockOrder&) = delete;

  // A thread that holds `count` locks, at least one, is about to take another. "yes": that completes a cycle which was not told before, and
  // which is in `cycle` now, the new one last.
  bool Add(ThreadStep when, const OrderedLock& wanted, const OrderedLock* held, uint32_t count, const Rules& rules,
           Cycle& cycle);

  // The lock is gone, and so is whatever was about it.
  void Remove(SyncId lock);

  // Searches that were given up, because there were too many ways to go.
  uint64_t given_up() const { return given_up_; }
  size_t node_count() const { return nodes_.size(); }

 private:
  static constexpr uint32_t kMaxWitnesses = 64;   // of an edge: the first, and the latest
  static constexpr uint64_t kMaxWork = 1u << 18;  // comparisons of one search

  // What all the edges of one call have in common.
  struct Acquisition {
    ThreadStep when;
    OrderedLock wanted;
    uint64_t key;  // the same locks in the same modes
    uint64_t
        members;  // a bit for each lock that is held, by its name: two sets without a common bit have nothing in common
    uint32_t users;  // witnesses
    uint32_t count;
    OrderedLock held[];
  };
  struct Witness {
    Acquisition* acquisition;
    uint32_t held;  // which of them
    Witness* next;
  };
  struct Node;
  struct Edge {
    Node *from, *to;
    Edge *next_out, *previous_out;  // of `from`
    Edge *next_in, *previous_in;    // of `to`
    Witness* witnesses;
    uint32_t witness_count;
    bool is_against;  // the line: there is a cycle
  };
  struct Node {
    SyncId name;
    uint64_t place;  // in the line
    Node *next, *previous;
    Edge *out, *in;
    uint64_t mark;      // of the search that has been here last
    uint32_t distance;  // in that one: edges from here to what the new one holds
  };

  // Where a search can go on: behind this witness of this edge.
  struct Turn {
    const Edge* edge;
    const Witness* witness;
  };

  static uint64_t KeyOf(SyncId from, SyncId to) { return uint64_t{Raw(from)} << 32 | Raw(to); }
  static uint64_t BitOf(SyncId lock) { return uint64_t{1} << (HashKey(Raw(lock)) & 63); }

  // ---- The graph (lock_order.cc) ----
  Node* NodeOf(SyncId name);
  Edge* EdgeOf(Node* from, Node* to);
  void Align(Edge* edge);
  bool Reaches(Node* from, const Node* to);
  void PlaceBehind(Node* node, Node* before);
  void TakeOut(Node* node);
  void SpreadOut();
  bool AddWitness(Edge* edge, Acquisition* acquisition, uint32_t held);
  void RemoveEdge(Edge* edge);
  void Leave(Acquisition* acquisition);
  static size_t SizeOf(uint32_t count) { return sizeof(Acquisition) + count * sizeof(OrderedLock); }

  // ---- Cycles (lock_cycles.cc) ----
  bool FindCycle(Acquisition* latest, const Rules& rules, Cycle& cycle);
  bool MeasureDistances(const Acquisition& latest);
  bool Walk(Node* begin, size_t length, Acquisition* latest, const Rules& rules, Cycle& cycle);
  bool Fits(const Witness& witness, const Acquisition& latest, const Rules& rules);
  bool Closes(Acquisition* latest, const Rules& rules, Cycle& cycle);
  bool CanBeAtOnce(const Acquisition& a, const Acquisition& b, const Rules& rules);
  bool IsNews();
  static bool Blocks(const Acquisition& waits, const OrderedLock& held, const Rules& rules) {
    return rules.by_order_alone || waits.wanted.mode == LockMode::kExclusive || held.mode == LockMode::kExclusive;
  }
  static const OrderedLock& HeldBy(const Witness& witness) { return witness.acquisition->held[witness.held]; }

  Arena<AtomicMem>& arena_;
  AtomicMem::Lock lock_;
  HashMap<Node*, AtomicMem> nodes_;  // by name
  HashMap<Edge*, AtomicMem> edges_;  // by both names
  HashMap<bool, AtomicMem> told_;    // cycles, by their edges and by their places
  Vector<Node*, AtomicMem> pending_;
  Vector<Witness, AtomicMem> path_;
  Vector<Turn, AtomicMem> turns_;
  Node *first_ = nullptr, *last_ = nullptr;  // the line
  uint32_t against_ = 0;                     // edges
  uint64_t search_ = 0;
  uint64_t work_ = 0;
  uint64_t given_up_ = 0;
};

}  // namespace redflag::rt
