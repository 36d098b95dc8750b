// goldilocks against hb over runs that are too long for the oracle: lists that fill up, sets by the hundred, threads that come
// and go, stamps from long ago.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "detectors/goldilocks.h"
#include "detectors/hb.h"

namespace redflag {
namespace {

struct TinyList {
  static constexpr uint32_t kBlockEvents = 4;
  static constexpr uint32_t kMaxBlocks = 2;
  static constexpr uint32_t kEventsPerHolder = 0;
};
struct SmallList {
  static constexpr uint32_t kBlockEvents = 30;
  static constexpr uint32_t kMaxBlocks = 4;
  static constexpr uint32_t kEventsPerHolder = 2;
};

// The same random steps for both; they must find the same bytes at the same access.
template <class Limits>
void CompareWithHb(uint64_t seed, uint32_t steps) {
  using G = Goldilocks<PlainMem, Limits>;
  using H = Hb<PlainMem>;
  constexpr uint32_t kThreads = 12;
  constexpr uint32_t kSyncs = 40;
  constexpr uint32_t kCells = 300;
  std::mt19937_64 random(seed);
  G g;
  H h;
  std::vector<std::unique_ptr<typename G::Thread>> gt;
  std::vector<std::unique_ptr<typename H::Thread>> ht;
  std::vector<std::unique_ptr<typename G::Sync>> gs(kSyncs);
  std::vector<std::unique_ptr<typename H::Sync>> hs(kSyncs);
  std::vector<typename G::Cell> gc(kCells);
  std::vector<typename H::Cell> hc(kCells);
  std::vector<std::pair<typename G::Stamp, typename H::Stamp>> stamps;
  uint32_t next_thread = 0;
  const auto start = [&](uint32_t parent) {
    auto& gn = gt.emplace_back(std::make_unique<typename G::Thread>(g, Tid{next_thread}));
    auto& hn = ht.emplace_back(std::make_unique<typename H::Thread>(h, Tid{next_thread++}));
    if (gt.size() == 1) {
      g.OnStart(*gn);
      h.OnStart(*hn);
    } else {
      g.OnFork(*gt[parent], *gn);
      h.OnFork(*ht[parent], *hn);
    }
  };
  while (gt.size() < kThreads) start(0);
  const auto renew_sync = [&](uint32_t i) {
    gs[i] = std::make_unique<typename G::Sync>(g);
    hs[i] = std::make_unique<typename H::Sync>(h);
  };
  for (uint32_t i = 0; i < kSyncs; ++i) renew_sync(i);

  uint64_t races = 0;
  RaceRecord grecord;
  RaceRecord hrecord;
  for (uint32_t step = 0; step < steps; ++step) {
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    const uint32_t t = below(static_cast<uint32_t>(gt.size()));
    // The first syncs and cells are hot, the others mostly idle.
    const uint32_t s = below(4) != 0 ? below(6) : below(kSyncs);
    const uint32_t c = below(4) != 0 ? below(20) : below(kCells);
    const auto both = [&](auto call) {
      call(g, *gt[t], *gs[s]);
      call(h, *ht[t], *hs[s]);
    };
    switch (below(24)) {
      case 0:
      case 1:
        both([](auto& d, auto& thread, auto& sync) {
          d.OnLock(thread, sync, LockMode::kExclusive);
          d.OnUnlock(thread, sync, LockMode::kExclusive);
        });
        break;
      case 2:
        both([](auto& d, auto& thread, auto& sync) {
          d.OnLock(thread, sync, LockMode::kShared);
          d.OnUnlock(thread, sync, LockMode::kShared);
        });
        break;
      case 3:
      case 4:
        both([](auto& d, auto& thread, auto& sync) { d.OnAcquire(thread, sync); });
        break;
      case 5:
        both([](auto& d, auto& thread, auto& sync) { d.OnReleaseStore(thread, sync); });
        break;
      case 6:
        both([](auto& d, auto& thread, auto& sync) { d.OnReleaseMerge(thread, sync); });
        break;
      case 7:
        both([](auto& d, auto& thread, auto& sync) { d.OnRelaxedLoad(thread, sync); });
        break;
      case 8:
        both([](auto& d, auto& thread, auto& sync) { d.OnRelaxedStore(thread, sync); });
        break;
      case 9:
        both([](auto& d, auto& thread, auto& sync) { d.OnRelaxedMerge(thread, sync); });
        break;
      case 10:
        both([](auto& d, auto& thread, auto&) { d.OnAcquireFence(thread); });
        break;
      case 11:
        both([](auto& d, auto& thread, auto&) { d.OnReleaseFence(thread); });
        break;
      case 12: {
        const Footprint footprint[] = {{.addr = Addr{0x1000 + below(40)}, .size = 1 + below(12)}};
        both([&](auto& d, auto& thread, auto&) {
          d.OnCommitBegin(thread, footprint, 1);
          d.OnCommitEnd(thread, footprint, 1);
        });
        break;
      }
      case 13:
        if (below(20) == 0) renew_sync(s);
        break;
      case 14: {
        if (below(10) != 0 || t == 0 || gt.size() < 3) break;
        const uint32_t other = (t + 1) % static_cast<uint32_t>(gt.size());
        g.OnEnd(*gt[t]);
        h.OnEnd(*ht[t]);
        if (below(2) == 0) {
          g.OnJoin(*gt[other], *gt[t]);
          h.OnJoin(*ht[other], *ht[t]);
        }
        gt.erase(gt.begin() + t);
        ht.erase(ht.begin() + t);
        start(below(static_cast<uint32_t>(gt.size())));
        break;
      }
      case 15: {
        const Addr addr{0x1000 + below(48)};
        const uint64_t size = 1 + below(20);
        stamps.emplace_back(g.OnLifetime(*gt[t], addr, size, AccessOrigin::kAlloc, ContextId{step}),
                            h.OnLifetime(*ht[t], addr, size, AccessOrigin::kAlloc, ContextId{step}));
        break;
      }
      case 16: {
        if (stamps.empty()) break;
        const auto& [gstamp, hstamp] = stamps[below(static_cast<uint32_t>(stamps.size()))];
        const ByteMask bytes{static_cast<uint8_t>(1 + below(255))};
        g.Revive(gc[c], bytes, gstamp);
        h.Revive(hc[c], bytes, hstamp);
        break;
      }
      default: {
        const Access access{.granule = Addr{0x1000 + c * kGranule},
                            .bytes = ByteMask(static_cast<uint8_t>(below(3) != 0 ? 0xff : 1 + below(255))),
                            .kind = AccessKind{static_cast<uint8_t>(below(4))},
                            .context = ContextId{step}};
        const ByteMask expected = h.OnAccess(*ht[t], hc[c], access, hrecord);
        ASSERT_EQ(g.OnAccess(*gt[t], gc[c], access, grecord), expected) << "seed " << seed << ", step " << step;
        if (Any(expected)) {
          ++races;
          EXPECT_EQ(grecord.bytes, hrecord.bytes);
          // A second chance for the bytes, so that the run goes on.
          g.Forget(gc[c]);
          h.Forget(hc[c]);
          gc[c].racy = kNoBytes;
        }
      }
    }
  }
  EXPECT_GT(races, steps / 1000);
  for (auto& cell : gc) g.Forget(cell);
  for (auto& cell : hc) h.Forget(cell);
}

TEST(GoldilocksLongRunTest, AgreesWithHb) { CompareWithHb<EventListLimits>(1, 100'000); }
TEST(GoldilocksLongRunTest, AgreesWithHbWithASmallList) { CompareWithHb<SmallList>(2, 100'000); }
TEST(GoldilocksLongRunTest, AgreesWithHbWithATinyList) { CompareWithHb<TinyList>(3, 100'000); }

}  // namespace
}  // namespace redflag
