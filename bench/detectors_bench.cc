// Events a second that each detector takes from memory, on one core, with 8, 64 and 1,024 threads.
#include <benchmark/benchmark.h>

#include <string>

#include "base/mem.h"
#include "bench/stream.h"
#include "detectors/all.h"
#include "offline/replay.h"

namespace redflag::bench {
namespace {

template <class D>
void Events(benchmark::State& state) {
  const auto threads = static_cast<uint32_t>(state.range(0));
  const Stream stream = MakeStream(threads, threads > 100 ? 4 : 64);
  Replay<D> replay(stream.initial_threads);
  uint64_t index = 0;
  for (const Event& event : stream.warm_up) replay.Step(event, index++);
  for (const Event& event : stream.round) replay.Step(event, index++);
  for (auto _ : state) {
    for (const Event& event : stream.round) replay.Step(event, index++);
    replay.races().clear();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * stream.round.size()));
  state.counters["state_bytes"] = static_cast<double>(replay.MemoryInUse());
}

template <class D>
void Register() {
  benchmark::RegisterBenchmark((std::string("events/") + D::kName).c_str(), Events<D>)
      ->ArgName("threads")
      ->Arg(8)
      ->Arg(64)
      ->Arg(1024)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace redflag::bench

int main(int argc, char** argv) {
#define REDFLAG_DETECTOR(Class, name) redflag::bench::Register<redflag::Class<redflag::PlainMem>>();
#include "detectors/list.inc"
#undef REDFLAG_DETECTOR
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
