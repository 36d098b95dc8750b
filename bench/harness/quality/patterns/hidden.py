"""Races that most runs hide: the two accesses are usually ordered through something that is not meant to order them.

A detector that follows happens-before reports them only when the threads come the other way round.
"""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="hidden-by-lock",
        group="hidden",
        title="An unrelated critical section lies between the two accesses",
        racy="if the late thread's section comes first, no unlock of the early thread precedes it",
        right="the accesses are inside the critical sections, whichever comes first",
        headers=("mutex",),
        code="""
$T shared = 0;
int unrelated = 0;
std::mutex mu;

void Early() {
-|  shared = 1;  //@
  std::lock_guard lock(mu);
+|  shared = 1;  //@
  unrelated += 1;
}

void Late() {
  Pause($delay);
  {
    std::lock_guard lock(mu);
    unrelated += 1;
+|    Use(shared);  //@
  }
-|  Use(shared);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Early);
  std::thread b = Spawn(Late);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="hidden-by-counter",
        group="hidden",
        title="Both threads count their calls in one atomic counter",
        racy="if the late thread counts first, its increment does not synchronize with the early thread's",
        right="a mutex guards the accesses, whoever counts first",
        headers=("atomic", "mutex"),
        code="""
$T shared = 0;
std::atomic<long> calls = 0;
std::mutex mu;

void Early() {
  {
+|    std::lock_guard lock(mu);
    shared = 1;  //@
  }
  calls.fetch_add(1);
}

void Late() {
  Pause($delay);
  calls.fetch_add(1);
+|  std::lock_guard lock(mu);
  Use(shared);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Early);
  std::thread b = Spawn(Late);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="hidden-by-chain",
        group="hidden",
        title="Two unrelated locks and a third thread lie between the two accesses",
        racy="if any link of the chain comes too early, nothing orders the first thread's write before the third's read",
        right="a mutex of its own guards the variable",
        headers=("mutex",),
        code="""
$T shared = 0;
int in_first = 0, in_second = 0;
std::mutex first, second, own;

void Writer() {
  {
+|    std::lock_guard lock(own);
    shared = 1;  //@
  }
  std::lock_guard lock(first);
  in_first += 1;
}

void Middle() {
  Pause($delay);
  {
    std::lock_guard lock(first);
    in_first += 1;
  }
  std::lock_guard lock(second);
  in_second += 1;
}

void Reader() {
  Pause(2 * $delay);
  {
    std::lock_guard lock(second);
    in_second += 1;
  }
+|  std::lock_guard lock(own);
  Use(shared);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Writer);
  std::thread b = Spawn(Middle);
  std::thread c = Spawn(Reader);
  a.join();
  b.join();
  c.join();
}
""",
    ),
    Pattern(
        name="flag-initially-set",
        group="hidden",
        title="Correct if the flag starts as false, racy if it starts as true (ThreadSanitizer, 4.4.1)",
        racy="a second thread that finds the flag set from the start is not ordered with the first",
        right="the second thread finds the flag set only after the first set it under the lock",
        headers=("mutex",),
        code="""
$T object = 0;
-|bool flag = true;
+|bool flag = false;
std::mutex mu;

void First() {
  object += 1;  //@
  std::lock_guard lock(mu);
  flag = true;
}

void Second() {
  Pause($delay);
  bool set = false;
  {
    std::lock_guard lock(mu);
    set = flag;
  }
  if (set) {
    object += 2;  //@
  }
}

void Run(std::uint64_t) {
  std::thread a = Spawn(First);
  std::thread b = Spawn(Second);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="hidden-by-log",
        group="hidden",
        title="Both threads write to a locked log, many times",
        racy="the accesses lie outside the log's critical sections; overlapping threads leave some of them unordered",
        right="the accesses are under a mutex of their own",
        headers=("mutex", "vector"),
        code="""
$T progress = 0;
std::vector<int> log;
std::mutex log_mu, own;

void Log(int what) {
  std::lock_guard lock(log_mu);
  if (log.size() < 64) log.push_back(what);
}

void Worker() {
  Log(1);
  {
+|    std::lock_guard lock(own);
    progress = 1;  //@
  }
  for (int i = 0; i < $few; ++i) Log(i);
}

void Watcher() {
  for (int i = 0; i < $few; ++i) {
    Pause($delay / 4);
    Log(i);
  }
+|  std::lock_guard lock(own);
  Use(progress);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Worker);
  std::thread b = Spawn(Watcher);
  a.join();
  b.join();
}
""",
    ),
)
