// The owners of memory (runtime/regions.h) under every schedule of two and three threads: whoever is in a region as its owner is alone there, readers
// meet no writer, what stood in a reader's plane is taken in before somebody writes, and nobody waits for ever.
//
//   regions [PREEMPTIONS]      of three threads no more than two
#include "runtime/regions.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "explorer.h"

namespace redflag::rt {

thread_local constinit Local local = {};  // in place of the runtime's

namespace {

constexpr uint64_t kAddress = 64;

enum Step : uint8_t { kWrite, kRead };
using Script = std::vector<Step>;

struct Scenario {
  const char* name;
  std::vector<Script> threads;
};
const Scenario kScenarios[] = {
    {"two who write", {{kWrite, kWrite}, {kWrite, kWrite}}},
    {"one writes, one reads", {{kWrite, kWrite}, {kRead, kRead}}},
    {"both", {{kWrite, kRead}, {kRead, kWrite}}},
    {"readers, and a writer", {{kRead, kRead}, {kRead}, {kWrite}}},
    {"three who write", {{kWrite}, {kWrite}, {kWrite}}},
};

// What happens in the region, as plain memory, so that whoever is not alone there is seen.
struct Happenings {
  int writers;
  int readers;
  int written;   // by plain stores, one after the other
  int shared;    // the same where all share it
  int read;      // words in planes
  int taken_in;  // of these, now in cells
};
Happenings now;
bool is_right;

class World {
 public:
  World() {
    regions_->Start(true, [](uint64_t, uint64_t) { ++now.taken_in; });
    for (size_t i = 0; i < kThreads; ++i) {
      planes_.push_back(std::make_unique<PlaneOf[]>(Planes::kRemembered));
      Planes::Prepare(planes_.back().get());
      regions_->Join();
      local.planes = planes_.back().get();
      locals_[i] = local;
    }
  }
  bool can_own() const { return regions_->can_own(); }

  void Begin() {
    regions_->ForgetPlanes();
    *local.regions = 0;
    for (const auto& planes : planes_) planes[0].page = PlaneOf::kNoPage;
    now = {};
    is_right = true;
  }
  void Run(const Script& script, uint32_t number) {
    for (const Step step : script) {
      if (step == kWrite) {
        Write();
      } else {
        Read(Slot{static_cast<uint16_t>(number + 1)});
      }
    }
  }
  bool IsRight(const Scenario& scenario) const {
    int writes = 0;
    for (const Script& script : scenario.threads) {
      for (const Step step : script) writes += step == kWrite ? 1 : 0;
    }
    return is_right && now.written + now.shared == writes && now.taken_in <= now.read;
  }
  void Switch(int from, int to) {
    if (from >= 0) locals_[from] = local;
    local = locals_[to];
  }
  interleave::Shared range() const {
    const auto begin = reinterpret_cast<uint64_t>(regions_.get());
    return {.begin = begin, .end = begin + sizeof(Regions), .only_atomics = true};
  }

 private:
  static constexpr size_t kThreads = 3;

  void Write() {
    const Regions::Stay stay(*regions_, kAddress);
    if (!stay.is_owner()) {
      __atomic_fetch_add(&now.shared, 1, __ATOMIC_RELAXED);
      return;
    }
    is_right &= now.writers == 0 && now.readers == 0 && now.taken_in == now.read;
    now.writers = now.writers + 1;
    now.written = now.written + 1;
    is_right &= now.writers == 1 && now.readers == 0;
    now.writers = now.writers - 1;
  }

  void Read(Slot slot) {
    for (;;) {
      bool attaches = false;
      {
        const Regions::Stay stay(*regions_, kAddress, true);
        if (!stay.is_reading()) return;  // its own, or shared: as others read there
        uint64_t* word = regions_->PlaneWord(kAddress, slot);
        attaches = word == nullptr;
        if (word != nullptr) {
          is_right &= now.writers == 0;
          __atomic_fetch_add(&now.readers, 1, __ATOMIC_RELAXED);
          __atomic_fetch_add(&now.read, *word == 0 ? 1 : 0, __ATOMIC_RELAXED);
          __atomic_store_n(word, uint64_t{Raw(slot)} + 1, __ATOMIC_RELAXED);
          is_right &= now.writers == 0;
          __atomic_fetch_sub(&now.readers, 1, __ATOMIC_RELAXED);
        }
      }
      if (!attaches) return;
      regions_->AttachPlane(kAddress, slot, [](Slot, const uint64_t*, auto) { return false; });
    }
  }

  std::unique_ptr<Regions> regions_ = std::make_unique<Regions>();
  std::vector<std::unique_ptr<PlaneOf[]>> planes_;
  Local locals_[kThreads] = {};
};

int Main(int preemptions) {
  World world;
  if (!world.can_own()) {
    std::puts("this system has no membarrier: everything is shared, and there is nothing to explore");
    return 0;
  }
  uint64_t total = 0;
  for (const Scenario& scenario : kScenarios) {
    interleave::Plan plan;
    plan.preemptions = scenario.threads.size() > 2 && preemptions > 2 ? 2 : preemptions;  // three of three: many hours
    const auto happenings = reinterpret_cast<uint64_t>(&now);
    const auto entry = reinterpret_cast<uint64_t>(local.regions);
    plan.shared = {
        world.range(), {.begin = happenings, .end = happenings + sizeof now}, {.begin = entry, .end = entry + 4}};
    plan.begin = [&] { world.Begin(); };
    for (uint32_t i = 0; i < scenario.threads.size(); ++i) {
      plan.threads.emplace_back([&, i] { world.Run(scenario.threads[i], i); });
    }
    plan.is_right = [&] { return world.IsRight(scenario); };
    plan.switches = [&](int from, int to) { world.Switch(from, to); };
    const interleave::Outcome outcome = interleave::Explore(plan);
    total += outcome.schedules;
    if (!interleave::Tell(scenario.name, outcome)) return 1;
  }
  std::printf("%llu schedules with up to %d preemptions: whoever owned a region was alone in it\n",
              static_cast<unsigned long long>(total), preemptions);
  return 0;
}

}  // namespace
}  // namespace redflag::rt

int main(int argc, char** argv) { return redflag::rt::Main(argc > 1 ? std::atoi(argv[1]) : 2); }
