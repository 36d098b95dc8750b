// How fast a recorded run is read: blocks from the file, decompressed, decoded, checked and merged into one stream.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trace/binary_trace.h"
#include "trace/event_blocks.h"

namespace redflag {
namespace {

constexpr uint64_t kEvents = 10'000'000;

// Threads that go through arrays in loops of a few places each, and meet now and then: every `apart` events, one has a stamp.
// `scattered` of 100 accesses go anywhere.
std::string Recording(uint32_t threads, uint64_t apart, uint64_t scattered) {
  const int fd = memfd_create("trace", MFD_CLOEXEC);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  auto created = BinaryWriter::Create(dup(fd));
  const auto writer = std::get<std::unique_ptr<BinaryWriter>>(std::move(created));
  EventBlocks blocks(*writer);
  std::mt19937_64 random(1);
  struct Loop {
    uint32_t first = 0, places = 1;
    uint64_t base = 0, rounds = 0, place = 0;
  };
  std::vector<Loop> loops(threads);
  std::vector<bool> begun(threads);
  uint64_t stamp = 0;
  for (uint64_t i = 0; i < kEvents;) {
    const auto thread = static_cast<uint32_t>(random() % threads);
    for (uint64_t run = 0; run < 64 && i < kEvents; ++run, ++i) {
      Loop& loop = loops[thread];
      if (loop.rounds == 0) {
        loop = {.first = static_cast<uint32_t>(random() % 1000), .places = static_cast<uint32_t>(1 + random() % 8)};
        loop.base = 0x7f0000000000 + random() % 10'000'000 * 8;
        loop.rounds = 10 + random() % 200;
      }
      Event event = Event::OnMemory(loop.place % 3 == 0 ? EventKind::kWrite : EventKind::kRead, Tid{thread},
                                    Addr{loop.base + loop.place * 4096 + loop.rounds * 8}, 8);
      if (random() % 100 < scattered) event.addr = Addr{0x7e0000000000 + random() % 10'000'000 * 8};
      event.position = PositionId{loop.first + static_cast<uint32_t>(loop.place)};
      if (++loop.place >= loop.places) {
        loop.place = 0;
        --loop.rounds;
      }
      const bool stamped = !begun[thread] || random() % apart == 0;
      begun[thread] = true;
      blocks.Add(event, stamped ? ++stamp : kNoStamp);
    }
  }
  blocks.Flush();
  writer->Finish("");
  return path;
}

void ReadRecording(benchmark::State& state) {
  const std::string path = Recording(static_cast<uint32_t>(state.range(0)), static_cast<uint64_t>(state.range(1)),
                                     static_cast<uint64_t>(state.range(2)));
  auto opened = BinaryTrace::Open(path, {});
  const auto& trace = *std::get<std::unique_ptr<BinaryTrace>>(opened);
  uint64_t events = 0;
  for (auto _ : state) {
    const auto stream = trace.Open();
    for (auto batch = stream->Next(); !batch.empty(); batch = stream->Next()) {
      events += batch.size();
      benchmark::DoNotOptimize(batch.data());
    }
    if (!stream->error().empty()) state.SkipWithError(stream->error().c_str());
  }
  state.SetItemsProcessed(static_cast<int64_t>(events));
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  state.counters["bytes/event"] = static_cast<double>(lseek(fd, 0, SEEK_END)) / kEvents;
  close(fd);
}
BENCHMARK(ReadRecording)
    ->ArgNames({"threads", "apart", "scattered"})
    ->Args({1, 20, 0})
    ->Args({8, 20, 0})
    ->Args({8, 20, 25})
    ->Args({8, 1, 25})
    ->Args({200, 20, 25})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace redflag

BENCHMARK_MAIN();
