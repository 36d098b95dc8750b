// SAT solver, single-threaded, after SATsolver in the RaceTrack paper (section 4.2): "most of its execution consists of
// accessing tiny arrays of about six elements".
//
// Conflict-driven clause learning on random 3-SAT with somewhat more clauses than can mostly be satisfied: watched
// literals, first unique implication points, a queue of variables that moves those in conflicts to the front, Luby
// restarts. Each clause is a tiny array on the heap. All that a detector does here is in vain.
//
// Synchronization: none, --threads changes nothing. The size is the number of formulas.
#include <algorithm>
#include <array>
#include <memory>

#include "workload.h"

namespace {

constexpr int kVariables = 100;
constexpr int kClauses = 440;
constexpr uint64_t kRestartUnit = 64;  // conflicts

// Variable v is 2v, its negation 2v + 1.
using Literal = uint32_t;
constexpr Literal Negated(Literal literal) { return literal ^ 1; }
constexpr uint32_t VariableOf(Literal literal) { return literal / 2; }

// The watched literals are the first two. In a clause that implies a literal, that one is the first.
using Clause = std::vector<Literal>;

enum class Value : int8_t { kFalse = -1, kUnknown = 0, kTrue = 1 };

// The variables in the order in which they are decided: those of recent conflicts first.
class DecisionQueue {
 public:
  explicit DecisionQueue(uint32_t variables) : links_(variables), stamps_(variables) {
    for (uint32_t v = 0; v < variables; ++v) PushFront(v);
  }

  void MoveToFront(uint32_t variable) {
    const Links links = links_[variable];
    (links.before == kNone ? front_ : links_[links.before].after) = links.after;
    if (links.after != kNone) links_[links.after].before = links.before;
    PushFront(variable);
  }

  uint32_t front() const { return front_; }
  uint32_t After(uint32_t variable) const { return links_[variable].after; }
  // Larger is nearer to the front.
  uint64_t Stamp(uint32_t variable) const { return stamps_[variable]; }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Links {
    uint32_t before, after;
  };

  void PushFront(uint32_t variable) {
    links_[variable] = {kNone, front_};
    if (front_ != kNone) links_[front_].before = variable;
    front_ = variable;
    stamps_[variable] = ++clock_;
  }

  uint32_t front_ = kNone;
  uint64_t clock_ = 0;
  std::vector<Links> links_;
  std::vector<uint64_t> stamps_;
};

// 1, 1, 2, 1, 1, 2, 4, ...: the i-th, from 1, of Luby's sequence.
uint64_t Luby(uint64_t i) {
  uint64_t power = 1;
  while (power * 2 - 1 < i) power *= 2;
  return power * 2 - 1 == i ? power : Luby(i - power + 1);
}

class Solver {
 public:
  explicit Solver(uint32_t variables)
      : values_(variables * 2, Value::kUnknown),
        watchers_(variables * 2),
        phases_(variables * 2),
        levels_(variables),
        reasons_(variables),
        marked_(variables),
        queue_(variables),
        next_decision_(queue_.front()) {}

  // Of at least two literals, before Solve().
  void AddClause(Clause clause) { Watch(std::make_unique<Clause>(std::move(clause))); }

  bool Solve() {
    uint64_t until_restart = kRestartUnit;
    for (uint64_t restarts = 1;;) {
      if (Clause* const conflict = Propagate(); conflict != nullptr) {
        ++conflicts_;
        if (level() == 0) return false;
        Learn(conflict);
        if (--until_restart == 0) {
          Backtrack(0);
          until_restart = kRestartUnit * Luby(++restarts);
        }
      } else if (trail_.size() == levels_.size()) {
        return true;
      } else {
        Decide();
      }
    }
  }

  uint64_t conflicts() const { return conflicts_; }
  bool IsTrue(Literal literal) const { return values_[literal] == Value::kTrue; }

 private:
  size_t level() const { return level_starts_.size(); }

  Clause* Watch(std::unique_ptr<Clause> clause) {
    for (int i = 0; i < 2; ++i) watchers_[(*clause)[i]].push_back(clause.get());
    clauses_.push_back(std::move(clause));
    return clauses_.back().get();
  }

  void Assign(Literal literal, Clause* reason) {
    values_[literal] = Value::kTrue;
    values_[Negated(literal)] = Value::kFalse;
    levels_[VariableOf(literal)] = level();
    reasons_[VariableOf(literal)] = reason;
    trail_.push_back(literal);
  }

  void Decide() {
    while (values_[2 * next_decision_] != Value::kUnknown) next_decision_ = queue_.After(next_decision_);
    level_starts_.push_back(trail_.size());
    Assign(2 * next_decision_ + phases_[next_decision_], nullptr);
  }

  // Assigns what follows from the trail. Returns a clause that is all false, or null.
  Clause* Propagate() {
    while (propagated_ < trail_.size()) {
      const Literal falsified = Negated(trail_[propagated_++]);
      std::vector<Clause*>& watchers = watchers_[falsified];
      size_t kept = 0;
      for (size_t i = 0; i < watchers.size(); ++i) {
        Clause* const clause = watchers[i];
        if (MoveWatch(clause, falsified)) continue;
        watchers[kept++] = clause;
        const Literal other = (*clause)[0];
        if (values_[other] == Value::kUnknown) Assign(other, clause);
        if (values_[other] == Value::kTrue) continue;
        watchers.erase(watchers.begin() + static_cast<ptrdiff_t>(kept),
                       watchers.begin() + static_cast<ptrdiff_t>(i + 1));
        return clause;
      }
      watchers.resize(kept);
    }
    return nullptr;
  }

