"""Locks that are there but do not exclude each other."""

from __future__ import annotations

from ..pattern import Pattern

PATTERNS = (
    Pattern(
        name="two-mutexes",
        group="lock",
        title="Each thread holds a mutex, but not the same one",
        racy="different mutexes order nothing",
        right="it is the same mutex",
        headers=("mutex",),
        code="""
$T total = 0;
std::mutex first, second;

void Add() {
  std::lock_guard lock(first);
  total += 1;  //@
}

void Subtract() {
-|  std::lock_guard lock(second);
+|  std::lock_guard lock(first);
  total -= 1;  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Add);
  std::thread b = Spawn(Subtract);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="other-objects-lock",
        group="lock",
        title="A transfer locks the account it takes from, not the one it gives to",
        racy="the receiving account is written without its own lock, which is all that the opposite transfer holds",
        right="both accounts are locked",
        headers=("mutex",),
        code="""
struct Account {
  std::mutex mu;
  $T balance = 100;
};
Account left, right;

void Transfer(Account& from, Account& to) {
-|  std::lock_guard lock(from.mu);
+|  std::scoped_lock lock(from.mu, to.mu);
  from.balance -= 1;  //@
  to.balance += 1;  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] { Transfer(left, right); });
  std::thread b = Spawn([] { Transfer(right, left); });
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="read-lock-for-write",
        group="lock",
        title="Writes under a reader's lock (ThreadSanitizer, 6.3.6)",
        racy="shared ownership does not exclude other shared owners, and nothing else orders the writes",
        right="the lock is exclusive",
        headers=("mutex", "shared_mutex"),
        choices=({"hit": "hits += 1", "miss": "hits -= 1"}, {"hit": "hits = 1", "miss": "hits = 2"}),
        code="""
$T hits = 0;
std::shared_mutex mu;

void Hit() {
-|  std::shared_lock lock(mu);
+|  std::unique_lock lock(mu);
  $hit;  //@
}

void Miss() {
-|  std::shared_lock lock(mu);
+|  std::unique_lock lock(mu);
  $miss;  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Hit);
  std::thread b = Spawn(Miss);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="escaped-reference",
        group="lock",
        title="The lock is released before the reference that it guards is used",
        racy="each access comes after its own unlock and before no later lock of that thread, so nothing orders the two",
        right="the accesses are inside the critical sections",
        headers=("mutex",),
        code="""
$T cell = 0;
std::mutex mu;

$T& Cell() {
  std::lock_guard lock(mu);
  return cell;
}

void Writer() {
-|  Cell() += 1;  //@
+|  std::lock_guard lock(mu);
+|  cell += 1;  //@
}

void Reader() {
-|  Use(Cell());  //@
+|  std::lock_guard lock(mu);
+|  Use(cell);  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Writer);
  std::thread b = Spawn(Reader);
  a.join();
  b.join();
  Cell() = 0;
}
""",
    ),
    Pattern(
        name="local-lock",
        group="lock",
        title="A mutex that every call creates anew, for want of the word static",
        racy="every call locks a mutex of its own, which orders nothing",
        right="all calls share one mutex",
        headers=("mutex",),
        code="""
$T highest = 0;

void Raise($T value) {
-|  std::mutex mu;
+|  static std::mutex mu;
  std::lock_guard lock(mu);
  if (highest < value) {  //@
    highest = value;  //@
  }
}

void Run(std::uint64_t) {
  std::thread a = Spawn([] { Raise(1); });
  std::thread b = Spawn([] { Raise(2); });
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="timed-lock",
        group="lock",
        title="Timed mutexes: two of them, or one",
        racy="different mutexes order nothing",
        right="it is the same mutex, and who does not get it in time leaves",
        headers=("mutex",),
        code="""
$T total = 0;
std::timed_mutex first, second;

void Add() {
  std::unique_lock lock(first, std::chrono::milliseconds(500));
  if (!lock.owns_lock()) return;
  total += 1;  //@
}

void Subtract() {
-|  std::unique_lock lock(second, std::chrono::milliseconds(500));
+|  std::unique_lock lock(first, std::chrono::milliseconds(500));
  if (!lock.owns_lock()) return;
  total -= 1;  //@
}

void Run(std::uint64_t) {
  std::thread a = Spawn(Add);
  std::thread b = Spawn(Subtract);
  a.join();
  b.join();
}
""",
    ),
    Pattern(
        name="ownership",
        group="lock",
        title="An object moves from lock to lock and becomes private (Goldilocks, example 2)",
        racy="the mover writes after it handed the object over: its unlock comes before that write",
        right="the mover writes before it hands over; each step of the chain orders the next",
        headers=("mutex",),
        code="""
struct Box {
  $T data = 0;
};
Box box;
Box* a = nullptr;
Box* b = nullptr;
std::mutex mu_a, mu_b;

void Create() {
  box.data = 1;
  std::lock_guard lock(mu_a);
  a = &box;
}

void Move() {
  Box* mine = nullptr;
  Await([&mine] {
    std::lock_guard lock(mu_a);
    mine = a;
    return mine != nullptr;
  });
  if (mine == nullptr) return;
+|  mine->data += 1;  //@
  {
    std::lock_guard lock(mu_b);
    b = mine;
  }
-|  mine->data += 1;  //@
}

void Consume() {
  Box* mine = nullptr;
  Await([&mine] {
    std::lock_guard lock(mu_b);
    mine = b;
    return mine != nullptr;
  });
  if (mine == nullptr) return;
  mine->data = 3;  //@
}

void Run(std::uint64_t) {
  std::thread first = Spawn(Create);
  std::thread second = Spawn(Move);
  std::thread third = Spawn(Consume);
  first.join();
  second.join();
  third.join();
}
""",
    ),
)
