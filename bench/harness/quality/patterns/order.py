"""Atomics whose order is too weak for what the program relies on. The races are on plain data beside them."""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="relaxed-publication",
        group="order",
        title="The flag is stored relaxed",
        racy="a relaxed store releases nothing: the acquire load that reads it synchronizes with nothing",
        right="the store releases, the load that reads it acquires",
        headers=("atomic",),
        code="""
$T payload = 0;
std::atomic<int> ready = 0;

void Producer() {
  payload = 42;  //@
-|  ready.store(1, std::memory_order_relaxed);
+|  ready.store(1, std::memory_order_release);
}

void Consumer() {
  if (!Await([] { return ready.load(std::memory_order_acquire) == 1; })) return;
  Use(payload);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Producer);
  std::thread b = Spawn(Consumer);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="release-without-acquire",
        group="order",
        title="The flag is loaded relaxed",
        racy="the load that reads the release store does not acquire",
        right="it does",
        headers=("atomic",),
        code="""
$T payload = 0;
std::atomic<int> ready = 0;

void Producer() {
  payload = 42;  //@
  ready.store(1, std::memory_order_release);
}

void Consumer() {
-|  if (!Await([] { return ready.load(std::memory_order_relaxed) == 1; })) return;
+|  if (!Await([] { return ready.load(std::memory_order_acquire) == 1; })) return;
  Use(payload);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Producer);
  std::thread b = Spawn(Consumer);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="missing-acquire-fence",
        group="order",
        title="Publication by fences, the second of which is missing",
        racy="after the relaxed load there is no acquire fence for the release fence to synchronize with",
        right="the release fence synchronizes with the acquire fence through the relaxed store and load",
        headers=("atomic",),
        code="""
$T payload = 0;
std::atomic<int> ready = 0;

void Producer() {
  payload = 42;  //@
  std::atomic_thread_fence(std::memory_order_release);
  ready.store(1, std::memory_order_relaxed);
}

void Consumer() {
  if (!Await([] { return ready.load(std::memory_order_relaxed) == 1; })) return;
+|  std::atomic_thread_fence(std::memory_order_acquire);
  Use(payload);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Producer);
  std::thread b = Spawn(Consumer);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="missing-refcount-fence",
        group="order",
        title="The last owner reads what the others wrote, without an acquire fence",
        racy="the last decrement releases but does not acquire what the other decrement released",
        right="the fence after the last decrement acquires what every other decrement released",
        headers=("atomic",),
        code="""
std::atomic<int> owners = 2;
$T notes[2] = {};

void Drop(int who) {
  notes[who] = 1;  //@
  if (owners.fetch_sub(1, std::memory_order_release) == 1) {
+|    std::atomic_thread_fence(std::memory_order_acquire);
    Use(notes[1 - who]);  //@
  }
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] { Drop(0); });
  std::thread b = Spawn([] { Drop(1); });
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="relaxed-refcount",
        group="order",
        title="The reference count is decremented relaxed",
        racy="relaxed decrements order nothing, so the last owner's read is unordered with the other owner's write",
        right="each decrement releases and acquires",
        headers=("atomic",),
        code="""
std::atomic<int> owners = 2;
$T notes[2] = {};

void Drop(int who) {
  notes[who] = 1;  //@
-|  if (owners.fetch_sub(1, std::memory_order_relaxed) == 1) {
+|  if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Use(notes[1 - who]);  //@
  }
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] { Drop(0); });
  std::thread b = Spawn([] { Drop(1); });
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="ended-release-sequence",
        group="order",
        title="A relaxed store after the release store ends its release sequence",
        racy="the load reads the relaxed store, which is in no release sequence (intro.races, since C++20)",
        right="a read-modify-write, even relaxed, continues the release sequence that the acquire load reads from",
        headers=("atomic",),
        code="""
$T payload = 0;
std::atomic<int> stage = 0;

void Producer() {
  payload = 42;  //@
  stage.store(1, std::memory_order_release);
-|  stage.store(2, std::memory_order_relaxed);
+|  stage.fetch_add(1, std::memory_order_relaxed);
}

void Consumer() {
  if (!Await([] { return stage.load(std::memory_order_acquire) == 2; })) return;
  Use(payload);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Producer);
  std::thread b = Spawn(Consumer);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="relaxed-unlock",
        group="order",
        title="A spin lock that is released relaxed",
        racy="the next owner's acquiring test_and_set reads a relaxed clear, which releases nothing",
        right="the clear releases",
        headers=("atomic",),
        code="""
$T total = 0;
std::atomic_flag busy;

bool Lock() {
  return Await([] { return !busy.test_and_set(std::memory_order_acquire); });
}

void Unlock() {
-|  busy.clear(std::memory_order_relaxed);
+|  busy.clear(std::memory_order_release);
}

void Add() {
  if (!Lock()) return;
  total += 1;  //@
  Unlock();
}

void Subtract() {
  if (!Lock()) return;
  total -= 1;  //@
  Unlock();
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Add);
  std::thread b = Spawn(Subtract);
  a.join();
  b.join();
}
""",
    ),
)
