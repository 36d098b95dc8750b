// Tables that threads look things up in without a lock, under every schedule of two and three threads: call stacks (runtime/context_tree.h), the races
// that were told (runtime/told_races.h), synchronization objects (runtime/sync_table.h).
//
//   tables [PREEMPTIONS]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "detectors/hb.h"
#include "explorer.h"
#include "runtime/context_tree.h"
#include "runtime/shadow.h"
#include "runtime/sync_table.h"
#include "runtime/told_races.h"

namespace redflag::rt {
namespace {

constexpr interleave::Shared kAllAtomics = {.begin = 0, .end = ~uint64_t{0}, .only_atomics = true};

template <class T>
interleave::Shared RangeOf(const T* first, uint64_t bytes = sizeof(T)) {
  const auto begin = reinterpret_cast<uint64_t>(first);
  return {.begin = begin, .end = begin + bytes};
}

uint64_t total;
int most_preemptions;

bool Try(const char* name, interleave::Plan& plan) {
  plan.preemptions = most_preemptions;
  const interleave::Outcome outcome = interleave::Explore(plan);
  total += outcome.schedules;
  return interleave::Tell(name, outcome);
}

// ---- Call stacks: one node for each place and caller, whoever makes it ----

class Contexts {
 public:
  Contexts() { tree_.Start(); }

  // Each thread asks for the nodes of some places, by number. In every schedule these are others, all of one bucket: nodes never go.
  bool TryWith(const char* name, const std::vector<std::vector<size_t>>& wants) {
    interleave::Plan plan;
    plan.begin = [this, &plan] {
      got_.clear();
      places_ = PlacesOfOneBucket(3);
      plan.shared = {kAllAtomics, RangeOf(Nodes(), 64 << 20)};  // the tree may have begun anew, elsewhere
    };
    std::set<size_t> different;
    for (const std::vector<size_t>& want : wants) {
      different.insert(want.begin(), want.end());
      plan.threads.emplace_back([this, &want] {
        for (const size_t which : want) got_.emplace_back(places_[which], tree_.Child(kNoContext, places_[which]));
      });
    }
    plan.is_right = [&] {
      std::set<uint32_t> nodes;
      for (const auto& [place, node] : got_) {
        nodes.insert(Raw(node));
        if (tree_.PlaceOf(node) != place || tree_.Child(kNoContext, place) != node) return false;
      }
      return nodes.size() == different.size();
    };
    return Try(name, plan);
  }

 private:
  // Where the tree's nodes are: its first member says it.
  const char* Nodes() const {
    const char* nodes = nullptr;
    std::memcpy(&nodes, &tree_, sizeof nodes);
    return nodes;
  }
  std::vector<uint64_t> PlacesOfOneBucket(size_t count) {
    constexpr uint64_t kBuckets = uint64_t{1} << 18;  // as the tree has them
    static std::vector<std::vector<uint64_t>> buckets(kBuckets);
    static size_t used = 0;
    if (++used == kBuckets / 4) {  // a schedule has to find its bucket empty, or it is not the same again
      tree_.Start();
      for (std::vector<uint64_t>& bucket : buckets) bucket.clear();
      used = 0;
    }
    for (;;) {
      const uint64_t place = ++last_place_;
      auto& bucket = buckets[HashKey(place * 0x9e3779b97f4a7c15u ^ Raw(kNoContext)) % kBuckets];
      bucket.push_back(place);
      if (bucket.size() == count) return bucket;
    }
  }

  ContextTree tree_;
  uint64_t last_place_ = 0x1000;
  std::vector<uint64_t> places_;
  std::vector<std::pair<uint64_t, ContextId>> got_;
};

bool TryContexts() {
  Contexts contexts;
  return contexts.TryWith("stacks: two ask for the same", {{0, 1}, {1, 0}}) &&
         contexts.TryWith("stacks: three, some the same", {{0}, {1, 0}, {2, 1}});
}

// ---- Races that were told: told once, and "yes" is certain without the lock ----

bool TryTold() {
  auto told = std::make_unique<ToldRacesOf<64>>();
  AtomicMem::Lock lock;
  int times = 0;
  bool is_right = true;
  interleave::Plan plan;
  plan.shared = {kAllAtomics};
  const auto tell = [&](uint64_t places, uint64_t stacks) {
    uint32_t place = 0;
    if (told->Knows(places, stacks, place)) return told->CountRepeat(place, 0);
    const ScopedLock guard(lock);
    if (told->Knows(places, stacks, place)) return told->CountRepeat(place, 0);
    told->Add(places, stacks, static_cast<uint64_t>(++times));
    is_right &= told->Knows(places, stacks, place);
  };
  plan.begin = [&] {
    std::memset(static_cast<void*>(told.get()), 0, sizeof *told);  // as Clear(), which takes its time
    times = 0;
    is_right = true;
  };
  plan.threads = {[&] { tell(10, 100), tell(20, 200); }, [&] { tell(10, 100), tell(10, 102); }, [&] { tell(20, 200); }};
  plan.is_right = [&] { return is_right && times == 3 && told->repeats() == 2; };
  return Try("races: three tell of the same", plan);
}

// ---- Synchronization objects: who has one locked is alone with it, and it is the one that was asked for ----

class Syncs {
 public:
  Syncs() {
    const char* why = nullptr;
    if (!shadow_.Reserve(why)) {
      std::printf("no shadow: %s\n", why);
      std::exit(2);
    }
    table_.Start();
  }

