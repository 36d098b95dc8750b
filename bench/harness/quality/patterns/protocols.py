"""Lock-free protocols: each is right only as a whole."""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="dekker",
        group="order",
        title="Mutual exclusion by two flags that are not sequentially consistent",
        racy="acquire and release let both threads read the other's flag as unset, and both write",
        right="in the single order of the four operations one thread's load comes last and reads the other's flag as set",
        headers=("atomic",),
        choices=({"rounds": "16"}, {"rounds": "48"}),
        code="""
constexpr int kRounds = $rounds;
std::atomic<int> arrived[kRounds];
std::atomic<int> wants[kRounds][2];
$T cells[kRounds];
-|constexpr auto kStore = std::memory_order_release, kLoad = std::memory_order_acquire;
+|constexpr auto kStore = std::memory_order_seq_cst, kLoad = std::memory_order_seq_cst;

void Meet(int round) {
  arrived[round].fetch_add(1, std::memory_order_relaxed);
  for (int i = 1; i < 2000 && arrived[round].load(std::memory_order_relaxed) < 2; ++i) {
    if (i % 200 == 0) std::this_thread::yield();
  }
}

void Left() {
  for (int round = 0; round < kRounds; ++round) {
    Meet(round);
    wants[round][0].store(1, kStore);
    if (wants[round][1].load(kLoad) == 0) {
      cells[round] = 1;  //@
    }
  }
}

void Right() {
  for (int round = 0; round < kRounds; ++round) {
    Meet(round);
    wants[round][1].store(1, kStore);
    if (wants[round][0].load(kLoad) == 0) {
      cells[round] = 2;  //@
    }
  }
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Left);
  std::thread b = Spawn(Right);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="seqlock",
        group="order",
        title="A sequence lock around plain data",
        racy="readers read plain data while it is written, and drop it afterwards: the reads have happened",
        right="the data is atomic; relaxed is enough, with the fences on both sides",
        headers=("atomic",),
        code="""
std::atomic<unsigned> sequence = 0;
-|int x = 0, y = 0;
+|std::atomic<int> x = 0, y = 0;

void Write(int value) {
  sequence.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
-|  x = value;  //@
-|  y = value;  //@
+|  x.store(value, std::memory_order_relaxed);  //@
+|  y.store(value, std::memory_order_relaxed);  //@
  sequence.fetch_add(1, std::memory_order_release);
}

bool Read() {
  const unsigned before = sequence.load(std::memory_order_acquire);
  if (before % 2 != 0) return false;
-|  const int a = x;  //@
-|  const int b = y;  //@
+|  const int a = x.load(std::memory_order_relaxed);  //@
+|  const int b = y.load(std::memory_order_relaxed);  //@
  std::atomic_thread_fence(std::memory_order_acquire);
  Use(a + b);
  return sequence.load(std::memory_order_relaxed) == before;
}

void Writer() {
  for (int i = 0; i < $few; ++i) Write(i);
}

void Reader() {
  for (int i = 0; i < $few; ++i) Await(Read);
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Reader);
  std::thread b = Spawn(Writer);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="hazard-pointer",
        group="order",
        title="A hazard pointer that is not checked again after it was announced",
        racy="the node can be unlinked and found unannounced between the reader's load and its announcement",
        right="all in one total order: the second look finds the node unlinked, or the reclaimer finds it announced",
        headers=("atomic",),
        code="""
struct Node {
  $T value = 1;
};
Node node;
std::atomic<Node*> head = &node;
std::atomic<Node*> hazard = nullptr;

void Reader() {
  Node* mine = head.load();
  if (mine == nullptr) return;
  Pause(8000);
  hazard.store(mine);
-|  const bool linked = true;
+|  const bool linked = head.load() == mine;
  if (linked) {
    Use(mine->value);  //@
  }
  hazard.store(nullptr);
}

void Reclaimer() {
  Pause(3000);
  head.store(nullptr);
  if (Await([] { return hazard.load() != &node; })) {
    node.value = 0;  //@
  }
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Reader);
  std::thread b = Spawn(Reclaimer);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="relaxed-wait",
        group="order",
        title="atomic::wait returns, but relaxed",
        racy="the wait reads the release store relaxed and so does not synchronize with it",
        right="the wait acquires",
        headers=("atomic",),
        choices=({"A": "int"}, {"A": "bool"}),
        code="""
$T payload = 0;
std::atomic<$A> ready{};

void Producer() {
  payload = 42;  //@
  ready.store($A{1}, std::memory_order_release);
  ready.notify_one();
}

void Consumer() {
-|  ready.wait($A{0}, std::memory_order_relaxed);
+|  ready.wait($A{0}, std::memory_order_acquire);
  Use(payload);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Consumer);
  std::thread b = Spawn(Producer);
  a.join();
  b.join();
}
""",
    ),
)