  // Finds another literal to watch than the falsified one, which is brought to the second place for that.
  bool MoveWatch(Clause* clause, Literal falsified) {
    Clause& literals = *clause;
    if (literals[0] == falsified) std::swap(literals[0], literals[1]);
    if (values_[literals[0]] == Value::kTrue) return false;
    for (size_t i = 2; i < literals.size(); ++i) {
      if (values_[literals[i]] == Value::kFalse) continue;
      std::swap(literals[1], literals[i]);
      watchers_[literals[1]].push_back(clause);
      return true;
    }
    return false;
  }

  // Resolves the conflict with the reasons of its literals, until one literal of the current level is left; goes back
  // to where that one follows, and assigns it.
  void Learn(const Clause* conflict) {
    auto learnt = std::make_unique<Clause>(1);
    size_t open = 0, position = trail_.size();
    const Clause* reason = conflict;
    do {
      for (const Literal literal : *reason) {
        const uint32_t variable = VariableOf(literal);
        if (marked_[variable] || levels_[variable] == 0) continue;
        marked_[variable] = true;
        bumped_.push_back(variable);
        if (levels_[variable] == level())
          ++open;
        else
          learnt->push_back(literal);
      }
      do --position;
      while (!marked_[VariableOf(trail_[position])]);
      reason = reasons_[VariableOf(trail_[position])];
    } while (--open > 0);
    (*learnt)[0] = Negated(trail_[position]);
    Bump();

    const auto deepest = std::max_element(learnt->begin() + 1, learnt->end(), [this](Literal a, Literal b) {
      return levels_[VariableOf(a)] < levels_[VariableOf(b)];
    });
    if (deepest == learnt->end()) {
      Backtrack(0);
      Assign((*learnt)[0], nullptr);
    } else {
      std::iter_swap(learnt->begin() + 1, deepest);
      Backtrack(levels_[VariableOf((*learnt)[1])]);
      Clause* const clause = Watch(std::move(learnt));
      Assign(clause->front(), clause);
    }
  }

  // Brings the variables of the conflict to the front, in the order in which they were there.
  void Bump() {
    std::sort(bumped_.begin(), bumped_.end(), [this](auto a, auto b) { return queue_.Stamp(a) < queue_.Stamp(b); });
    for (const uint32_t variable : bumped_) {
      queue_.MoveToFront(variable);
      marked_[variable] = false;
    }
    bumped_.clear();
    next_decision_ = queue_.front();
  }

  void Backtrack(size_t to) {
    if (level() <= to) return;
    for (size_t i = level_starts_[to]; i < trail_.size(); ++i) {
      const Literal literal = trail_[i];
      values_[literal] = values_[Negated(literal)] = Value::kUnknown;
      phases_[VariableOf(literal)] = literal & 1;
    }
    trail_.resize(level_starts_[to]);
    level_starts_.resize(to);
    propagated_ = trail_.size();
    next_decision_ = queue_.front();
  }

  std::vector<std::unique_ptr<Clause>> clauses_;
  std::vector<Value> values_;                   // of each literal
  std::vector<std::vector<Clause*>> watchers_;  // of each literal: the clauses to look at when it becomes false
  std::vector<uint8_t> phases_;                 // of each variable: its last value, 1 for false
  std::vector<size_t> levels_;                  // of each variable: how many decisions there were when it was assigned
  std::vector<Clause*> reasons_;                // of each variable: what implied it; null for decisions
  std::vector<uint8_t> marked_;                 // of each variable: part of the conflict
  std::vector<uint32_t> bumped_;                // those
  std::vector<Literal> trail_;                  // all true literals, as they came
  std::vector<size_t> level_starts_;            // where in the trail each decision is
  size_t propagated_ = 0;                       // how much of the trail
  DecisionQueue queue_;
  uint32_t next_decision_;  // all variables before it in the queue are assigned
  uint64_t conflicts_ = 0;
};

std::vector<Clause> RandomFormula(uint64_t seed) {
  workload::Random random(seed);
  std::vector<Clause> clauses;
  while (clauses.size() < kClauses) {
    std::array<uint32_t, 3> v;
    for (uint32_t& variable : v) variable = static_cast<uint32_t>(random.Below(kVariables));
    if (v[0] == v[1] || v[0] == v[2] || v[1] == v[2]) continue;
    Clause clause;
    for (const uint32_t variable : v) clause.push_back(2 * variable + static_cast<Literal>(random.Below(2)));
    clauses.push_back(std::move(clause));
  }
  return clauses;
}

bool IsSatisfied(const Clause& clause, const Solver& solver) {
  return std::any_of(clause.begin(), clause.end(), [&](Literal literal) { return solver.IsTrue(literal); });
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 1, .size = 300});
  workload::Checksum checksum;
  for (uint64_t seed = 0; seed < options.size; ++seed) {
    const std::vector<Clause> formula = RandomFormula(seed);
    Solver solver(kVariables);
    for (const Clause& clause : formula) solver.AddClause(clause);
    const bool satisfiable = solver.Solve();
    for (const Clause& clause : formula)
      if (satisfiable && !IsSatisfied(clause, solver)) std::abort();
    checksum.Add(uint64_t{satisfiable});
    checksum.Add(solver.conflicts());
  }
  return workload::Finish("sat", checksum.Value());
}