  enum Step : uint8_t { kUseFirst, kUseSecond, kLookAtFirst, kRemoveFirst, kRemoveBoth };
  using Script = std::vector<Step>;

  bool TryWith(const char* name, const std::vector<Script>& scripts) {
    interleave::Plan plan;
    plan.shared = {kAllAtomics, RangeOf(inside_, sizeof inside_)};
    plan.begin = [this] {
      table_.Remove(kAddress, kGranule);
      std::memset(inside_, 0, sizeof inside_);
      is_right_ = true;
    };
    for (const Script& script : scripts) {
      plan.threads.emplace_back([this, &script] {
        for (const Step step : script) Do(step);
      });
    }
    plan.is_right = [this] {
      // What is there, is there once.
      for (const uint64_t at : {kAddress, kAddress + 4}) {
        const SyncObject* object = table_.Peek(at);
        is_right_ &= object == nullptr || object->address == at;
      }
      const SyncTable::Locked first(table_, kAddress);
      const SyncTable::Locked second(table_, kAddress + 4);
      return is_right_ && &*first != &*second && first->version % 2 == 1 && first->next != second->next;
    };
    return Try(name, plan);
  }

 private:
  static constexpr uint64_t kAddress = 0x5555'0000'0100;

  void Do(Step step) {
    switch (step) {
      case kUseFirst:
        return Use(0);
      case kUseSecond:
        return Use(1);
      case kLookAtFirst: {
        const SyncTable::Locked locked(table_, kAddress, SyncTable::Locked::kLook);
        if (locked) is_right_ &= locked->address == kAddress && locked->version % 2 == 0;
        return;
      }
      case kRemoveFirst:
        return table_.Remove(kAddress, 4);
      case kRemoveBoth:
        return table_.Remove(kAddress, kGranule);
    }
  }
  void Use(int which) {
    const uint64_t address = kAddress + 4 * static_cast<uint64_t>(which);
    const SyncTable::Locked locked(table_, address);
    is_right_ &= locked->address == address && inside_[which] == 0;
    inside_[which] = inside_[which] + 1;
    is_right_ &= locked->address == address && inside_[which] == 1;
    inside_[which] = inside_[which] - 1;
  }

  Shadow shadow_;
  Detector detector_;
  Arena<AtomicMem> arena_;
  LockOrder order_{arena_};
  SyncTable table_{shadow_, detector_, order_};
  int inside_[2] = {};
  bool is_right_ = true;
};

bool TrySyncs() {
  const auto syncs = std::make_unique<Syncs>();
  return syncs->TryWith("objects: two use one", {{Syncs::kUseFirst, Syncs::kUseFirst}, {Syncs::kUseFirst}}) &&
         syncs->TryWith("objects: neighbours",
                        {{Syncs::kUseFirst, Syncs::kUseSecond}, {Syncs::kUseSecond, Syncs::kUseFirst}}) &&
         syncs->TryWith("objects: one goes",
                        {{Syncs::kUseFirst, Syncs::kUseFirst}, {Syncs::kUseSecond, Syncs::kRemoveFirst}}) &&
         syncs->TryWith("objects: looked at as it goes",
                        {{Syncs::kUseFirst, Syncs::kRemoveBoth}, {Syncs::kLookAtFirst, Syncs::kLookAtFirst}}) &&
         syncs->TryWith("objects: one goes and another comes",
                        {{Syncs::kUseFirst, Syncs::kRemoveFirst}, {Syncs::kUseSecond}, {Syncs::kUseFirst}});
}

}  // namespace
}  // namespace redflag::rt

int main(int argc, char** argv) {
  using namespace redflag::rt;
  most_preemptions = argc > 1 ? std::atoi(argv[1]) : 2;
  if (!TryContexts() || !TryTold() || !TrySyncs()) return 1;
  std::printf("%llu schedules with up to %d preemptions: everything is found, and once\n",
              static_cast<unsigned long long>(total), most_preemptions);
  return 0;
}
