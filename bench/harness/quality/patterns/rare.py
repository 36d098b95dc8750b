"""Races on paths that few runs take. `Reached` tells the harness when a run takes one: in the others nothing can be seen."""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="rare-run",
        group="rare",
        title="A repair that one run in a few needs",
        racy="where the repair runs, its write and the read are unordered",
        right="the write and the read are under one mutex",
        headers=("mutex",),
        choices=({"odds": "8"}, {"odds": "25"}),
        code="""
$T state = 0;
std::mutex mu;

void Worker(bool repair) {
  Pause(100);
  if (repair) {
+|    std::lock_guard lock(mu);
    state = 2;  //@
  }
}

void Observer() {
+|  std::lock_guard lock(mu);
  Use(state);  //@
}

void Run(std::uint64_t seed) {
  const bool repair = Random(seed).Below($odds) == 0;
  if (repair) Reached("$id");
  std::thread a = Spawn([repair] { Worker(repair); });
  std::thread b = Spawn(Observer);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="rare-input",
        group="rare",
        title="A bad record in the input, met by one run in several",
        racy="a worker that meets a bad record writes, unordered with the monitor's read",
        right="the write and the read are atomic",
        headers=("atomic",),
        choices=({"odds": "1000"}, {"odds": "3000"}),
        code="""
-|int last_bad = -1;
+|std::atomic<int> last_bad = -1;
std::uint64_t records[100];

void Worker() {
  std::uint64_t sum = 0;
  for (int i = 0; i < 100; ++i) {
    if (records[i] == 0) {
      last_bad = i;  //@
    } else {
      sum += records[i];
    }
  }
  Use(sum);
}

void Monitor() {
  Use(int{last_bad});  //@
}

void Run(std::uint64_t seed) {
  Random random(seed + 1);
  bool bad = false;
  for (std::uint64_t& record : records) {
    record = random.Below($odds);
    bad = bad || record == 0;
  }
  if (bad) Reached("$id");
  std::thread a = Spawn(Worker);
  std::thread b = Spawn(Monitor);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="try-lock-ignored",
        group="rare",
        title="try_lock may fail, and the result is not looked at",
        racy="when the lock is taken, the visitor goes on without it, unordered with its owner",
        right="the visitor leaves when it does not get the lock",
        headers=("mutex",),
        choices=({"hold": "0"}, {"hold": "60"}),
        code="""
$T total = 0;
std::mutex mu;

void Owner() {
  for (int i = 0; i < $few; ++i) {
    std::lock_guard lock(mu);
    total += i;  //@
    if ($hold > 0) Pause($hold);
  }
}

void Visitor() {
  for (int i = 0; i < $few; ++i) {
    std::unique_lock lock(mu, std::try_to_lock);
+|    if (!lock.owns_lock()) continue;
    total -= i;  //@
  }
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Owner);
  std::thread b = Spawn(Visitor);
  a.join();
  b.join();
}
""",
    ),
)
